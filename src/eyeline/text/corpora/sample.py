"""The built-in text: forty short paragraphs in plain English, written for this."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from eyeline.storage.files import write_whole


@lru_cache(maxsize=1)
def sample_text() -> str:
    """The paragraphs, a blank line between them.

    >>> len(sample_text().split("\\n\\n"))
    40
    """
    return files("eyeline.text.corpora").joinpath("paragraphs.txt").read_text(encoding="utf-8")


def write_text(path: str | Path) -> None:
    """Write them to a file, whole or not at all."""
    write_whole(path, [sample_text().encode()])
