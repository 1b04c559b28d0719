"""Sentences of the Universal Dependencies treebanks, read where they lie; they are not part of this repository."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest


def data_file(name: str) -> Path:
    """A file of the data that is shared between checkouts; without it the test is skipped, and says so."""
    folder = Path(os.environ.get("EYELINE_DATA", Path(__file__).parents[4] / "shared" / "data"))
    if not (folder / name).exists():
        pytest.skip(f"{name} is not in {folder} (set EYELINE_DATA)")
    return folder / name


def treebank(name: str, *, surface: bool = False) -> list[tuple[str, list[str]]]:
    """(text, words) of each sentence; with `surface`, a multiword token (don't) instead of its parts."""
    file = data_file(name)
    sentences: list[tuple[str, list[str]]] = []
    text, words, inside = "", [], 0
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            if line.startswith("# text = "):
                text = line[9:].rstrip("\n")
            elif surface and len(fields) == 10 and "-" in fields[0]:
                words.append(fields[1])
                inside = int(fields[0].split("-")[1])
            elif len(fields) == 10 and fields[0].isdigit() and int(fields[0]) > inside:
                words.append(fields[1])
            elif not line.strip() and words:
                sentences.append((text, words))
                words, inside = [], 0
    return sentences
