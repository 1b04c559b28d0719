"""One relation: its best head on examples, the gold arcs in red."""

from __future__ import annotations

import json
from pathlib import Path

import streamlit as st

from eyeline.heads import HeadRef
from eyeline.hosts.app import mounted
from eyeline.hosts.app.figures import figures
from eyeline.hosts.app.grammar.card import open_card
from eyeline.hosts.app.grammar.sentence import look
from eyeline.hosts.app.messages import Say
from eyeline.plots.grammar.syntax_examples import draw_relation, least_width
from eyeline.results.grammar.relations import baseline_of, opening_relation
from eyeline.results.run import Run
from eyeline.results.table import Cell

#: The key of the container that answers a click on a row.
RELATION = "grammar-relation"


def show_relation(say: Say, run: Run, folder: Path, known: list[str], picked: str | None) -> None:
    """The best head of a relation on the sentences where it is most sure, the gold arcs in red, and one of them in the head view.

    picked   the relation whose row was clicked just now: what it shows comes into view
    """
    name, key = folder.name, f"relation-{folder.name}"
    if picked is not None or st.session_state.get(key) not in known:
        st.session_state[key] = picked or _opening(run, known)
    if picked is not None:
        mounted.note_click(RELATION)
    mounted.bring_answer(RELATION)
    with st.container(key=RELATION):
        row = _choice(say, run, name, known)
        rows = _drawn(say, run, folder, str(row["relation"]))
    if not rows:
        return
    index = st.selectbox(
        say("grammar.sentence"), range(len(rows)), format_func=lambda i: " ".join(json.loads(str(rows[i]["words"]))), key=f"sentence-{name}"
    )
    look(say, run, json.loads(str(rows[index or 0]["words"])), _best_head(row), str(row["direction"]), f"relation-view-{name}")


def _choice(say: Say, run: Run, name: str, known: list[str]) -> dict[str, Cell]:
    """The relation that is chosen, as a row of the table: a menu of all, and its best head, one click from its card."""
    st.subheader(say("grammar.examples"), anchor=False)
    st.caption(say("grammar.examples_about"))
    meanings = say.part("grammar.relation")

    def relation_label(relation: str) -> str:
        meaning = meanings.get(relation.replace(":", "_"), "")
        return f"{relation} · {meaning}" if meaning else relation

    chosen = st.selectbox(say("grammar.column_relation"), known, format_func=relation_label, key=f"relation-{name}", width=420)
    row = next(row for row in run.table("syntax").rows() if row["relation"] == chosen)
    head = _best_head(row)
    st.button(
        say("grammar.best_head", head=str(head), accuracy=f"{float(row['accuracy']):.1f}", baseline=f"{baseline_of(row):.1f}",
            direction=say.name("direction", str(row["direction"]))),
        key=f"best-{name}", on_click=open_card, args=(name, head), type="tertiary", icon=":material/open_in_new:",
    )  # fmt: skip
    return row


def _drawn(say: Say, run: Run, folder: Path, relation: str) -> list[dict[str, Cell]]:
    """The sentences of a relation, drawn with arcs; a narrow page scrolls them."""
    table = run.tables.get("syntax_examples")
    rows = [] if table is None else list(table.where(relation=relation).rows())
    if not rows:
        st.caption(say("grammar.no_examples"))
        return []
    width = least_width(run, relation)
    st.html(f"<style>.st-key-wide-examples > * {{ min-width: {width}px !important }}</style>")
    with st.container(key="wide-examples"):
        drawing = figures.kept(say, folder, f"syntax_examples/{relation}", lambda style: draw_relation(run, style, relation))
        st.plotly_chart(drawing, theme=None, config=figures.CONFIG, key=f"examples-{folder.name}-{relation}-{say.language}")
    return rows


def _best_head(row: dict[str, Cell]) -> HeadRef:
    return HeadRef("", int(row["layer"]), int(row["head"]))


def _opening(run: Run, known: list[str]) -> str:
    """The relation to open on."""
    row = opening_relation(run)
    return known[0] if row is None else str(row["relation"])
