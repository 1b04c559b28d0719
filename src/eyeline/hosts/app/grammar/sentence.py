"""A sentence that is given as words, in the head view."""

from __future__ import annotations

import streamlit as st

from eyeline.capture.trace import Trace
from eyeline.errors import EyelineError
from eyeline.heads import HeadRef
from eyeline.hosts.app import mounted
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.models import choices, compute_slot, model_named, model_source, trace_bytes
from eyeline.hosts.app.plain import refuse
from eyeline.hosts.app.settings import current
from eyeline.hosts.app.sharing.cache import Cache
from eyeline.results.grammar.directions import GOVERNOR_TO_DEPENDENT
from eyeline.results.run import Run
from eyeline.views import head_view

_SENTENCES = Cache(32_000_000)


def look(say: Say, run: Run, words: list[str], head: HeadRef, direction: str, key: str) -> None:
    """A list of words in the head view, where the run's model is offered here."""
    name = str(run.facts.model.name)
    if name not in choices(current()):
        st.caption(say("corpus.no_example"))
        return
    try:
        model = model_named(name)

        def record() -> Trace:
            with compute_slot():
                return model.trace(words=words, keep={"weights"})

        trace = _SENTENCES.get((model_source(name, current()), tuple(words)), record, trace_bytes)
        mount(say, trace, head, direction, key)
    except EyelineError as error:
        refuse(say, "look.failed", error)


def mount(say: Say, trace: Trace, head: HeadRef, direction: str, key: str) -> None:
    view = head_view(
        trace, stack=next(iter(trace.stacks)), layer=head.layer, heads=[head.head], level="word", hide_special=True,
        direction="to" if direction == GOVERNOR_TO_DEPENDENT else "from", language=say.language,
    )  # fmt: skip
    mounted.show(mounted.packed(view, say.part("view")), key=key)
