"""A name from a file becomes a path only where it stays in its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

import eyeline as el
from eyeline.errors import EyelineError, StorageError
from eyeline.storage.files import path_in
from tests.laws.statistics import tiny_model

BAD = [
    "..",
    ".",
    "",
    "a/b",
    "/etc/passwd",
    "\\\\server\\share",
    "a\\b",
    "C:x",
    "a\0b",
    "~root",
    ".hidden",
    "a\nb",
    " a",
    "x" * 121,
    3,
    None,
    "\x1b[31m",
]


@pytest.mark.parametrize("name", BAD, ids=repr)
def test_a_name_that_leads_elsewhere_is_refused(name: object, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="is no name for a file"):
        path_in(tmp_path, name, ".csv")


@pytest.mark.parametrize("name", ["entropy", "head_map_cross", "猫", "a b", "x.y"])
def test_a_plain_name_is_a_file_of_the_folder(name: str, tmp_path: Path) -> None:
    assert path_in(tmp_path, name, ".csv").parent == tmp_path


@pytest.mark.parametrize("path", [5, None, b"x", ["x"], 1.5])
def test_something_else_than_a_path_is_our_error_wherever_a_file_is_opened(path):
    openers = [el.open, el.traces.open_trace, el.runs.open_run, el.runs.open_space, el.probes.open_probe]
    for opens in [*openers, el.corpora.read_corpus, el.treebanks.read_treebank, el.mentions.read_coreference]:
        with pytest.raises(StorageError, match="A path given as"):
            opens(path)


@pytest.mark.parametrize("path", ["a" * 5000, "a\0b", "\udcff", "", "/dev/null"])
def test_a_path_that_no_file_can_have_is_our_error_wherever_a_file_is_opened(path):
    for opens in (el.open, el.traces.open_trace, el.runs.open_run, el.runs.open_space, el.probes.open_probe, el.corpora.read_corpus):
        with pytest.raises(EyelineError):
            opens(path)


@pytest.mark.parametrize("path", [5, None, b"x"])
def test_something_else_than_a_path_is_our_error_wherever_something_is_saved(path):
    trace = tiny_model().trace("the cat sat .")
    for save in (trace.save, el.head_view(trace).save, el.figures.attention_graph(trace, layer=0, head=0).save):
        with pytest.raises(StorageError, match="A path given as"):
            save(path)
