"""Corpus: measure a text of many sentences, in the background, and look at what its heads do."""

from __future__ import annotations

import streamlit as st

from eyeline.analyses.corpus.statistics.catalogue import STATISTICS
from eyeline.errors import EyelineError
from eyeline.hosts.app import waiting
from eyeline.hosts.app.jobs import measure
from eyeline.hosts.app.look import recipe
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.models import choices, model_named, place_of
from eyeline.hosts.app.plain import escaped, refuse
from eyeline.hosts.app.settings import current
from eyeline.hosts.app.shell import heading, visitor
from eyeline.hosts.app.texts.source import Source, text_source

#: Analyses by name, in the order of the page.
ANALYSES = ("average_attention", "entropy", "distances", "importance")


def page(say: Say) -> None:
    heading(say, "corpus")
    source, name, only, limit = _asked(say)
    waiting.outcome(say, "corpus")
    place = place_of(name, current()) if name in choices(current()) else name
    names = {one: kind.__name__ for one, kind in STATISTICS.items()}
    given = (place, source.file, only, limit)
    recipe.box(say, recipe.analysis_python(*given, names), recipe.analysis_console(*given))


def _asked(say: Say) -> tuple[Source, str, list[str], int]:
    """The text, the model and the analyses; the button that begins."""
    most = current().limits.documents
    texts, side = st.columns([3, 2], gap="large")
    with texts:
        source = text_source(say, "corpus")
    with side:
        name = st.selectbox(say("look.model"), list(choices(current())), key="corpus-model")
        only = st.pills(
            say("corpus.analyses"), ANALYSES, format_func=lambda one: say(f"corpus.analysis_{one}"), selection_mode="multi",
            default=ANALYSES[:3], key="corpus-analyses", wrap=True, help=say("corpus.analyses_help"),
        )  # fmt: skip
        limit = int(st.number_input(say("corpus.limit"), 1, most, min(200, most), key="corpus-limit", help=say("corpus.limit_help")))
        busy = waiting.running("corpus")
        if st.button(say("corpus.run"), type="primary", width="stretch", disabled=busy or not only, key="corpus-run"):
            _begin(say, source, name, list(only), limit)
    return source, name, list(only) or list(ANALYSES[:1]), limit


def _begin(say: Say, source: Source, name: str, only: list[str], limit: int) -> None:
    """Read the corpus now, so that a bad file is named at once; measure it in the background."""
    try:
        corpus = source.taken(say)
        if corpus is None:
            return
        with st.spinner(say("look.loading", model=escaped(name))):
            model = model_named(name)
    except EyelineError as error:
        refuse(say("corpus.bad_text"), error)
        return
    waiting.begin(say, "corpus", measure(model, corpus, only, limit, visitor()))
