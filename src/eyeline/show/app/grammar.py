"""Grammar: what single heads, and all of them together, know of syntax and reference."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import streamlit as st

from eyeline.errors import EyelineError
from eyeline.measure.grammar.options import SyntaxOptions
from eyeline.measure.runs.options import as_command, as_python
from eyeline.show.app.jobs import panel
from eyeline.show.app.jobs.grammar import ANALYSES, GrammarRequest, GrammarWork, read_gold, request_of
from eyeline.show.app.jobs.job import request_key
from eyeline.show.app.kit.form import ask
from eyeline.show.app.kit.models import choices, model_named, model_source, recipe_source
from eyeline.show.app.kit.page import escaped, heading, refuse, show_recipe
from eyeline.show.app.kit.settings import current
from eyeline.show.app.kit.texts import received
from eyeline.show.app.run_parts import show_folder
from eyeline.text.corpora.sample_treebank import sample_conllu
from eyeline.words import Words

SOURCES = ("sample", "upload")

ENDINGS = ("conllu", "conllu.gz", "conll", "conll.gz", "v4_gold_conll", "v4_gold_conll.gz", "jsonl", "jsonl.gz")

#: Endings for the browser's file dialog, which looks only at the last one (gz of conllu.gz).
OFFERED = ("conllu", "conll", "v4_gold_conll", "jsonl", "gz")

SENTENCES, MIN_COUNT = 300, 30

#: Options that all analyses of the page share.
SHARED = ("limit",)


@dataclass(frozen=True)
class GrammarForm:
    """What the visitor filled in. source: one of SOURCES; upload: the file, where one was chosen."""

    source: str
    upload: Any
    model: str
    request: GrammarRequest


def page(say: Words) -> None:
    heading(say, "grammar")
    form = _form(say)
    panel.show_job(say, "grammar", show_folder)
    file, sentences = (SAMPLE_FILE, form.request.syntax.limit) if form.upload is None else (str(form.upload.name), None)
    arguments = (recipe_source(form.model), file, sentences, form.request)
    show_recipe(say, python(*arguments), console(*arguments))


def _form(say: Words) -> GrammarForm:
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
        syntax = SyntaxOptions(limit=min(SENTENCES, most), min_count=MIN_COUNT)
        syntax = ask(say, syntax, "grammar", only=SHARED, limits={"limit": (2, most)})
        chosen = tuple(name for name in ANALYSES if name in (selected or ()))
        with st.expander(say("grammar.more")):
            syntax = ask(say, syntax, "grammar", without=SHARED, limits={"min_count": (1, 10_000)})
            request = request_of(chosen or ANALYSES[:1], syntax)
            coreference = ask(say, request.coreference, "grammar-coreference", without=SHARED)
            request = replace(request, coreference=coreference, probe=ask(say, request.probe, "grammar-probe", without=SHARED))
        form = GrammarForm(source or "sample", upload, model, request)
        disabled = panel.is_running("grammar") or not chosen
        if st.button(say("grammar.run"), type="primary", width="stretch", disabled=disabled, key="grammar-run"):
            _submit(say, form)
    return form


@lru_cache(maxsize=1)
def _first_sentences() -> str:
    """A few of the made-up sentences, one a line."""
    lines = sample_conllu(8).splitlines()
    return "\n".join(line.removeprefix("# text = ") for line in lines if line.startswith("# text = "))


def _submit(say: Words, form: GrammarForm) -> None:
    """Read the file now, so that a bad one is named at once; measure it in the background."""
    if form.source == "upload" and form.upload is None:
        refuse(say, "grammar.nothing")
        return
    try:
        name, data = _file(say, form)
        gold = read_gold(name, data, form.request.analyses)
        with st.spinner(say("look.loading", model=escaped(form.model))):
            model_named(form.model)
    except EyelineError as error:
        refuse(say, "grammar.bad_file", error)
        return
    source = model_source(form.model, current())
    key = request_key("grammar", source, name.encode() + b"\n" + data, form.request, say.language)
    panel.submit(say, "grammar", GrammarWork(source, gold, form.request), key)


def _file(say: Words, form: GrammarForm) -> tuple[str, bytes]:
    """The name and bytes of what is read."""
    if form.upload is None:
        return "sample-treebank.conllu", sample_conllu(form.request.syntax.limit or SENTENCES).encode()
    return received(say, form.upload, ENDINGS, say("corpus.called_upload"))


# ---- The page in Python and as commands


SAMPLE_FILE = "treebank.conllu"


def python(source: str, file: str, sentences: int | None, request: GrammarRequest) -> str:
    """As Python. sentences: how many made-up sentences are written to the file first; None: the file exists."""
    lines = ["import eyeline as el"]
    lines += [] if sentences is None else ["from eyeline.treebanks import write_sample"]
    lines += ["", f"model, file = el.load({source!r}), {file!r}"]
    lines += [] if sentences is None else [f"write_sample(file, {sentences})"]
    lines += ["runs = [", *(f"    el.{name}(model, file, {as_python(request.options(name))})," for name in request.analyses), "]"]
    return "\n".join([*lines, 'runs[0].join(*runs[1:]).save("run")  # tables', 'el.runs.write_report("run")  # figures and report.html'])


def console(source: str, file: str, sentences: int | None, request: GrammarRequest) -> str:
    """As commands, one a line; they share a folder, and its report shows them all."""
    lines = [] if sentences is None else [["eyeline", "sample-treebank", "-n", str(sentences), "-o", file]]
    for name in request.analyses:
        lines.append(["eyeline", name, file, "--model", source, *as_command(request.options(name)), "-o", "run"])
    return "\n".join(shlex.join(line) for line in lines)
