"""Corpus: measure a text of many sentences, in the background, and look at what its heads do."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from eyeline.hosts.app.corpus import recipe
from eyeline.hosts.app.corpus.job import ANALYSES, FIRST, CorpusPageWork, CorpusRequest, first_request
from eyeline.hosts.app.heading import heading
from eyeline.hosts.app.jobs import panel
from eyeline.hosts.app.jobs.reuse import request_key
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.models import choices, declared_by, model_source, recipe_source
from eyeline.hosts.app.plain import escaped
from eyeline.hosts.app.recipe import show_recipe
from eyeline.hosts.app.settings import current
from eyeline.hosts.app.texts.opening import open_text_and_models
from eyeline.hosts.app.texts.source import TextSource, text_source


@dataclass(frozen=True)
class CorpusForm:
    """What the visitor filled in."""

    source: TextSource
    model: str
    request: CorpusRequest


def page(say: Say) -> None:
    heading(say, "corpus")
    form = _form(say)
    panel.show_job(say, "corpus")
    arguments = (recipe_source(form.model), form.source.file, list(form.request.analyses), form.request.limit, form.request.pairs)
    show_recipe(say, recipe.python(*arguments), recipe.console(*arguments))


def _form(say: Say) -> CorpusForm:
    """The text, the model and the analyses; the button that starts."""
    most = current().limits.documents
    texts, side = st.columns([3, 2], gap="large")
    with texts:
        source = text_source(say, "corpus")
    with side:
        model = st.selectbox(say("look.model"), list(choices(current())), key="corpus-model")
        chosen = _analyses(say, model)
        suggested = first_request(current().limits).limit
        limit = int(st.number_input(say("corpus.limit"), 1, most, suggested, key="corpus-limit", help=say("corpus.limit_help")))
        pairs = st.checkbox(say("corpus.pairs"), key="corpus-pairs", help=say("corpus.pairs_help"))
        form = CorpusForm(source, model, CorpusRequest(tuple(name for name in ANALYSES if name in chosen) or ANALYSES[:1], limit, pairs))
        disabled = panel.is_running("corpus") or not chosen
        if st.button(say("corpus.run"), type="primary", width="stretch", disabled=disabled, key="corpus-run"):
            _submit(say, form)
    return form


def _analyses(say: Say, model: str) -> list[str]:
    """What the visitor chose to measure. What this model cannot do is not offered, and the page says why."""
    known = declared_by(model)
    left_out: list[str] = []
    if known is not None:
        left_out = [name for name, can in (("importance", known.has_loss), ("causes", known.has_one_answer)) if not can]
    offered = [name for name in ANALYSES if name not in left_out]
    kept = [name for name in st.session_state.get("corpus-analyses", FIRST) if name in offered]
    st.session_state["corpus-analyses"] = kept
    chosen = st.pills(
        say("corpus.analyses"), offered, format_func=lambda name: say(f"corpus.analysis_{name}"), selection_mode="multi",
        key="corpus-analyses", wrap=True, help=say("corpus.analyses_help"),
    )  # fmt: skip
    if left_out:
        names = say.listed(say(f"corpus.analysis_{name}") for name in left_out)
        answering = say.listed(name for name in choices(current()) if _answers(name, left_out))
        st.caption(say("corpus.not_offered", model=escaped(model), names=names, others=escaped(answering or "–")))
    return list(chosen)


def _answers(name: str, analyses: list[str]) -> bool:
    """Whether a model has what these analyses need."""
    known = declared_by(name)
    return known is not None and (known.has_loss if "importance" in analyses else known.has_one_answer)


def _submit(say: Say, form: CorpusForm) -> None:
    opened = open_text_and_models(say, form.source, form.model)
    if opened is not None:
        source = model_source(form.model, current())
        key = request_key("corpus", source, form.source.content(), form.request, say.language)
        panel.submit(say, "corpus", CorpusPageWork(source, opened.corpus, form.request), key)
