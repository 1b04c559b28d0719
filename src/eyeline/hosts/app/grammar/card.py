"""The card of one head: every result of a run of grammar and reference for it."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from eyeline.heads import HeadRef
from eyeline.hosts.app import mounted
from eyeline.hosts.app.figures import tables
from eyeline.hosts.app.figures.tables import Column
from eyeline.hosts.app.grammar.sentence import look, mount
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.plain import escaped
from eyeline.results.grammar.directions import MENTION_TO_ANTECEDENT
from eyeline.results.grammar.relations import heads_of_tables, opening_relation, relations_of_head
from eyeline.results.run import Run

#: Relations on the card of a head.
RELATIONS = 6
#: A sentence for the heads of a run that keeps no example, such as one of probes alone.
WORDS = ("The", "cat", "sat", "on", "the", "mat", ".")
#: The tables that name heads.
TABLES = ("syntax_heads", "coreference_heads", "probe_weights")


#: The container of the card.
CARD = "grammar-card"


def open_card(name: str, head: HeadRef) -> None:
    """Open the card of a head, and bring it into view."""
    st.session_state[f"grammar-head-{name}"] = head
    mounted.note_click(CARD)


def chosen_head(parts: Mapping[str, Run], name: str) -> HeadRef | None:
    """The head whose card is open: the one chosen last, else the best head of the relation that the page opens on."""
    every = heads_of_tables(list(parts.values()), TABLES)
    if every and st.session_state.get(f"grammar-head-{name}") not in every:
        st.session_state[f"grammar-head-{name}"] = _first(parts, every)
    return st.session_state[f"grammar-head-{name}"] if every else None


def show_card(say: Say, parts: Mapping[str, Run], name: str) -> None:
    """One head: the relations it finds, its antecedents, what the probes make of it, and itself on a sentence."""
    every = heads_of_tables(list(parts.values()), TABLES)
    if not every:
        return
    st.divider()
    st.selectbox(
        say("corpus.head"),
        every,
        format_func=lambda head: head.full_label,
        key=f"grammar-head-{name}",
        help=say("grammar.head_help"),
        width=240,
    )
    head: HeadRef = st.session_state[f"grammar-head-{name}"]
    left, right = st.columns([5, 7], gap="large")
    with left:
        st.subheader(say("corpus.card", head=escaped(head.full_label)), anchor=False)
        for line in _facts(say, parts, head):
            st.markdown(line)
        _relations(say, parts, head)
    with right:
        _example(say, parts, head, name)


def _first(parts: Mapping[str, Run], every: list[HeadRef]) -> HeadRef:
    """The best head of the relation that the page opens on; else that of coreference; else the first."""
    row = opening_relation(parts["syntax"]) if "syntax" in parts else None
    if row is None and "coreference" in parts:
        row = next(parts["coreference"].table("coreference").where(method="best head").rows())
    return every[0] if row is None else HeadRef("", int(row["layer"]), int(row["head"]))


def _facts(say: Say, parts: Mapping[str, Run], head: HeadRef) -> list[str]:
    lines = []
    if "coreference" in parts:
        table = parts["coreference"].table("coreference_heads").where(layer=head.layer, head=head.head, direction=MENTION_TO_ANTECEDENT)
        if len(table):
            lines.append(say("grammar.card_coreference", share=f"{float(table['all'][0]):.1f}"))
    if "probe" in parts:
        weights = parts["probe"].table("probe_weights").where(layer=head.layer, head=head.head, probe="attention-only")
        if len(weights):
            lines.append(say("grammar.card_probe", weights=say.listed(f"{float(weight):+.2f}" for weight in weights["weight"])))
    return lines


def _relations(say: Say, parts: Mapping[str, Run], head: HeadRef) -> None:
    """The relations in which this head is furthest ahead of the best fixed offset."""
    relations = relations_of_head(parts["syntax"], head, RELATIONS) if "syntax" in parts else []
    if not relations:
        return
    st.caption(say("grammar.card_relations"))
    accuracies = [relation.accuracy for relation in relations]
    tables.show(
        Column(say("grammar.column_relation"), [relation.relation for relation in relations], "word"),
        Column(
            say("grammar.column_accuracy_short"), [f"{value:.1f} %" for value in accuracies], parts=[value / 100 for value in accuracies]
        ),
        Column(say("grammar.column_baseline_any"), [f"{relation.baseline:.1f} %" for relation in relations]),
    )


def _example(say: Say, parts: Mapping[str, Run], head: HeadRef, name: str) -> None:
    """The head on a sentence of the treebank with many relations in it, or on the run's own example; else on a sentence of ours."""
    run = next((parts[kind] for kind in ("syntax", "coreference", "probe") if kind in parts and parts[kind].example is not None), None)
    if run is None or run.example is None:
        look(say, next(iter(parts.values())), list(WORDS), head, "", f"grammar-card-{name}")
        return
    source = next(iter(run.example.stacks.values()))
    if head.layer in source.layers:
        mount(say, run.example, head, "", f"grammar-card-{name}")
        return
    words = list(source.query_text.word_texts)
    look(say, run, words, head, "", f"grammar-card-{name}")
