"""Treebanks: what CoNLL-U can hold beside plain trees, and what is no treebank at all."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import eyeline as el
from eyeline.errors import TextError
from eyeline.text.corpora.treebank import ROOT, parse_treebank, tree_fault


def line(number: object, form: str, head: object, relation: str, misc: str = "_", deps: str = "_") -> str:
    return "\t".join(map(str, (number, form, "_", "X", "_", "_", head, relation, deps, misc)))


def block(name: str, *lines: str) -> str:
    return "\n".join([f"# sent_id = {name}", *lines]) + "\n\n"


GOOD = block("good", line(1, "Cats", 2, "nsubj"), line(2, "purr", 0, "root", "SpaceAfter=No"), line(3, ".", 2, "punct"))
TWO_ROOTS = block("two", line(1, "Cats", 0, "root"), line(2, "purr", 0, "root"))
CYCLE = block("cycle", line(1, "a", 2, "x"), line(2, "b", 1, "x"), line(3, "c", 0, "root"))
NO_ROOT = block("none", line(1, "a", 2, "x"), line(2, "b", 1, "x"))
OUTSIDE = block("outside", line(1, "a", 7, "x"), line(2, "b", 0, "root"))
NO_HEAD = block("headless", line(1, "a", "_", "_"), line(2, "b", 0, "root"))
NO_RELATION = block("bare", line(1, "a", 2, "_"), line(2, "b", 0, "root"))


def test_a_sentence_is_words_with_governors_from_zero() -> None:
    sentence = parse_treebank(GOOD)[0]
    assert (sentence.id, sentence.words, sentence.governors) == ("good", ("Cats", "purr", "."), (1, ROOT, 1))
    assert (sentence.deprels, sentence.spaces) == (("nsubj", "root", "punct"), (True, False, True))


@pytest.mark.parametrize(
    ("bad", "name", "why"),
    [
        (TWO_ROOTS, "two", "two roots, words 1 and 2"),
        (CYCLE, "cycle", "a cycle through word"),
        (NO_ROOT, "none", "no root"),
        (OUTSIDE, "outside", "word 1 has governor 7, and there are 2 words"),
        (NO_HEAD, "headless", "has no governor"),
        (NO_RELATION, "bare", "has no governor or no relation"),
    ],
)
def test_what_is_no_tree_is_skipped_by_name_and_strict_stops(bad: str, name: str, why: str) -> None:
    bank = parse_treebank(bad + GOOD)
    assert [sentence.id for sentence in bank] == ["good"]
    assert list(bank.skipped) == [name]
    assert why in bank.skipped[name]
    with pytest.raises(TextError, match=f"sentence {name}, line 1, is no tree"):
        parse_treebank(bad + GOOD, strict=True)
    with pytest.raises(TextError, match="All 1 sentences were skipped"):
        parse_treebank(bad)


def test_multi_word_tokens_give_their_parts_and_empty_nodes_and_enhanced_dependencies_nothing() -> None:
    text = block(
        "x",
        "# text = I don't im",
        line(1, "I", 3, "nsubj", deps="3:nsubj|3.1:nsubj"),
        line("2-3", "don't", "_", "_"),
        line(2, "do", 3, "aux"),
        line(3, "n't", 0, "root"),
        line("3.1", "go", "_", "_", deps="0:root"),
        line("4-5", "im", "_", "_", "SpaceAfter=No"),
        line(4, "in", 5, "case"),
        line(5, "dem", 3, "obl"),
    )
    sentence = parse_treebank(text, strict=True)[0]
    assert sentence.words == ("I", "do", "n't", "in", "dem")
    assert sentence.governors == (2, 2, ROOT, 4, 2)
    assert sentence.spaces == (True, False, True, True, False)


def test_without_marks_the_text_says_where_spaces_are() -> None:
    text = block(
        "x",
        "# text = 猫が鳴く。",
        line(1, "猫", 3, "nsubj"),
        line(2, "が", 1, "case"),
        line(3, "鳴く", 0, "root"),
        line(4, "。", 3, "punct"),
    )
    assert parse_treebank(text)[0].spaces == (False, False, False, True)
    unsaid = block("y", line(1, "Cats", 2, "nsubj"), line(2, "purr", 0, "root"))
    assert parse_treebank(unsaid)[0].spaces is None


def test_documents_are_named_and_sentences_without_a_name_have_their_line() -> None:
    text = "# newdoc id = first\n" + GOOD + "# newdoc\n" + GOOD.replace("# sent_id = good\n", "")
    assert [(item.id, item.document) for item in parse_treebank(text)] == [("good", "first"), ("line 7", "line 7")]


def test_a_gzipped_file_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text(GOOD)
    (tmp_path / "b.conllu.gz").write_bytes(gzip.compress(GOOD.encode()))
    plain, zipped = el.treebanks.read_treebank(tmp_path / "a.conllu"), el.treebanks.read_treebank(tmp_path / "b.conllu.gz")
    assert plain.sentences == zipped.sentences
    assert (plain.name, len(plain.sha256)) == ("a.conllu", 64)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"The cat sat on the mat.\n", "not CoNLL-U"),
        (b'{"tokens": ["a"]}\n', "not CoNLL-U"),
        (b"", "empty treebank"),
        (b"# only = comments\n\n", "empty treebank"),
        (b"\xff\xfe", "not UTF-8"),
        (b"one\tdoc\t0\tThe\tDT\t*\t-\t-\t-\t(1)\n", "not CoNLL-U"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "x.conllu"
    path.write_bytes(content)
    with pytest.raises(TextError, match=why):
        el.treebanks.read_treebank(path)


def test_a_missing_or_damaged_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TextError, match="no such file"):
        el.treebanks.read_treebank(tmp_path / "none.conllu")
    (tmp_path / "x.conllu.gz").write_bytes(gzip.compress(GOOD.encode() * 50)[:-20])
    with pytest.raises(TextError, match="cannot be read"):
        el.treebanks.read_treebank(tmp_path / "x.conllu.gz")


@given(st.lists(st.integers(-1, 8), min_size=1, max_size=8))
def test_governors_are_a_tree_only_where_every_word_leads_to_the_one_root(heads: list[int]) -> None:
    def leads_to_root(index: int) -> bool:
        for _ in range(len(heads) + 1):
            if not ROOT <= index < len(heads):
                return False
            if index == ROOT:
                return True
            index = heads[index]
        return False

    is_tree = heads.count(ROOT) == 1 and all(leads_to_root(index) for index in range(len(heads)))
    assert (tree_fault(heads) is None) == is_tree


def test_two_spaces_and_odd_characters_within_a_word_do_not_move_the_columns(tmp_path: Path) -> None:
    """The conllu library takes two spaces for a tab, and Python takes U+2028 for the end of a line."""
    text = block("odd", line(1, "10  000", 2, "nummod"), line(2, "a\u2028b\x85", 3, "nsubj"), line(3, "\u00a0x", 0, "root", "Gloss=a  b"))
    (tmp_path / "x.conllu").write_text(text, encoding="utf-8", newline="\n")
    for bank in (parse_treebank(text), el.treebanks.read_treebank(tmp_path / "x.conllu"), parse_treebank(text.replace("\n", "\r\n"))):
        assert (bank[0].words, bank[0].governors) == (("10 000", "a\u2028b\x85", "\u00a0x"), (1, 2, ROOT))
        assert bank[0].misc[2]["Gloss"] == "a b"


def test_two_sentences_of_one_name_that_are_no_trees_are_two() -> None:
    assert list(parse_treebank(TWO_ROOTS + GOOD + TWO_ROOTS).skipped) == ["two", "two, line 10"]


def test_halves_tell_together_what_the_whole_does() -> None:
    whole = parse_treebank(TWO_ROOTS + "".join(GOOD.replace("good", f"good {i}") for i in range(5)))
    halves = whole.halves(seed=3)
    assert sorted(map(len, halves)) == [2, 3]
    assert {sentence.id for half in halves for sentence in half} == {sentence.id for sentence in whole}
    assert {**halves[0].skipped, **halves[1].skipped} == whole.skipped
