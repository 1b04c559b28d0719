"""Corpus: measure a text of many sentences, in the background, and look at what its heads do."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from eyeline.analyses.corpus.statistics.usual import USUAL
from eyeline.hosts.app.corpus import recipe
from eyeline.hosts.app.corpus.job import corpus_work
from eyeline.hosts.app.heading import heading
from eyeline.hosts.app.jobs import panel
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.models import choices, recipe_source
from eyeline.hosts.app.recipe import show_recipe
from eyeline.hosts.app.settings import current
from eyeline.hosts.app.texts.opening import open_text_and_models
from eyeline.hosts.app.texts.source import TextSource, text_source

#: Analyses by name, in the order of the page.
ANALYSES = (*USUAL, "causes")


@dataclass(frozen=True)
class CorpusForm:
    """What the visitor filled in."""

    source: TextSource
    model: str
    analyses: list[str]
    limit: int
    pairs: bool


def page(say: Say) -> None:
    heading(say, "corpus")
    form = _form(say)
    panel.show_job(say, "corpus")
    arguments = (recipe_source(form.model), form.source.file, form.analyses, form.limit, form.pairs)
    show_recipe(say, recipe.python(*arguments), recipe.console(*arguments))


def _form(say: Say) -> CorpusForm:
    """The text, the model and the analyses; the button that starts."""
    most = current().limits.documents
    texts, side = st.columns([3, 2], gap="large")
    with texts:
        source = text_source(say, "corpus")
    with side:
        model = st.selectbox(say("look.model"), list(choices(current())), key="corpus-model")
        chosen = st.pills(
            say("corpus.analyses"), ANALYSES, format_func=lambda name: say(f"corpus.analysis_{name}"), selection_mode="multi",
            default=ANALYSES[:3], key="corpus-analyses", wrap=True, help=say("corpus.analyses_help"),
        )  # fmt: skip
        limit = int(st.number_input(say("corpus.limit"), 1, most, min(200, most), key="corpus-limit", help=say("corpus.limit_help")))
        pairs = st.checkbox(say("corpus.pairs"), key="corpus-pairs", help=say("corpus.pairs_help"))
        form = CorpusForm(source, model, list(chosen) or list(ANALYSES[:1]), limit, pairs)
        disabled = panel.is_running("corpus") or not chosen
        if st.button(say("corpus.run"), type="primary", width="stretch", disabled=disabled, key="corpus-run"):
            _submit(say, form)
    return form


def _submit(say: Say, form: CorpusForm) -> None:
    opened = open_text_and_models(say, form.source, form.model)
    if opened is not None:
        panel.submit(say, "corpus", corpus_work(opened.models[0], opened.corpus, form.analyses, form.limit, pairs=form.pairs))
