"""Every reader of text files: a damaged file gives our error, or an object that reading it again gives too."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eyeline as el
from eyeline.corpora import read_corpus
from eyeline.errors import EyelineError, TextError
from eyeline.text.corpora import files
from eyeline.text.corpora.sample_treebank import sample_conllu
from tests.text.corpora.test_coreference import CONLL2012, GUM

WORD = "1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n"
CONLLU = sample_conllu(3)
JSON = json.dumps({"tokens": ["Mary", "left"], "sent_lens": [2], "mentions": [{"start": 0, "end": 0, "cluster": 1}]}) + "\n"
PLAIN = "The cat sat.\nIt ran.\n\nThen it slept.\n"
READERS: dict[str, tuple[str, Callable[[Path], Any], bytes]] = {
    "text": (".txt", lambda path: list(read_corpus(path)), PLAIN.encode()),
    "text.gz": (".txt.gz", lambda path: list(read_corpus(path)), gzip.compress(PLAIN.encode())),
    "jsonl": (".jsonl", lambda path: list(read_corpus(path)), b'"a text"\n{"text": "a", "pair": "b"}\n{"tokens": ["a", "b"]}\n'),
    "conllu": (".conllu", lambda path: list(read_corpus(path)), CONLLU.encode()),
    "treebank": (".conllu", el.treebanks.read_treebank, CONLLU.encode()),
    "coreference conllu": (".conllu", el.mentions.read_coreference, GUM.encode()),
    "coreference conll2012": (".conll", el.mentions.read_coreference, CONLL2012.encode()),
    "coreference jsonl": (".jsonl", el.mentions.read_coreference, JSON.encode()),
}
NASTY = [
    b"9" * 5000,
    b"# global.columns = ID FORM\n", b"1-100000000\t_\t_\t_\t_\t_\t_\t_\t_\t_\n", b"x" * 140_000, b"[" * 3000, b"\x00", b"\xff\xfe",
    b"\xed\xa0\x80", b"\t", b"\n", b"\r", b"{name.__class__}", b"(", b")", b"1.1", b"-1", b"NaN", b"null", b"\xe2\x80\xa8", b"# newdoc",
    b"#begin document", b"Entity=(1", b"\x1b[31m",
]  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    data = whole
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 12)))
        data = data[:start] + draw(st.sampled_from([b"", *NASTY]) | st.binary(max_size=4)) + data[end:]
    return data


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_gives_our_error_or_the_same_object_twice(name, tmp_path):
    ending, read, whole = READERS[name]
    path = tmp_path / f"file{ending}"

    @settings(max_examples=200, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(data=damaged(whole))
    def check(data: bytes) -> None:
        path.write_bytes(data)
        try:
            first = read(path)
        except EyelineError:
            return
        assert read(path) == first

    check()


HUGE = "9" * 5000


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (".jsonl", f'{{"text": {HUGE}}}\n'),
        (".jsonl", "[" * 100_000 + "\n"),
        (".conllu", f"{HUGE}\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n"),
        (".conllu", f"1\ta\t_\tX\t_\t_\t{HUGE}\troot\t_\t_\n\n"),
    ],
    ids=["integer", "deep", "id", "head"],
)
def test_numbers_of_thousands_of_digits_and_endless_lists_give_our_error(ending, text, tmp_path):
    path = tmp_path / f"x{ending}"
    path.write_text(text)
    with pytest.raises(TextError):
        list(read_corpus(path))


def test_a_comment_cannot_rename_the_columns(tmp_path):
    path = tmp_path / "x.conllu"
    path.write_text(f"# global.columns = ID FORM\n{WORD}\n")
    assert el.treebanks.read_treebank(path)[0].words == ("a",)


def test_a_range_of_a_hundred_million_words_takes_no_memory(tmp_path):
    path = tmp_path / "x.conllu"
    path.write_text(f"1-100000000\tab\t_\t_\t_\t_\t_\t_\t_\t_\n{WORD}\n")
    assert el.treebanks.read_treebank(path)[0].words == ("a",)


@pytest.mark.parametrize("read", [read_corpus, el.treebanks.read_treebank, el.mentions.read_coreference])
def test_names_with_nul_and_names_that_are_no_text_give_our_error(read, tmp_path):
    for name in ("a\x00b.txt", "x" * 5000 + ".txt"):
        with pytest.raises(TextError):
            read(tmp_path / name)


def test_a_file_whose_name_is_no_utf8_is_read_and_its_name_can_be_written(tmp_path):
    path = Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9.txt"))
    path.write_text("the cat")
    corpus = read_corpus(path)
    assert corpus.name.encode() == "caf�.txt".encode()


def test_a_line_without_an_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LONGEST_LINE", 1000)
    path = tmp_path / "x.txt.gz"
    path.write_bytes(gzip.compress(b"a" * 10_000))
    with pytest.raises(TextError, match="longer than 1,000 bytes"):
        read_corpus(path)
