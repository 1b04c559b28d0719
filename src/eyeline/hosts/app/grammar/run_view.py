"""What heads know of grammar and reference, on the page: tables 1, 2 and 3 with their figures; a relation or a head clicked opens."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from eyeline.heads import HeadRef
from eyeline.hosts.app import mounted
from eyeline.hosts.app.figures import figures, tables
from eyeline.hosts.app.figures.tables import Column
from eyeline.hosts.app.grammar import card as grammar_card
from eyeline.hosts.app.grammar import relation as grammar_relation
from eyeline.hosts.app.grammar.parse import show_parse
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.plain import escaped
from eyeline.plots.figures import available
from eyeline.plots.probes.probes import epochs_text, label_of
from eyeline.plots.probes.training_notes import training_notes
from eyeline.results.grammar.relations import baseline_of, gain, relation_rows
from eyeline.results.left_out import left_out
from eyeline.results.run import Run
from eyeline.results.table import Cell
from eyeline.sample.treebank import NAME
from eyeline.text.coreference.mention import GROUPS

#: Kind of run → its figures, in the order of the page. That of single examples is drawn relation by relation.
FIGURES = {
    "syntax": ("syntax",),
    "coreference": ("coreference", "coreference_heads", "coreference_example"),
    "probe": ("probes", "probes_learning", "probe_weights", "probe_parses"),
}
PERCENT = "%.1f %%"
#: Pixels across of what a relation is, in words: none is cut.
MEANING = 260
#: Columns of table 1 that have an explanation.
EXPLAINED = ("accuracy", "held_out", "baseline", "offset", "baseline_any", "offset_any", "gain")


@st.fragment
def show_grammar(say: Say, parts: Mapping[str, Run], folder: Path) -> None:
    """The tables that a run holds, a tab each, and below them the card of one head."""
    mounted.bring_answer(grammar_card.CARD)
    chosen = grammar_card.chosen_head(parts, folder.name)
    above = st.container()
    with st.container(key=grammar_card.CARD):  # sent first: the reader who clicked waits for it, and figures take longer to draw
        grammar_card.show_card(say, parts, folder.name)
    with above:
        _kinds(say, parts, folder, chosen)


def _kinds(say: Say, parts: Mapping[str, Run], folder: Path, chosen: HeadRef | None) -> None:
    """The tables that a run holds, a tab each."""
    kinds = [kind for kind in FIGURES if kind in parts]
    tabs = st.tabs([say(f"grammar.analysis_{kind}") for kind in kinds], on_change="rerun", key=f"tabs-grammar-{folder.name}-{say.language}")
    for tab, kind in zip(tabs, kinds, strict=True):
        if not tab.open:  # only what is seen is drawn
            continue
        with tab:
            run = parts[kind]
            st.caption(say(f"grammar.about_{kind}"))
            _provenance(say, kind, run)
            TABLES[kind](say, run, folder)
            for figure in FIGURES[kind]:
                if figure in available(run):
                    figures.show(say, run, figure, folder, partial(grammar_card.open_card, folder.name), lit=chosen)


def _provenance(say: Say, kind: str, run: Run) -> None:
    """Model, corpus, how much of it, and what was left out and why: nothing is dropped in silence."""
    counts, names = run.facts.counts, [str(run.facts.model.name), str(run.facts.corpus.name)]
    names[1] = names[1].removeprefix("the other half of ")  # of the probes, which learn from one half
    model, corpus = (escaped(value) for value in names)
    n = {name: say.count(name, counts.get(name, 0)) for name in ("sentences", "words", "documents", "mentions")}
    if kind == "coreference":
        n["documents"] = say.count("documents", run.facts.corpus.documents or 0)
    st.caption(say(f"grammar.provenance_{kind}", model=model, corpus=corpus, **n))
    lines = [escaped(line) for line in [*left_out(run, say), *training_notes(run, say)]]
    if run.facts.corpus.synthetic or names[1].startswith(NAME):
        lines.append(say("grammar.synthetic"))
    if lines:
        st.caption(" ".join(lines))


def _syntax(say: Say, run: Run, folder: Path) -> None:
    """Table 1: the best head of each relation beside the best fixed offset, most ahead of it first; a row clicked opens the relation."""
    rows = relation_rows(run)
    meanings = say.part("grammar.relation")
    columns: dict[str, list[Any]] = {
        say("grammar.column_relation"): [str(row["relation"]) for row in rows],
        say("grammar.column_meaning"): [meanings.get(str(row["relation"]).replace(":", "_"), "") for row in rows],
        say("grammar.column_count"): [int(row["count"]) for row in rows],
        say("grammar.column_head"): [_head(row) for row in rows],
        say("grammar.column_accuracy"): [float(row["accuracy"]) for row in rows],
        say("grammar.column_held_out"): [float(row["accuracy_held_out"]) for row in rows],
        say("grammar.column_baseline"): [float(row["baseline"]) for row in rows],
        say("grammar.column_offset"): [_offset(row["offset"], row["baseline"]) for row in rows],
        say("grammar.column_baseline_any"): [baseline_of(row) for row in rows],
        say("grammar.column_offset_any"): [_offset(row.get("offset_any", row["offset"]), baseline_of(row)) for row in rows],
        say("grammar.column_gain"): [gain(row) for row in rows],
    }
    helped = {key: say(f"grammar.column_{key}_help") for key in EXPLAINED}
    event: Any = st.dataframe(
        columns, hide_index=True, on_select="rerun", selection_mode=["single-row", "single-cell"],
        key=f"table-{folder.name}-{say.language}",
        column_config={
            say("grammar.column_meaning"): st.column_config.TextColumn(width=MEANING),
            say("grammar.column_count"): st.column_config.NumberColumn(format="localized"),
            say("grammar.column_accuracy"): st.column_config.ProgressColumn(
                format=PERCENT, min_value=0, max_value=100, help=helped["accuracy"]
            ),
            say("grammar.column_held_out"): st.column_config.NumberColumn(format=PERCENT, help=helped["held_out"]),
            say("grammar.column_baseline"): st.column_config.NumberColumn(format=PERCENT, help=helped["baseline"]),
            say("grammar.column_offset"): st.column_config.TextColumn(help=helped["offset"]),
            say("grammar.column_baseline_any"): st.column_config.NumberColumn(format=PERCENT, help=helped["baseline_any"]),
            say("grammar.column_offset_any"): st.column_config.TextColumn(help=helped["offset_any"]),
            say("grammar.column_gain"): st.column_config.NumberColumn(format="%+.1f", help=helped["gain"]),
        },
    )  # fmt: skip
    if len(rows) < 2:
        st.info(say("grammar.no_relation"), icon=":material/info:")
    else:
        known = [str(row["relation"]) for row in rows if row["relation"] != "all"]
        grammar_relation.show_relation(say, run, folder, known, _picked(event, rows, folder.name))


def _picked(event: Any, rows: list[dict[str, Cell]], name: str) -> str | None:
    """The relation of the row that was clicked just now, in any of its cells."""
    selection = (event or {}).get("selection", {})
    indices = [*selection.get("rows", []), *(cell[0] for cell in selection.get("cells", []))]
    relation = str(rows[indices[0]]["relation"]) if indices and indices[0] < len(rows) else None
    before = st.session_state.get(f"row-{name}")
    st.session_state[f"row-{name}"] = relation  # None where nothing is chosen any more: then the same row can be clicked again
    if relation is None or before == relation:
        return None
    return None if relation == "all" else relation


def _coreference(say: Say, run: Run, folder: Path) -> None:
    """Table 2: rules beside the best head, by the type of mention."""
    rows = list(run.table("coreference").rows())
    shares = [float(row["all"]) for row in rows]
    others = [Column(say.name("mention", kind), [_percent(row[kind]) for row in rows]) for kind in GROUPS[1:]]
    with st.container(key="wide-table-coreference"):
        tables.show(
            Column(say("grammar.column_method"), [say.name("method", str(row["method"])) for row in rows], "word"),
            Column(say("grammar.column_head"), ["" if _unknown(row["layer"]) else _head(row) for row in rows], "token"),
            Column(say.name("mention", "all"), [_percent(share) for share in shares], parts=[share / 100 for share in shares]),
            *others,
        )


def _head(row: dict[str, Cell]) -> str:
    return str(HeadRef("", int(row["layer"]), int(row["head"])))


def _offset(offset: Cell, share: Cell) -> str:
    """A fixed offset with its sign; a dash where no offset is ever right.

    >>> _offset(-3, 16.0), _offset(2, 5.0), _offset(0, 0.0)
    ('−3', '+2', '–')
    """
    return f"{int(offset):+d}".replace("-", "−") if float(share) > 0 else "–"


def _percent(value: Cell) -> str:
    """
    >>> _percent(12.34), _percent(float("nan"))
    ('12.3 %', '–')
    """
    return "–" if _unknown(value) else f"{float(value):.1f} %"


def _probe(say: Say, run: Run, folder: Path) -> None:
    """Table 3: for how many words each probe finds the governor."""
    rows = list(run.table("probes").rows())
    shares = [float(row["uas"]) for row in rows]
    with st.container(key="wide-table-probes"):
        tables.show(
            Column(say("grammar.column_probe"), [label_of(say, str(row["probe"])) for row in rows], "word"),
            Column(say("grammar.column_found"), [_percent(share) for share in shares], parts=[share / 100 for share in shares]),
            Column(say("grammar.column_interval"), [f"{float(row['low']):.1f} – {_percent(row['high'])}" for row in rows]),
            Column(say("grammar.column_punctuation"), [_percent(row["uas_with_punctuation"]) for row in rows]),
            Column(say("grammar.column_words"), [f"{int(row['n']):,}" for row in rows]),
            Column(say("grammar.column_epochs"), [epochs_text(row) for row in rows]),
        )
    show_parse(say, run, folder.name)


def _unknown(value: Cell) -> bool:
    return value == "" or (isinstance(value, float) and math.isnan(value))


TABLES = {"syntax": _syntax, "coreference": _coreference, "probe": _probe}
