"""`el.open` opens whatever `save` wrote: a trace, a space, a run, a comparison."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import eyeline as el
from eyeline.errors import StorageError
from eyeline.measure.compare.result import Comparison
from tests.laws.statistics import tiny_model
from tests.measure.runs.test_run_parts import made_up

pytestmark = pytest.mark.usefixtures("quick_pictures")

TEXTS = ["the cat sat on the mat .", "a dog ran home ."]


def test_a_trace_is_opened(tmp_path: Path) -> None:
    trace = el.Trace.from_arrays(np.ones((1, 1, 1, 1), dtype=np.float32), ["x"])
    trace.save(tmp_path / "x.safetensors")
    assert isinstance(el.open(tmp_path / "x.safetensors"), el.Trace)


def test_a_space_is_opened_from_its_file_and_from_its_folder(tmp_path: Path) -> None:
    space = el.space(tiny_model(), TEXTS, layers=[0], heads=[0], project="pca")
    assert space.save(tmp_path / "run") == tmp_path / "run"
    space.save(tmp_path / "x.safetensors", vectors=False)
    for path in (tmp_path / "run", tmp_path / "x.safetensors"):
        again = el.open(path)
        assert isinstance(again, el.Space)
        assert again.facts == space.facts
    assert len(el.runs.open_run(tmp_path / "run").table("space")) == 1


def test_a_run_and_a_run_of_several_kinds_are_opened(tmp_path: Path) -> None:
    made_up("syntax", {"s": 1}).save(tmp_path)
    assert isinstance(el.open(tmp_path), el.Run)
    made_up("compare", {"compare": 1}).save(tmp_path)
    assert list(el.open(tmp_path).parts) == ["syntax", "compare"]


def test_a_comparison_is_opened_with_its_spaces(tmp_path: Path) -> None:
    compared = el.compare(tiny_model(), tiny_model(), TEXTS, layers=[0])
    compared.save(tmp_path)
    again = el.open(tmp_path)
    assert isinstance(again, Comparison)
    assert again.facts == compared.facts
    assert again.spaces is not None
    el.compare(tiny_model(), tiny_model(), TEXTS, layers=[0], spaces=False).save(tmp_path)
    assert el.open(tmp_path).spaces is None


@pytest.mark.parametrize("path", ["nothing", "a\0b", "x" * 5000])
def test_what_is_not_there_is_our_error(path: str, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="no such file or folder"):
        el.open(tmp_path / path)
