"""Corpora on disk: what a document is in each format, and bad input named by line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import eyeline as el
from eyeline.corpora import Document, read_corpus
from eyeline.errors import TextError
from eyeline.text.corpora.pairs import build_pairs, split_sentences
from tests.text.corpora.treebanks import treebank


def write(folder: Path, name: str, text: str | bytes) -> Path:
    data = text.encode() if isinstance(text, str) else text
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def items(path: Path, **options: str) -> list[object]:
    return [document.item for document in read_corpus(path, **options)]


WRAPPED = "one\ntwo\n\nthree\r\nfour\n  \n\nfive"


@pytest.mark.parametrize("ending", ["txt", "txt.gz"])
@pytest.mark.parametrize(
    ("paragraphs", "expected"),
    [
        ("blank", ["one two", "three four", "five"]),
        ("line", ["one", "two", "three", "four", "five"]),
        ("auto", ["one two", "three four", "five"]),
    ],
)
def test_paragraphs(tmp_path: Path, ending: str, paragraphs: str, expected: list[str]) -> None:
    assert items(write(tmp_path, f"x.{ending}", WRAPPED), paragraphs=paragraphs) == expected


def test_lines_without_blank_ones_between_are_documents(tmp_path: Path) -> None:
    assert items(write(tmp_path, "x.txt", "one\ntwo\n")) == ["one", "two"]


def test_long_lines_are_paragraphs_of_their_own_even_in_a_row(tmp_path: Path) -> None:
    assert len(items(write(tmp_path, "x.txt", f"{'a ' * 150}\n{'b ' * 150}\n\nc"))) == 3


def test_documents_know_their_line(tmp_path: Path) -> None:
    assert [document.line for document in read_corpus(write(tmp_path, "x.txt", WRAPPED))] == [1, 4, 8]


def test_json_lines(tmp_path: Path) -> None:
    lines = ["a", {"text": "b", "id": 1}, {"text": "c", "pair": "d"}, {"tokens": ["e", "f"]}, {"words": ["g"]}, "  "]
    path = write(tmp_path, "x.jsonl.gz", "\n".join(map(json.dumps, lines)) + "\n\n")
    assert items(path) == ["a", "b", ("c", "d"), ["e", "f"], ["g"]]


CONLLU = """# newdoc id = a
# text = Don't go.
1-2	Don't	_	_	_	_	_	_	_	_
1	Do	do	AUX	_	_	3	aux	_	_
2	n't	not	PART	_	_	3	advmod	_	_
3	go	go	VERB	_	_	0	root	_	_
4	.	.	PUNCT	_	_	3	punct	_	_

