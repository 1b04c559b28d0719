"""Which relation of a run is shown first, and what is said of one head."""

from __future__ import annotations

from typing import Any

import eyeline as el
from eyeline.measure.grammar.options import SyntaxFacts, SyntaxOptions
from eyeline.measure.grammar.result import opening_relation, relation_rows
from eyeline.measure.heads.profile import notable_heads, profile_of
from eyeline.measure.runs.facts import CorpusFacts, ModelFacts
from eyeline.runs import Table
from eyeline.words import Words

FACTS = SyntaxFacts(model=ModelFacts("tiny"), corpus=CorpusFacts("sentences"), options=SyntaxOptions())


def run_of(*rows: tuple[str, int, float, float, float]) -> el.Run:
    """rows: relation, count, accuracy, the paper's baseline, the baseline with any offset."""
    names = ("relation", "count", "accuracy", "baseline", "baseline_any")
    columns: dict[str, list[Any]] = {name: [row[index] for row in rows] for index, name in enumerate(names)}
    heads = {"layer": [2] * len(rows), "head": [index for index, _ in enumerate(rows)]}
    return el.Run(FACTS, {"syntax": Table(columns | heads), "syntax_heads": Table({name: columns[name] for name in names[:3]} | heads)})


def test_the_page_opens_on_a_frequent_relation_and_not_on_a_rare_one_that_no_short_offset_reaches():
    run = run_of(("all", 900, 40, 30, 30), ("conj", 36, 60, 0, 20), ("det", 300, 90, 50, 50), ("amod", 200, 70, 60, 60))
    assert opening_relation(run)["relation"] == "det"


def test_relations_stand_in_the_order_of_their_distance_to_the_best_offset_of_any_length():
    run = run_of(("all", 900, 40, 30, 30), ("conj", 300, 60, 0, 55), ("det", 300, 90, 50, 50))
    assert [row["relation"] for row in relation_rows(run)] == ["all", "det", "conj"]


def test_a_run_without_relations_has_none_to_open_on():
    assert opening_relation(run_of(("all", 900, 40, 30, 30))) is None


def test_the_relations_of_a_head_are_those_in_which_it_is_ahead():
    run = run_of(("all", 900, 40, 30, 30), ("det", 300, 90, 50, 55))
    (relation,) = profile_of(run, el.HeadRef("", 2, 1)).relations
    assert (relation.relation, relation.accuracy, relation.baseline) == ("det", 90, 55)


def test_a_head_is_worth_a_look_beside_the_offset_of_any_length_not_the_short_ones_that_miss_a_long_relation():
    run = run_of(("all", 900, 40, 30, 30), ("conj", 300, 60, 0, 55), ("advcl", 300, 60, 0, 20))
    (notable,) = notable_heads(run)
    assert (str(notable.head), notable.why(Words("en"))) == ("L2·H2", "finds advcl (other dependencies): 60.0 %, a fixed offset 20.0 %")
