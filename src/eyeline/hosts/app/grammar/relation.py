"""One relation: its best head on examples, the gold arcs in red."""

from __future__ import annotations

import json

import plotly.graph_objects as go
import streamlit as st

from eyeline.heads import HeadRef
from eyeline.hosts.app.figures.figures import CONFIG
from eyeline.hosts.app.grammar.card import open_card
from eyeline.hosts.app.grammar.sentence import look
from eyeline.hosts.app.messages import Say
from eyeline.plots.figures import figure as draw
from eyeline.plots.style import MONO, in_dark, plain
from eyeline.results.relations import baseline_of, opening_relation
from eyeline.results.run import Run
from eyeline.results.table import Cell


def show_relation(say: Say, run: Run, name: str, known: list[str], picked: str | None) -> None:
    """The best head of a relation on the sentences where it is most sure, the gold arcs in red, and one of them in the head view."""
    key = f"relation-{name}"
    if picked is not None or st.session_state.get(key) not in known:
        st.session_state[key] = picked or _opening(run, known)
    st.subheader(say("grammar.examples"), anchor=False)
    st.caption(say("grammar.examples_about"))
    meanings = say.part("grammar.relation")

    def called(relation: str) -> str:
        meaning = meanings.get(relation.replace(":", "_"), "")
        return f"{relation} · {meaning}" if meaning else relation

    chosen = st.selectbox(say("grammar.column_relation"), known, format_func=called, key=key, width=420)
    row = next(row for row in run.table("syntax").rows() if row["relation"] == chosen)
    at: HeadRef = HeadRef("", int(row["layer"]), int(row["head"]))
    st.button(
        say("grammar.best_head", head=str(at), accuracy=f"{float(row['accuracy']):.1f}", baseline=f"{baseline_of(row):.1f}",
            direction=_direction(say, str(row["direction"]))),
        key=f"best-{name}", on_click=open_card, args=(name, at), type="tertiary", icon=":material/open_in_new:",
    )  # fmt: skip
    rows = [one for one in run.table("syntax_examples").rows() if one["relation"] == chosen] if "syntax_examples" in run.tables else []
    if not rows:
        st.caption(say("grammar.no_examples"))
        return
    drawn = examples(say, run, str(chosen), rows)
    if st.context.theme.type == "dark":
        in_dark(drawn)
    with st.container(key="wide-examples"):
        st.plotly_chart(drawn, theme=None, config=CONFIG, key=f"examples-{name}-{chosen}-{say.language}")
    place = st.selectbox(
        say("grammar.sentence"), range(len(rows)), format_func=lambda i: " ".join(json.loads(str(rows[i]["words"]))), key=f"sentence-{name}"
    )
    look(say, run, json.loads(str(rows[place or 0]["words"])), at, str(row["direction"]), f"relation-view-{name}")


def _opening(run: Run, known: list[str]) -> str:
    """The relation to open on."""
    row = opening_relation(run)
    return known[0] if row is None else str(row["relation"])


def examples(say: Say, run: Run, relation: str, rows: list[dict[str, Cell]]) -> go.Figure:
    """Figure 5 for one relation, its few words in the visitor's language; the words of the sentences stay as they are."""
    figure = draw(run, "syntax_examples")
    button = next(one for one in figure.layout.updatemenus[0].buttons if one.label == plain(relation))
    kept = [trace for trace, visible in zip(figure.data, button.args[1], strict=True) if visible]
    captions = iter(rows)
    for trace in kept:
        trace.visible = True
        if trace.mode != "text" or trace.textfont.family == MONO:
            continue
        if len(trace.text) == 2:
            trace.text = [say("grammar.gold"), trace.text[1]]
        else:
            trace.text = [f"{plain(relation)} · {_direction(say, str(next(captions)['direction']))}"]
    figure.data = []
    figure.add_traces(kept)
    figure.layout.updatemenus = ()
    return figure.update_layout(title=None, margin={"l": 8, "r": 8, "t": 16, "b": 8}, height=240 * len(rows), dragmode=False)


def _direction(say: Say, direction: str) -> str:
    return say(f"grammar.direction_{direction.replace('-', '_')}")
