"""A sentence of the visitor's own, parsed by the trained probe of a run: arcs over the words, and the heads behind a pair of words."""

from __future__ import annotations

import streamlit as st

from eyeline.errors import EyelineError
from eyeline.hosts.app.figures import tables
from eyeline.hosts.app.figures.figures import CONFIG, style_of
from eyeline.hosts.app.figures.tables import Column
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.models import choices, compute_slot, model_named
from eyeline.hosts.app.plain import escaped, refuse
from eyeline.hosts.app.settings import current
from eyeline.plots.probes.probe_parses import draw_parse
from eyeline.results.probes.parse import ROOT, Parse
from eyeline.results.run import Run

SENTENCE = "The cat sat on the mat."
#: The longest sentence in characters; heads shown for a pair of words.
LONGEST, HEADS = 400, 8


def show_parse(say: Say, run: Run, name: str) -> None:
    """A field for a sentence, its tree, and the weights of a pair of words; nothing where the run keeps no probe."""
    if run.probes is None:
        return
    st.subheader(say("grammar.parse"), anchor=False)
    st.caption(say("grammar.parse_about"))
    text = st.text_input(say("grammar.parse_sentence"), SENTENCE, max_chars=LONGEST, key=f"parse-{name}")
    model = str(run.facts.model.name)
    if model not in choices(current()):
        st.caption(say("corpus.no_example"))
        return
    try:
        from eyeline.analyses.probes.parse import open_probe

        with compute_slot():
            parse = open_probe(run, model=model_named(model)).parse(text)
    except EyelineError as error:
        refuse(say, "look.failed", error)
        return
    with st.container(key="wide-parse"):
        st.plotly_chart(draw_parse(parse, style_of(say)), theme=None, key=f"parse-arcs-{name}", config=CONFIG)
    _pair(say, parse, name)


def _pair(say: Say, parse: Parse, name: str) -> None:
    """The heads that count most for or against one pair of words, with their weights."""
    words = list(range(len(parse.words)))
    left, right = st.columns(2)
    dependent = left.selectbox(say("grammar.parse_dependent"), words, format_func=lambda i: parse.words[i], key=f"parse-dependent-{name}")
    others = [index for index in (-1, *words) if index != dependent]
    governor = right.selectbox(
        say("grammar.parse_governor"), others, format_func=lambda i: ROOT if i < 0 else parse.words[i],
        index=others.index(parse.governors[dependent]), key=f"parse-governor-{name}-{dependent}",
    )  # fmt: skip
    share = parse.probabilities[dependent, governor + 1]
    st.caption(say("grammar.parse_share", word=escaped(parse.words[dependent]), share=f"{100 * share:.1f}"))
    weights = parse.pair(dependent, governor)[:HEADS]
    tables.show(
        Column(say("figure.label.head"), [str(head.head) for head in weights], "token"),
        Column(say("grammar.parse_direction"), [say.name("direction", head.direction) for head in weights], "word"),
        Column(say("grammar.parse_attention"), [f"{head.attention:.3f}" for head in weights]),
        Column(say("grammar.parse_weight"), [f"{head.weight:+.3f}" for head in weights]),
        Column(say("grammar.parse_contribution"), [f"{head.contribution:+.3f}" for head in weights]),
    )