1	Yes	yes	INTJ	_	_	0	root	_	_
"""


def test_conllu_sentences_are_lists_of_words(tmp_path: Path) -> None:
    documents = list(read_corpus(write(tmp_path, "x.conllu", CONLLU)))
    assert [document.item for document in documents] == [["Do", "n't", "go", "."], ["Yes"]]
    assert documents[0].sentences == ("Don't go.",)
    assert documents[0].group == documents[1].group != ""


def test_a_real_treebank_reads_as_our_own_reader_reads_it() -> None:
    expected = treebank("en_ewt-dev.conllu.gz")  # skips where the data is not at hand
    import os

    folder = Path(os.environ.get("EYELINE_DATA", Path(__file__).parents[4] / "shared" / "data"))
    assert items(folder / "en_ewt-dev.conllu.gz") == [words for _, words in expected]


@pytest.mark.parametrize("text", ["", "\n \n\t\n"], ids=["nothing", "white space"])
@pytest.mark.parametrize("name", ["x.txt", "x.jsonl", "x.conllu", "x.txt.gz"])
def test_an_empty_corpus_is_refused(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(TextError, match="an empty corpus"):
        read_corpus(write(tmp_path, name, text))


@pytest.mark.parametrize("name", ["x.txt", "x.jsonl", "x.conllu"])
def test_bytes_that_are_not_utf8_are_named_by_line(tmp_path: Path, name: str) -> None:
    start = {"x.txt": b"good\n", "x.jsonl": b'"good"\n', "x.conllu": b"# text = good\n"}[name]
    with pytest.raises(TextError, match=r"line 2: not UTF-8 \(byte 4 of the line is 0xe9\)"):
        read_corpus(write(tmp_path, name, start + b"caf\xe9\n"))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.jsonl", b'"a"\n{"text": \n', "line 2: not JSON"),
        ("x.jsonl", b'{"body": "a"}\n', "line 1: no text"),
        ("x.jsonl", b"[" * 100_000 + b"\n", "line 1: not JSON"),
        ("x.conllu", b"1\tone\n", "line 1: not CoNLL-U"),
        ("x.sqlite", b"", "what kind"),
        ("x.parquet", b"", "cannot be read"),
    ],
    ids=["broken", "no text", "deep", "columns", "kind", "empty parquet"],
)
def test_what_is_not_what_it_says_is_named(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    with pytest.raises(TextError, match=message):
        read_corpus(write(tmp_path, name, data))


def test_a_damaged_gzip_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.txt.gz"
    path.write_bytes(gzip.compress(b"text " * 1000)[:40])
    with pytest.raises(TextError, match="cannot be read"):
        read_corpus(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TextError, match="no such file"):
        read_corpus(tmp_path / "x.txt")


def test_the_hash_follows_the_bytes(tmp_path: Path) -> None:
    first, second = (read_corpus(write(tmp_path, "x.txt", text)).sha256 for text in ("a", "b"))
    assert first != second


def test_a_line_of_ten_megabytes_is_skipped_and_counted(tmp_path: Path, minilm: el.Model) -> None:
    path = write(tmp_path, "x.txt", "A cat sat here.\n" + "word " * 2_000_000 + "\nA dog ran home.\n")
    run = el.analyse(minilm, read_corpus(path), [el.statistics.Entropy()])
    assert (run.facts.counts["texts"], run.facts.counts["too_long"]) == (2, 1)


def test_sentences_end_at_their_marks() -> None:
    assert split_sentences("One. Two! Three? Four") == ["One.", "Two!", "Three?", "Four"]
    assert split_sentences("猫がいる。犬もいる。") == ["猫がいる。", "犬もいる。"]
    assert split_sentences("") == []


class TestPairs:
    TEXT = " ".join(f"Sentence number {i} says something about cats, dogs and houses." for i in range(60))

    def pairs(self, minilm: el.Model, documents: list[Document], **options: int) -> list[tuple[str, str]]:
        return [d.item for d in build_pairs(documents, minilm.tokenizer, **{"max_tokens": 128, "seed": 0, **options})]  # type: ignore[misc]

    def test_segments_fit_and_are_nearly_full(self, minilm: el.Model) -> None:
        result = self.pairs(minilm, [Document(self.TEXT, 1)])
        lengths = [len(minilm.tokenizer(*pair).input_ids) for pair in result]
        assert len(result) > 4
        assert max(lengths) <= 128
        assert min(lengths[:-1]) >= 120  # all but the document's rest

    def test_a_and_b_follow_on_each_other(self, minilm: el.Model) -> None:
        for first, second in self.pairs(minilm, [Document(self.TEXT, 1)], max_tokens=512):
            assert self.TEXT.index(first) + len(first) <= self.TEXT.index(second)  # tokens may be gone from either side's ends

    def test_the_seed_decides(self, minilm: el.Model) -> None:
        documents = [Document(self.TEXT, 1), Document(self.TEXT.replace("cats", "birds"), 2)]
        assert self.pairs(minilm, documents) == self.pairs(minilm, documents)
        assert self.pairs(minilm, documents) != self.pairs(minilm, documents, seed=1)

    def test_one_sentence_is_no_pair(self, minilm: el.Model) -> None:
        assert self.pairs(minilm, [Document("Only one sentence here.", 1)]) == []

    def test_sentences_of_one_article_make_pairs(self, minilm: el.Model) -> None:
        grouped = [Document(["A", "cat", "."], 1, ("A cat.",), "a"), Document(["A", "dog", "."], 2, ("A dog.",), "a")]
        assert self.pairs(minilm, grouped) == [("A cat.", "A dog.")]
        apart = [Document(d.item, d.line, d.sentences, str(d.line)) for d in grouped]
        assert self.pairs(minilm, apart) == []

    def test_tokens_go_from_both_ends(self, minilm: el.Model) -> None:
        long = [Document(" ".join(f"w{10 + i * 7 % 89}" for i in range(300)) + ". The end is short.", 1)]
        (first, second), *_ = self.pairs(minilm, long)
        assert not long[0].item.startswith(first)  # type: ignore[union-attr]
        assert second == "The end is short."
