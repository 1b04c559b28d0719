"""The rules counted once more, from the records of a file; and what depends on which of two nested mentions comes first."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from benchmarks.output import DATA
from hypothesis import given, settings

import eyeline as el
from eyeline.measure.coreference.antecedents import RULES, questions
from eyeline.measure.coreference.windows import Windows
from eyeline.mentions import MarkedDocument, Mention, read_coreference
from tests.reference import coreference as slow
from tests.text.corpora.marked import documents

ONTOGUM = DATA / "ontogum-dev.jsonl.gz"

RESULTS = Path(__file__).parents[3] / "docs" / "results.md"


def records_of(document: MarkedDocument) -> list[dict[str, object]]:
    """The mentions as JSON lines have them."""
    names = ("start", "end", "cluster", "type", "number", "gender", "person")
    return [{"head": mention.main_word, **{name: getattr(mention, name) for name in names}} for mention in document.mentions]


@settings(max_examples=40, deadline=None)
@given(document=documents())
def test_the_second_count_gives_the_same_answers(document: MarkedDocument) -> None:
    result = [{name: rule(each, document.words) in each.right for name, rule in RULES.items()} for each in questions(document.mentions)]
    assert result == slow.second_count(list(document.words), records_of(document), slow.by_main_word)


def test_a_mention_that_holds_the_asked_one_is_a_candidate_only_where_its_main_word_has_been_read() -> None:
    words = ("John", "saw", "his", "mother")
    john, his, mother = Mention(0, 0, 0, 1, "proper"), Mention(2, 2, 2, 1, "pronoun"), Mention(2, 3, 3, 2, "nominal")
    document = MarkedDocument("nested", (words,), (john, his, mother))
    (question,) = questions(document.mentions)
    assert question.mention == his
    assert question.candidates == (0,)
    assert RULES["nearest"](question, words) == 0
    # In the order of their beginnings, his mother would come before his, and be its nearest mention.
    (other,) = slow.second_count(list(words), records_of(document), slow.by_beginning)
    assert not other["nearest"]


@pytest.mark.slow
@pytest.mark.skipif(not ONTOGUM.is_file(), reason=f"{ONTOGUM} is not there: it is not part of this repository")
def test_the_published_rows_of_the_rules_are_those_of_the_second_count() -> None:
    with gzip.open(ONTOGUM, "rt", encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    counts: dict[str, list[dict[str, bool]]] = {}
    cutter = Windows(el.load("e5-small").tokenizer, 128)
    for document, read in zip(documents, read_coreference(ONTOGUM), strict=True):
        for window in cutter.of(read):
            inside = set(window.words)
            records = [record for record in document["mentions"] if inside.issuperset(range(record["start"], record["end"] + 1))]
            for order in (slow.by_main_word, slow.by_beginning):
                counts.setdefault(order.__name__, []).extend(slow.second_count(document["tokens"], records, order))
    shares = {
        order: {name: f"{100 * sum(answer[name] for answer in answers) / len(answers):.1f}" for name in RULES}
        for order, answers in counts.items()
    }
    published = re.findall(r"^\| OntoGUM dev \| (nearest|head match|rule-based) \| ([\d.]+) \|.*\| ([\d,]+) \|$", RESULTS.read_text(), re.M)
    assert {name: share for name, share, _ in published} == shares["by_main_word"]
    assert {n for *_, n in published} == {f"{len(answers):,}" for answers in counts.values()}
    assert shares["by_beginning"] == {"nearest": "36.8", "head match": "53.0", "rule-based": "77.2"}  # as docs/how-to/coreference.md says
