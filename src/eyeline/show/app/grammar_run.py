"""A run of grammar and reference on the page: tables 1, 2 and 3 with their figures; a relation or a head clicked opens."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from eyeline.errors import EyelineError
from eyeline.figures import available
from eyeline.heads import GOVERNOR_TO_DEPENDENT, MENTION_TO_ANTECEDENT, HeadRef
from eyeline.look.trace import Trace
from eyeline.look.views.head import head_view
from eyeline.measure.grammar.figures import draw_relation, least_width
from eyeline.measure.grammar.result import baseline_of, gain, heads_of_tables, opening_relation, relation_rows
from eyeline.measure.heads.profile import heads_of, profile_of
from eyeline.measure.probes.figures import draw_parse, epochs_text, label_of, training_notes
from eyeline.measure.probes.result import ROOT, Parse
from eyeline.measure.runs.run import Run, left_out
from eyeline.measure.runs.table import Cell
from eyeline.show.app.kit import figures, mounted
from eyeline.show.app.kit.figures import CONFIG, Column, style_of
from eyeline.show.app.kit.models import choices, compute_slot, model_key, model_named, trace_bytes
from eyeline.show.app.kit.page import escaped, fragment, refuse
from eyeline.show.app.kit.settings import current
from eyeline.show.app.kit.sharing import Cache
from eyeline.text.corpora.mentions import GROUPS
from eyeline.text.corpora.sample_treebank import NAME
from eyeline.words import Words

#: Kind of run → its figures, in the order of the page. That of single examples is drawn relation by relation.
FIGURES = {
    "syntax": ("syntax",),
    "coreference": ("coreference", "coreference_heads", "coreference_example"),
    "probe": ("probes", "probes_learning", "probe_weights", "probe_parses"),
}


# ---- The tables


PERCENT = "%.1f %%"

#: Pixels across of what a relation is, in words: none is cut.
MEANING = 260

#: Columns of table 1 that have an explanation.
EXPLAINED = ("accuracy", "held_out", "baseline", "offset", "baseline_any", "offset_any", "gain")


@fragment
def show_grammar(say: Words, parts: Mapping[str, Run], folder: Path) -> None:
    """The tables that a run holds, a tab each, and below them the card of one head."""
    mounted.scroll_to_answer(CARD)
    chosen = chosen_head(parts, folder.name)
    above = st.container()
    with st.container(key=CARD):  # sent first: the reader who clicked waits for it, and figures take longer to draw
        show_card(say, parts, folder.name)
    with above:
        _kinds(say, parts, folder, chosen)


def _kinds(say: Words, parts: Mapping[str, Run], folder: Path, chosen: HeadRef | None) -> None:
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
                    figures.show(say, run, figure, folder, partial(open_card, folder.name), lit=chosen)


def _provenance(say: Words, kind: str, run: Run) -> None:
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


def _syntax(say: Words, run: Run, folder: Path) -> None:
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
        say("grammar.column_offset_any"): [_offset(row["offset_any"], baseline_of(row)) for row in rows],
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
        show_relation(say, run, folder, known, _picked(event, rows, folder.name))


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


def _coreference(say: Words, run: Run, folder: Path) -> None:
    """Table 2: rules beside the best head, by the type of mention."""
    rows = list(run.table("coreference").rows())
    shares = [float(row["all"]) for row in rows]
    others = [Column(say.name("mention", kind), [_percent(row[kind]) for row in rows]) for kind in GROUPS[1:]]
    with st.container(key="wide-table-coreference"):
        figures.show_table(
            Column(say("grammar.column_method"), [say.name("method", str(row["method"])) for row in rows], "word"),
            Column(say("grammar.column_head"), ["" if _unknown(row["layer"]) else _head(row) for row in rows], "token"),
            Column(say.name("mention", "all"), [_percent(share) for share in shares], parts=[share / 100 for share in shares]),
            *others,
        )


def _head(row: dict[str, Cell]) -> str:
    return str(HeadRef.of_row(row))


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


def _probe(say: Words, run: Run, folder: Path) -> None:
    """Table 3: for how many words each probe finds the governor."""
    rows = list(run.table("probes").rows())
    shares = [float(row["uas"]) for row in rows]
    with st.container(key="wide-table-probes"):
        figures.show_table(
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


# ---- One relation: its best head on examples, the gold arcs in red


#: The key of the container that answers a click on a row.
RELATION = "grammar-relation"


def show_relation(say: Words, run: Run, folder: Path, known: list[str], picked: str | None) -> None:
    """The best head of a relation on the sentences where it is most sure, the gold arcs in red, and one of them in the head view.

    picked   the relation whose row was clicked just now: what it shows comes into view
    """
    name, key = folder.name, f"relation-{folder.name}"
    if picked is not None or st.session_state.get(key) not in known:
        st.session_state[key] = picked or _opening(run, known)
    if picked is not None:
        mounted.note_click(RELATION)
    mounted.scroll_to_answer(RELATION)
    with st.container(key=RELATION):
        row = _choice(say, run, name, known)
        rows = _drawn(say, run, folder, str(row["relation"]))
    if not rows:
        return
    index = st.selectbox(
        say("grammar.sentence"), range(len(rows)), format_func=lambda i: " ".join(json.loads(str(rows[i]["words"]))), key=f"sentence-{name}"
    )
    show_sentence(say, run, json.loads(str(rows[index or 0]["words"])), HeadRef.of_row(row), str(row["direction"]), f"relation-view-{name}")


def _choice(say: Words, run: Run, name: str, known: list[str]) -> dict[str, Cell]:
    """The relation that is chosen, as a row of the table: a menu of all, and its best head, one click from its card."""
    st.subheader(say("grammar.examples"), anchor=False)
    st.caption(say("grammar.examples_about"))
    meanings = say.part("grammar.relation")

    def relation_label(relation: str) -> str:
        meaning = meanings.get(relation.replace(":", "_"), "")
        return f"{relation} · {meaning}" if meaning else relation

    chosen = st.selectbox(say("grammar.column_relation"), known, format_func=relation_label, key=f"relation-{name}", width=420)
    row = next(row for row in run.table("syntax").rows() if row["relation"] == chosen)
    head = HeadRef.of_row(row)
    st.button(
        say("grammar.best_head", head=str(head), accuracy=f"{float(row['accuracy']):.1f}", baseline=f"{baseline_of(row):.1f}",
            direction=say.name("direction", str(row["direction"]))),
        key=f"best-{name}", on_click=open_card, args=(name, head), type="tertiary", icon=":material/open_in_new:",
    )  # fmt: skip
    return row


def _drawn(say: Words, run: Run, folder: Path, relation: str) -> list[dict[str, Cell]]:
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


def _opening(run: Run, known: list[str]) -> str:
    """The relation to open on."""
    row = opening_relation(run)
    return known[0] if row is None else str(row["relation"])


# ---- The card of one head: every result for it


#: Relations on the card of a head.
RELATIONS_ON_CARD = 6

#: A sentence for the heads of a run that keeps no example, such as one of probes alone.
OWN_EXAMPLE = ("The", "cat", "sat", "on", "the", "mat", ".")

#: The tables that name heads.
HEAD_TABLES = ("syntax_heads", "coreference_heads", "probe_weights")

#: The container of the card.
CARD = "grammar-card"


def open_card(name: str, head: HeadRef) -> None:
    """Open the card of a head, and bring it into view."""
    st.session_state[f"grammar-head-{name}"] = head
    mounted.note_click(CARD)


def chosen_head(parts: Mapping[str, Run], name: str) -> HeadRef | None:
    """The head whose card is open: the one chosen last, else the best head of the relation that the page opens on."""
    every = heads_of_tables(list(parts.values()), HEAD_TABLES)
    if every and st.session_state.get(f"grammar-head-{name}") not in every:
        st.session_state[f"grammar-head-{name}"] = _first(parts, every)
    return st.session_state[f"grammar-head-{name}"] if every else None


def show_card(say: Words, parts: Mapping[str, Run], name: str) -> None:
    """One head: the relations it finds, its antecedents, what the probes make of it, and itself on a sentence."""
    every = heads_of_tables(list(parts.values()), HEAD_TABLES)
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
    return every[0] if row is None else HeadRef.of_row(row)


def _facts(say: Words, parts: Mapping[str, Run], head: HeadRef) -> list[str]:
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


def _relations(say: Words, parts: Mapping[str, Run], head: HeadRef) -> None:
    """The relations in which this head is furthest ahead of the best fixed offset."""
    run = parts.get("syntax")
    relations = profile_of(run, head).relations[:RELATIONS_ON_CARD] if run is not None and head in heads_of(run) else ()
    if not relations:
        return
    st.caption(say("grammar.card_relations"))
    accuracies = [relation.accuracy for relation in relations]
    figures.show_table(
        Column(say("grammar.column_relation"), [relation.relation for relation in relations], "word"),
        Column(
            say("grammar.column_accuracy_short"), [f"{value:.1f} %" for value in accuracies], parts=[value / 100 for value in accuracies]
        ),
        Column(say("grammar.column_baseline_any"), [f"{relation.baseline:.1f} %" for relation in relations]),
    )


def _example(say: Words, parts: Mapping[str, Run], head: HeadRef, name: str) -> None:
    """The head on a sentence of the treebank with many relations in it, or on the run's own example; else on a sentence of ours."""
    run = next((parts[kind] for kind in ("syntax", "coreference", "probe") if kind in parts and parts[kind].example is not None), None)
    if run is None or run.example is None:
        show_sentence(say, next(iter(parts.values())), list(OWN_EXAMPLE), head, "", f"grammar-card-{name}")
        return
    source = next(iter(run.example.stacks.values()))
    if head.layer in source.layers:
        mount_sentence(say, run.example, head, "", f"grammar-card-{name}")
        return
    words = list(source.query_text.word_texts)
    show_sentence(say, run, words, head, "", f"grammar-card-{name}")


