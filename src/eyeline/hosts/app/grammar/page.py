"""Grammar: what single heads, and all of them together, know of syntax and reference."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import streamlit as st

from eyeline.analyses.grammar.relations import LABELS
from eyeline.errors import EyelineError
from eyeline.hosts.app.grammar import recipe
from eyeline.hosts.app.grammar.job import ANALYSES, GrammarOptions, GrammarWork, read_gold
from eyeline.hosts.app.heading import heading
from eyeline.hosts.app.jobs import panel
from eyeline.hosts.app.jobs.reuse import request_key
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.models import choices, model_named, model_source, recipe_source
from eyeline.hosts.app.plain import escaped, refuse
from eyeline.hosts.app.recipe import show_recipe
from eyeline.hosts.app.settings import current
from eyeline.hosts.app.texts.uploads import received
from eyeline.sample.treebank import sample_conllu

SOURCES = ("sample", "upload")
ENDINGS = ("conllu", "conllu.gz", "conll", "conll.gz", "v4_gold_conll", "v4_gold_conll.gz", "jsonl", "jsonl.gz")
#: Endings for the browser's file dialog, which looks only at the last one (gz of conllu.gz).
OFFERED = ("conllu", "conll", "v4_gold_conll", "jsonl", "gz")
SENTENCES, MIN_COUNT = 300, 30


@dataclass(frozen=True)
class GrammarForm:
    """What the visitor filled in. source: one of SOURCES; upload: the file, where one was chosen."""

    source: str
    upload: Any
    model: str
    options: GrammarOptions


def page(say: Say) -> None:
    heading(say, "grammar")
    form = _form(say)
    panel.show_job(say, "grammar")
    file, sentences = (recipe.SAMPLE_FILE, form.options.limit) if form.upload is None else (str(form.upload.name), None)
    arguments = (recipe_source(form.model), file, sentences, form.options)
    show_recipe(say, recipe.python(*arguments), recipe.console(*arguments))


def _form(say: Say) -> GrammarForm:
    """The annotated corpus, the model, the analyses; the button that starts."""
    limits = current().limits
    left, right = st.columns([3, 2], gap="large")
    upload = None
    with left:
        source = st.segmented_control(
            say("grammar.source"), SOURCES, format_func=lambda name: say(f"grammar.source_{name}"), default="sample", key="grammar-source",
            required=True,
        )  # fmt: skip
        if source == "upload":
            size = max(1, limits.upload // (1024 * 1024))
            upload = st.file_uploader(
                say("grammar.upload", size=size), type=list(OFFERED), max_upload_size=size, help=say("grammar.upload_help"),
                key="grammar-file",
            )  # fmt: skip
            st.caption(say("grammar.upload_about"))
        else:
            st.markdown(say("grammar.sample_about"))
            st.code(_first_sentences(), language=None, wrap_lines=True)
    with right:
        model = st.selectbox(say("look.model"), list(choices(current())), key="grammar-model")
        selected = st.pills(
            say("grammar.analyses"), ANALYSES, format_func=lambda name: say(f"grammar.analysis_{name}"), selection_mode="multi",
            default=ANALYSES, key="grammar-analyses", wrap=True, help=say("grammar.analyses_help"),
        )  # fmt: skip
        most = limits.documents
        limit = st.number_input(
            say("grammar.limit"), 2, most, min(SENTENCES, most), key="grammar-limit", help=say("grammar.limit_help")
        )  # fmt: skip
        with st.expander(say("grammar.more")):
            labels = st.selectbox(
                say("grammar.labels"), LABELS, format_func=lambda name: say(f"grammar.labels_{name.replace('-', '_')}"),
                key="grammar-labels", help=say("grammar.labels_help"),
            )  # fmt: skip
            least = st.number_input(say("grammar.least"), 1, 10_000, MIN_COUNT, key="grammar-least", help=say("grammar.least_help"))
        chosen = tuple(name for name in ANALYSES if name in (selected or ()))
        options = GrammarOptions(chosen or ANALYSES[:1], int(limit), int(least), str(labels))
        form = GrammarForm(source or "sample", upload, model, options)
        disabled = panel.is_running("grammar") or not chosen
        if st.button(say("grammar.run"), type="primary", width="stretch", disabled=disabled, key="grammar-run"):
            _submit(say, form)
    return form


@lru_cache(maxsize=1)
def _first_sentences() -> str:
    """A few of the made-up sentences, one a line."""
    lines = sample_conllu(8).splitlines()
    return "\n".join(line.removeprefix("# text = ") for line in lines if line.startswith("# text = "))


def _submit(say: Say, form: GrammarForm) -> None:
    """Read the file now, so that a bad one is named at once; measure it in the background."""
    if form.source == "upload" and form.upload is None:
        refuse(say, "grammar.nothing")
        return
    try:
        name, data = _file(say, form)
        gold = read_gold(name, data, form.options.analyses)
        with st.spinner(say("look.loading", model=escaped(form.model))):
            model_named(form.model)
    except EyelineError as error:
        refuse(say, "grammar.bad_file", error)
        return
    source = model_source(form.model, current())
    key = request_key("grammar", source, name.encode() + b"\n" + data, form.options, say.language)
    panel.submit(say, "grammar", GrammarWork(source, gold, form.options), key)


def _file(say: Say, form: GrammarForm) -> tuple[str, bytes]:
    """The name and bytes of what is read."""
    if form.upload is None:
        return "sample-treebank.conllu", sample_conllu(form.options.limit).encode()
    return received(say, form.upload, ENDINGS, say("corpus.called_upload"))
