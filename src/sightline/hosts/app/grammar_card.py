"""One relation on examples, and one head: everything that a run of grammar and reference says of it."""

from __future__ import annotations

import json
from collections.abc import Mapping

import plotly.graph_objects as go
import streamlit as st

from sightline.capture.trace import Trace
from sightline.errors import SightlineError
from sightline.hosts.app import mounted, tables
from sightline.hosts.app.figures import CONFIG, Head
from sightline.hosts.app.messages import Say
from sightline.hosts.app.models import choices, held_by, model_named, place_of, turn
from sightline.hosts.app.plain import escaped, refuse
from sightline.hosts.app.settings import current
from sightline.hosts.app.shelf import Shelf
from sightline.hosts.app.tables import Column
from sightline.plots.style import MONO, in_dark, plain
from sightline.results.run import Run
from sightline.results.table import Cell
from sightline.views import head_view

_SENTENCES = Shelf(32_000_000)
#: So many relations stand on the card of a head.
RELATIONS = 6


def show_relation(say: Say, run: Run, name: str, known: list[str], picked: str | None) -> None:
    """The best head of a relation on the sentences where it is most sure, the gold arcs in red, and one of them in the head view."""
    key = f"relation-{name}"
    if picked is not None or st.session_state.get(key) not in known:
        st.session_state[key] = picked or known[0]
    st.subheader(say("grammar.examples"), anchor=False)
    st.caption(say("grammar.examples_about"))
    meanings = say.part("grammar.relation")

    def called(relation: str) -> str:
        meaning = meanings.get(relation.replace(":", "_"), "")
        return f"{relation} · {meaning}" if meaning else relation

    chosen = st.selectbox(say("grammar.column_relation"), known, format_func=called, key=key, width=420)
    row = next(row for row in run.table("syntax").rows() if row["relation"] == chosen)
    at: Head = ("", int(row["layer"]), int(row["head"]))
    st.button(
        say("grammar.best_head", head=label(at), accuracy=f"{float(row['accuracy']):.1f}", baseline=f"{float(row['baseline']):.1f}",
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
    _look(say, run, json.loads(str(rows[place or 0]["words"])), at, str(row["direction"]), f"relation-view-{name}")


def examples(say: Say, run: Run, relation: str, rows: list[dict[str, Cell]]) -> go.Figure:
    """Figure 5 for one relation, its few words in the visitor's language; the words of the sentences stay as they are."""
    figure = run.figure("syntax_examples")
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
        _mount(say, run.example, at, "", f"grammar-card-{name}")
        return
    words = list(source.query_text.word_texts)
    _look(say, run, words, at, "", f"grammar-card-{name}")


def _look(say: Say, run: Run, words: list[str], at: Head, direction: str, key: str) -> None:
    """A list of words in the head view, where the run's model is offered here."""
    name = str(run.about["model"]["name"])
    if name not in choices(current()):
        st.caption(say("corpus.no_example"))
        return
    try:
        model = model_named(name)

        def record() -> Trace:
            with turn():
                return model.trace(words=words, keep={"weights"})

        trace = _SENTENCES.get((place_of(name, current()), tuple(words)), record, held_by)
        _mount(say, trace, at, direction, key)
    except SightlineError as error:
        refuse(say("look.failed"), error)


def _mount(say: Say, trace: Trace, at: Head, direction: str, key: str) -> None:
    view = head_view(
        trace, stack=next(iter(trace.stacks)), layer=at[1], heads=[at[2]], level="word", hide_special=True,
        direction="to" if direction == "head-to-dependent" else "from",
    )  # fmt: skip
    mounted.show(mounted.packed(view, say.part("view")), key=key)
