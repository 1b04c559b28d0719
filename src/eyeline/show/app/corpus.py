"""Corpus: measure a text of many sentences, in the background, and look at what its heads do."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace

import streamlit as st

from eyeline.measure.corpus.catalogue import STATISTICS
from eyeline.measure.runs.options import as_command, as_python
from eyeline.models.declared import Declared
from eyeline.show.app.jobs import panel
from eyeline.show.app.jobs.corpus import FIRST, CorpusPageWork, CorpusRequest, analyses, first_request
from eyeline.show.app.jobs.job import request_key
from eyeline.show.app.kit.form import ask
from eyeline.show.app.kit.models import choices, declared_by, model_source, recipe_source
from eyeline.show.app.kit.page import CorpusFile, console_opening, escaped, heading, python_opening, show_recipe
from eyeline.show.app.kit.settings import current
from eyeline.show.app.kit.texts import TextSource, open_text_and_models, text_source
from eyeline.show.app.run_parts import show_folder
from eyeline.words import Words


@dataclass(frozen=True)
class CorpusForm:
    """What the visitor filled in."""

    source: TextSource
    model: str
    request: CorpusRequest


def page(say: Words) -> None:
    heading(say, "corpus")
    form = _form(say)
    panel.show_job(say, "corpus", show_folder)
    arguments = (recipe_source(form.model), form.source.file, form.request)
    show_recipe(say, python(*arguments), console(*arguments))


def _form(say: Words) -> CorpusForm:
    """The text, the model and the analyses; the button that starts."""
    most = current().limits.documents
    texts, side = st.columns([3, 2], gap="large")
    with texts:
        source = text_source(say, "corpus")
    with side:
        model = st.selectbox(say("look.model"), list(choices(current())), key="corpus-model")
        chosen = _analyses(say, model)
        options = ask(say, first_request(current().limits).options, "corpus", limits={"limit": (1, most)})
        options = replace(options, window=not options.pairs)
        names = tuple(name for name in analyses() if name in chosen) or FIRST[:1]
        form = CorpusForm(source, model, CorpusRequest(names, options))
        disabled = panel.is_running("corpus") or not chosen
        if st.button(say("corpus.run"), type="primary", width="stretch", disabled=disabled, key="corpus-run"):
            _submit(say, form)
    return form


#: Analyses of what a model predicts, which not every model does → whether what it declares is enough.
NEEDS: dict[str, Callable[[Declared], bool]] = {
    "importance": lambda known: known.has_loss,
    "causes": lambda known: known.has_one_answer,
}


def _analyses(say: Words, model: str) -> list[str]:
    """What the visitor chose to measure. What this model cannot do is not offered, and the page says why."""
    known = declared_by(model)
    left_out = [name for name, can in NEEDS.items() if known is not None and not can(known)]
    of_decoders = ["head_scores"] if known is not None and known.stacks != ("decoder",) else []  # its label says so where it is offered
    offered = [name for name in analyses() if name not in (*left_out, *of_decoders)]
    kept = [name for name in st.session_state.get("corpus-analyses", FIRST) if name in offered]
    st.session_state["corpus-analyses"] = kept
    chosen = st.pills(
        say("corpus.analyses"), offered, format_func=lambda name: say(f"corpus.analysis_{name}"), selection_mode="multi",
        key="corpus-analyses", wrap=True, help=say("corpus.analyses_help"),
    )  # fmt: skip
    if left_out:
        names = say.listed(say(f"corpus.analysis_{name}") for name in left_out)
        known_others = {name: declared_by(name) for name in choices(current())}
        others = say.listed(name for name, other in known_others.items() if other and all(NEEDS[each](other) for each in left_out))
        st.caption(say("corpus.not_offered", model=escaped(model), names=names, others=escaped(others or "–")))
    return list(chosen)


def _submit(say: Words, form: CorpusForm) -> None:
    opened = open_text_and_models(say, form.source, form.model)
    if opened is not None:
        source = model_source(form.model, current())
        key = request_key("corpus", source, form.source.content(), form.request, say.language)
        panel.submit(say, "corpus", CorpusPageWork(source, opened.corpus, form.request), key)


# ---- The page in Python and as commands


def python(source: str, file: CorpusFile, request: CorpusRequest) -> str:
    """As Python. source: what `el.load` takes."""
    statistics = ", ".join(f"el.statistics.{STATISTICS[name].__name__}()" for name in request.analyses)
    how = as_python(request.options)
    return "\n".join(
        (
            *python_opening(file),
            f"run = el.analyse(el.load({source!r}), el.corpora.read_corpus({file.name!r}), [{statistics}], {how})",
            'run.save("run")  # tables',
            'el.runs.write_report("run")  # figures and report.html',
        )
    )


def console(source: str, file: CorpusFile, request: CorpusRequest) -> str:
    """As commands."""
    chosen = [word for name in request.analyses for word in ("--only", name)]
    words = ["eyeline", "analyse", file.name, "--model", source, *chosen, *as_command(request.options), "-o", "run"]
    return "\n".join([*console_opening(file), shlex.join(words)])
