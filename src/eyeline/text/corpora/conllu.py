"""CoNLL-U: a document of words for each sentence. The parser itself is the conllu library's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from eyeline.errors import TextError
from eyeline.messages import Message
from eyeline.text.corpora.corpus import Document
from eyeline.text.corpora.files import SourceFile, numbered_lines

_RENAMES_COLUMNS = re.compile(r"#\s*global\.columns\b")


def read_sentences(path: Path | SourceFile) -> Iterator[Document]:
    """The sentences of a CoNLL-U file as documents of words."""
    article = ""
    for start, block in conllu_blocks(path, numbered_lines(path)):
        sentence = parse_conllu(path, start, block)
        article = f"line {start}" if any(row.startswith("# newdoc") for row in block) else article
        tokens = [token for token in sentence if isinstance(token["id"], int)]
        words = [token["form"] for token in tokens]
        tags = tuple(str(token["upos"] or "_") for token in tokens)
        yield Document(words, start, (sentence.metadata.get("text") or " ".join(words),), article, tags)


def conllu_blocks(path: Path | SourceFile | str, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """The sentences of numbered CoNLL-U lines, and the line that each begins on; comments without a word are skipped."""
    block: list[str] = []
    start = 0
    for number, line in lines:
        if line.strip():
            start = start if block else number
            if not line.startswith("#") and line.count("\t") != 9:
                raise TextError(
                    Message("refusal.not_conllu", file=str(path), line=str(number), why=f"{line.count(chr(9)) + 1} columns"),
                    Message("refusal.ten_columns"),
                )
            block.append(line)
        elif block:
            if any(not row.startswith("#") for row in block):
                yield start, block
            block = []
    if any(not row.startswith("#") for row in block):
        yield start, block


def parse_conllu(path: Path | SourceFile | str, line: int, block: list[str]) -> Any:
    """One sentence as the conllu library gives it: a list of tokens with `metadata`."""
    import conllu

    # The library takes two spaces for a tab, and lets a comment rename the columns.
    lines = (row if row.startswith("#") else re.sub(" {2,}", " ", row) for row in block if not _RENAMES_COLUMNS.match(row))
    try:
        sentence = conllu.parse("\n".join(lines) + "\n\n")[0]
    except Exception as error:  # the library raises what its parts raise, such as ValueError for a number of thousands of digits
        raise TextError(
            Message("refusal.not_conllu", file=str(path), line=str(line), why=str(error)), Message("refusal.ten_columns")
        ) from error
    for token in sentence:  # a line that was cut off has fewer columns
        for column in conllu.parser.DEFAULT_FIELDS:
            token.setdefault(column, None)
    return sentence
