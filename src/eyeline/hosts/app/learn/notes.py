"""The exercise's notes: they stay in the visitor's browser and are saved from there. The server never sees them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from eyeline.hosts.app.address import Looking, write_address
from eyeline.hosts.app.messages import Say
from eyeline.views import code

NAME = "attention-notes.txt"


@lru_cache(maxsize=1)
def _notes() -> Callable[..., Any]:
    return st.components.v2.component("eyeline_notes", js=code.joined("notes"), isolate_styles=False)


def show(say: Say, looking: Looking, step: int) -> None:
    """The notes, headed in their file by the sentence and a link to this step with the sentence in it."""
    parameters, _ = write_address(looking)
    _notes()(
        key="exercise-notes",
        data={
            "label": say("learn.exercise.notes"),
            "hint": say("learn.exercise.notes_hint"),
            "save": say("learn.exercise.save"),
            "about": f"{say('learn.exercise.title')}\n\n{looking.text}\n{looking.model}\n",
            "state": urlencode({"step": step, "lang": say.language, **parameters}),
            "name": NAME,
        },
    )
