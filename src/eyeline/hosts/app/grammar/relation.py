"""One relation: its best head on examples, the gold arcs in red."""

from __future__ import annotations

import json
from pathlib import Path

import streamlit as st

from eyeline.heads import HeadRef
from eyeline.hosts.app.figures import figures
from eyeline.hosts.app.grammar.card import open_card
from eyeline.hosts.app.grammar.sentence import look
from eyeline.hosts.app.messages import Say
from eyeline.plots.grammar.syntax_examples import draw_relation
from eyeline.results.grammar.relations import baseline_of, opening_relation
from eyeline.results.run import Run


def show_relation(say: Say, run: Run, folder: Path, known: list[str], picked: str | None) -> None:
    """The best head of a relation on the sentences where it is most sure, the gold arcs in red, and one of them in the head view."""
    name, key = folder.name, f"relation-{folder.name}"
    if picked is not None or st.session_state.get(key) not in known:
        st.session_state[key] = picked or _opening(run, known)
    st.subheader(say("grammar.examples"), anchor=False)
    st.caption(say("grammar.examples_about"))
    meanings = say.part("grammar.relation")

    def relation_label(relation: str) -> str:
        meaning = meanings.get(relation.replace(":", "_"), "")
        return f"{relation} · {meaning}" if meaning else relation

    chosen = st.selectbox(say("grammar.column_relation"), known, format_func=relation_label, key=key, width=420)
    row = next(row for row in run.table("syntax").rows() if row["relation"] == chosen)
    head = HeadRef("", int(row["layer"]), int(row["head"]))
    st.button(
        say("grammar.best_head", head=str(head), accuracy=f"{float(row['accuracy']):.1f}", baseline=f"{baseline_of(row):.1f}",
            direction=say.name("direction", str(row["direction"]))),
        key=f"best-{name}", on_click=open_card, args=(name, head), type="tertiary", icon=":material/open_in_new:",
    )  # fmt: skip
    rows = (
        [example for example in run.table("syntax_examples").rows() if example["relation"] == chosen]
        if "syntax_examples" in run.tables
        else []
    )
    if not rows:
        st.caption(say("grammar.no_examples"))
        return
    with st.container(key="wide-examples"):
        drawing = figures.kept(say, folder, f"syntax_examples/{chosen}", lambda style: draw_relation(run, style, str(chosen)))
        st.plotly_chart(drawing, theme=None, config=figures.CONFIG, key=f"examples-{name}-{chosen}-{say.language}")
    index = st.selectbox(
        say("grammar.sentence"), range(len(rows)), format_func=lambda i: " ".join(json.loads(str(rows[i]["words"]))), key=f"sentence-{name}"
    )
    look(say, run, json.loads(str(rows[index or 0]["words"])), head, str(row["direction"]), f"relation-view-{name}")


def _opening(run: Run, known: list[str]) -> str:
    """The relation to open on."""
    row = opening_relation(run)
    return known[0] if row is None else str(row["relation"])
