"""The text and the model of a page, opened before its analysis is submitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from eyeline.errors import EyelineError
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.models import model_named
from eyeline.hosts.app.plain import escaped, refuse
from eyeline.hosts.app.texts.source import TextSource

if TYPE_CHECKING:
    from eyeline.models.model import Model
    from eyeline.text.corpora.corpus import Corpus


@dataclass(frozen=True)
class Opened:
    """A corpus and the models that will read it, in the order of their names."""

    corpus: Corpus
    models: tuple[Model, ...]


def open_text_and_models(say: Say, source: TextSource, *names: str) -> Opened | None:
    """Open them now, so that a bad file is reported at once. None, with a message on the page, where something cannot be opened."""
    try:
        corpus = source.read(say)
        if corpus is None:
            return None
        models = []
        for name in names:
            with st.spinner(say("look.loading", model=escaped(name))):
                models.append(model_named(name))
        return Opened(corpus, tuple(models))
    except EyelineError as error:
        refuse(say, "corpus.bad_text", error)
        return None