# ---- A sentence of the visitor's own, parsed by the trained probe


SENTENCE = "The cat sat on the mat."

#: The longest sentence in characters; heads shown for a pair of words.
LONGEST, HEADS = 400, 8


def show_parse(say: Words, run: Run, name: str) -> None:
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
        from eyeline.measure.probes.parse import open_probe

        with compute_slot():
            parse = open_probe(run, model=model_named(model)).parse(text)
    except EyelineError as error:
        refuse(say, "look.failed", error)
        return
    with st.container(key="wide-parse"):
        st.plotly_chart(draw_parse(parse, style_of(say)), theme=None, key=f"parse-arcs-{name}", config=CONFIG)
    _pair(say, parse, name)


def _pair(say: Words, parse: Parse, name: str) -> None:
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
    figures.show_table(
        Column(say("figure.label.head"), [str(head.head) for head in weights], "token"),
        Column(say("grammar.parse_direction"), [say.name("direction", head.direction) for head in weights], "word"),
        Column(say("grammar.parse_attention"), [f"{head.attention:.3f}" for head in weights]),
        Column(say("grammar.parse_weight"), [f"{head.weight:+.3f}" for head in weights]),
        Column(say("grammar.parse_contribution"), [f"{head.contribution:+.3f}" for head in weights]),
    )


# ---- A sentence that is given as words, in the head view


_SENTENCES = Cache(32_000_000)


def show_sentence(say: Words, run: Run, words: list[str], head: HeadRef, direction: str, key: str) -> None:
    """A list of words in the head view, where the run's model is offered here."""
    name = str(run.facts.model.name)
    if name not in choices(current()):
        st.caption(say("corpus.no_example"))
        return
    try:
        kept_by, model = model_key(name), model_named(name)

        def record() -> Trace:
            with compute_slot():
                return model.trace(words=words, keep={"weights"})

        trace = _SENTENCES.get((kept_by, tuple(words)), record, trace_bytes)
        mount_sentence(say, trace, head, direction, key)
    except EyelineError as error:
        refuse(say, "look.failed", error)


def mount_sentence(say: Words, trace: Trace, head: HeadRef, direction: str, key: str) -> None:
    view = head_view(
        trace, stack=next(iter(trace.stacks)), layer=head.layer, heads=[head.head], level="word", hide_special=True,
        direction="to" if direction == GOVERNOR_TO_DEPENDENT else "from", language=say.language,
    )  # fmt: skip
    mounted.show(mounted.packed(view, say.part("view")), key=key)
