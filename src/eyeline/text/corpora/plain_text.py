"""Plain text: a document for each paragraph or each line."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from eyeline.text.corpora.corpus import Document
from eyeline.text.corpora.files import SourceFile, numbered_lines


def guess_paragraphs(path: Path | SourceFile) -> str:
    """Hard-wrapped text has short lines, several in a row, and blank lines between its paragraphs; elsewhere a line is a paragraph."""
    lines = [line.strip() for _, line in itertools.islice(numbered_lines(path), 1000)]
    in_a_row = any(line and following for line, following in itertools.pairwise(lines))
    return "blank" if in_a_row and "" in lines and max(map(len, lines)) <= 200 else "line"


def read_paragraphs(path: Path | SourceFile, by: str) -> Iterator[Document]:
    """The documents of a text file: its paragraphs, or its lines."""
    open_lines: list[str] = []
    start = 0
    for number, line in numbered_lines(path):
        if line.strip():
            start = start if open_lines else number
            open_lines.append(line.strip())
        if open_lines and (by == "line" or not line.strip()):
            yield Document(" ".join(open_lines), start)
            open_lines = []
    if open_lines:
        yield Document(" ".join(open_lines), start)
