"""The card of one head: everything that a run of grammar and reference says of it."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from eyeline.hosts.app.figures import tables
from eyeline.hosts.app.figures.figures import Head
from eyeline.hosts.app.figures.tables import Column
from eyeline.hosts.app.grammar.sentence import look, mount
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.plain import escaped
from eyeline.results.run import Run

#: So many relations stand on the card of a head.
RELATIONS = 6


def open_card(name: str, head: Head) -> None:
    st.session_state[f"grammar-head-{name}"] = head


def label(head: Head) -> str:
    return f"{head[0]} L{head[1]}·H{head[2]}".strip()


def heads_of(parts: Mapping[str, Run]) -> list[Head]:
    """Every head that the tables know, in order."""
    found: set[Head] = set()
    for run in parts.values():
        for table in ("syntax_heads", "coreference_heads", "probe_weights"):
            if table in run.tables:
                pairs = zip(run.table(table)["layer"].tolist(), run.table(table)["head"].tolist(), strict=True)
                found |= {("", int(layer), int(head)) for layer, head in pairs}
    return sorted(found)


def show_card(say: Say, parts: Mapping[str, Run], name: str) -> None:
    """One head: the relations it finds, its antecedents, what the probes make of it, and itself on a sentence."""
    every = heads_of(parts)
    if not every:
        return
    if st.session_state.get(f"grammar-head-{name}") not in every:
        st.session_state[f"grammar-head-{name}"] = _first(parts, every)
    st.divider()
    st.selectbox(say("corpus.head"), every, format_func=label, key=f"grammar-head-{name}", help=say("grammar.head_help"), width=240)
    at: Head = st.session_state[f"grammar-head-{name}"]
    left, right = st.columns([5, 7], gap="large")
    with left:
        st.subheader(say("corpus.card", head=escaped(label(at))), anchor=False)
        for line in _facts(say, parts, at):
            st.markdown(line)
        _relations(say, parts, at)
    with right:
        _example(say, parts, at, name)


def _first(parts: Mapping[str, Run], every: list[Head]) -> Head:
    """The head that is furthest ahead of a fixed offset in a relation; else that of coreference; else the first."""
    if "syntax" in parts:
        rows = [row for row in parts["syntax"].table("syntax").rows() if row["relation"] != "all"]
        if rows:
            best = max(rows, key=lambda row: float(row["accuracy"]) - float(row["baseline"]))
            return "", int(best["layer"]), int(best["head"])
    if "coreference" in parts:
        row = next(parts["coreference"].table("coreference").where(method="best head").rows())
        return "", int(row["layer"]), int(row["head"])
    return every[0]


def _facts(say: Say, parts: Mapping[str, Run], at: Head) -> list[str]:
    said = []
    if "coreference" in parts:
        found = parts["coreference"].table("coreference_heads").where(layer=at[1], head=at[2], direction="mention-to-antecedent")
        if len(found):
            said.append(say("grammar.card_coreference", share=f"{float(found['all'][0]):.1f}"))
    if "probe" in parts:
        weights = parts["probe"].table("probe_weights").where(layer=at[1], head=at[2], probe="attention-only")
        if len(weights):
            said.append(say("grammar.card_probe", weights=", ".join(f"{float(weight):+.2f}" for weight in weights["weight"])))
    return said


def _relations(say: Say, parts: Mapping[str, Run], at: Head) -> None:
    """The relations in which this head is furthest ahead of the best fixed offset."""
    if "syntax" not in parts:
        return
    run = parts["syntax"]
    baselines = {str(row["relation"]): float(row["baseline"]) for row in run.table("syntax").rows() if row["relation"] != "all"}
    best: dict[str, float] = {}
    for row in run.table("syntax_heads").where(layer=at[1], head=at[2]).rows():
        relation = str(row["relation"])
        if relation in baselines:
            best[relation] = max(best.get(relation, 0.0), float(row["accuracy"]))
    order = sorted(best, key=lambda relation: baselines[relation] - best[relation])[:RELATIONS]
    if not order:
        return
    st.caption(say("grammar.card_relations"))
    accuracy = [best[relation] for relation in order]
    tables.show(
        Column(say("grammar.column_relation"), order, "word"),
        Column(say("grammar.column_accuracy_short"), [f"{one:.1f} %" for one in accuracy], parts=[one / 100 for one in accuracy]),
        Column(say("grammar.column_baseline"), [f"{baselines[relation]:.1f} %" for relation in order]),
    )


def _example(say: Say, parts: Mapping[str, Run], at: Head, name: str) -> None:
    """The head on a sentence of the treebank with many relations in it, or on the run's own example."""
    run = next((parts[kind] for kind in ("syntax", "coreference", "probe") if kind in parts and parts[kind].example is not None), None)
    if run is None or run.example is None:
        st.caption(say("corpus.no_example"))
        return
    source = next(iter(run.example.stacks.values()))
    if at[1] in source.layers:
        mount(say, run.example, at, "", f"grammar-card-{name}")
        return
    words = list(source.query_text.word_texts)
    look(say, run, words, at, "", f"grammar-card-{name}")
