"""Grammar: what single heads, and all of them together, know of syntax and reference."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import streamlit as st

from eyeline.errors import EyelineError
from eyeline.hosts.app import waiting
from eyeline.hosts.app.grammar import recipe as grammar_recipe
from eyeline.hosts.app.grammar.job import ANALYSES, Gold, Wanted, measure, read_gold
from eyeline.hosts.app.look import recipe
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.models import choices, model_named, place_of
from eyeline.hosts.app.plain import escaped, refuse
from eyeline.hosts.app.settings import current
from eyeline.hosts.app.shell import heading, visitor
from eyeline.hosts.app.texts.uploads import received
from eyeline.sample.treebank import sample_conllu

SOURCES = ("sample", "upload")
ENDINGS = ("conllu", "conllu.gz", "conll", "conll.gz", "v4_gold_conll", "v4_gold_conll.gz", "jsonl", "jsonl.gz")
#: What the browser offers: it knows the last ending alone.
OFFERED = ("conllu", "conll", "v4_gold_conll", "jsonl", "gz")
LABELS = ("ud", "stanford", "as-is")
SENTENCES, LEAST = 300, 30


def page(say: Say) -> None:
    heading(say, "grammar")
    name, upload, wanted = _asked(say)
    waiting.outcome(say, "grammar")
    place = place_of(name, current()) if name in choices(current()) else name
    file = grammar_recipe.MADE if upload is None else str(upload.name)
    given = (place, file, wanted.limit if upload is None else None, wanted)
    recipe.box(say, grammar_recipe.python(*given), grammar_recipe.console(*given))


def _asked(say: Say) -> tuple[str, Any, Wanted]:
    """The gold corpus, the model, the analyses; the button that begins."""
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
        name = st.selectbox(say("look.model"), list(choices(current())), key="grammar-model")
        only = st.pills(
            say("grammar.analyses"), ANALYSES, format_func=lambda one: say(f"grammar.analysis_{one}"), selection_mode="multi",
            default=ANALYSES, key="grammar-analyses", wrap=True, help=say("grammar.analyses_help"),
        )  # fmt: skip
        most = limits.documents
        limit = st.number_input(
            say("grammar.limit"), 2, most, min(SENTENCES, most), key="grammar-limit", help=say("grammar.limit_help")
        )  # fmt: skip
        with st.expander(say("grammar.more")):
            labels = st.selectbox(
                say("grammar.labels"), LABELS, format_func=lambda one: say(f"grammar.labels_{one.replace('-', '_')}"), key="grammar-labels",
                help=say("grammar.labels_help"),
            )  # fmt: skip
            least = st.number_input(say("grammar.least"), 1, 10_000, LEAST, key="grammar-least", help=say("grammar.least_help"))
        chosen = tuple(one for one in ANALYSES if one in (only or ()))
        wanted = Wanted(chosen or ANALYSES[:1], int(limit), int(least), str(labels))
        busy = waiting.running("grammar")
        if st.button(say("grammar.run"), type="primary", width="stretch", disabled=busy or not chosen, key="grammar-run"):
            _begin(say, source or "sample", upload, name, wanted)
    return name, upload if source == "upload" else None, wanted


@lru_cache(maxsize=1)
def _first_sentences() -> str:
    """What the made-up sentences read like."""
    lines = sample_conllu(8).splitlines()
    return "\n".join(line.removeprefix("# text = ") for line in lines if line.startswith("# text = "))


def _begin(say: Say, source: str, upload: Any, name: str, wanted: Wanted) -> None:
    """Read the file now, so that a bad one is named at once; measure it in the background."""
    if source == "upload" and upload is None:
        refuse(say("grammar.nothing"))
        return
    try:
        gold = _gold(say, upload if source == "upload" else None, wanted)
        with st.spinner(say("look.loading", model=escaped(name))):
            model = model_named(name)
    except EyelineError as error:
        refuse(say("grammar.bad_file"), error)
        return
    waiting.begin(say, "grammar", measure(model, gold, wanted, visitor()))


def _gold(say: Say, upload: Any, wanted: Wanted) -> Gold:
    if upload is None:
        return read_gold("sample-treebank.conllu", sample_conllu(wanted.limit).encode(), wanted.analyses)
    name, data = received(say, upload, ENDINGS, say("corpus.called_upload"))
    return read_gold(name, data, wanted.analyses)
