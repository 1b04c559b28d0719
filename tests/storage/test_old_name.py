"""Files written by the last version under the name sightline are still opened. They were made by a tiny random model."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import platformdirs
import pytest

import eyeline as el
from eyeline.analyses.corpus.merge import merge_runs
from eyeline.analyses.corpus.state import load_state
from eyeline.analyses.corpus.statistics.average_attention import AverageAttention
from eyeline.analyses.corpus.statistics.entropy import Entropy
from eyeline.analyses.corpus.statistics.head_distances import HeadDistances
from eyeline.capture.trace_read import open_trace
from eyeline.errors import StorageError
from eyeline.models.trace_cache import TraceCache
from eyeline.results.facts import AnalyseOptions
from eyeline.results.space.read import open_space
from tests.laws.statistics import tiny_model

OLD = Path(__file__).parent / "written_by_sightline"
CACHED = next((OLD / "cache").glob("??/*.safetensors"))


def test_a_trace_is_opened_with_its_numbers() -> None:
    trace = open_trace(OLD / "trace.safetensors")
    np.testing.assert_allclose(trace.weights.sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(trace.weights, tiny_model().trace("the cat sat .", layers=[0]).weights, atol=1e-6)


def test_a_run_is_opened_with_its_tables_and_facts() -> None:
    run = el.runs.open_run(OLD / "analyse")
    assert list(run.tables) == ["average_attention", "entropy", "distances", "head_map"]
    assert run.facts.model.name == "tiny"
    assert run.facts.options_as(AnalyseOptions).layers == {"encoder": (0,)}
    assert run.facts.counts["texts"] == 2
    assert 0 <= run.facts.stress["head_map"] < 1
    assert run.facts.total_seconds > 0
    assert run.example is not None
    assert el.figure(run, "head_map").data


def test_a_folder_of_several_kinds_is_opened_and_saved_in_the_new_form(tmp_path: Path) -> None:
    run = el.runs.open_run(OLD / "joined")
    assert list(run.parts) == ["syntax", "compare"]
    assert run.parts["compare"].facts.other is not None
    assert run.parts["compare"].facts.level == "token"
    assert "no_tree" in run.parts["syntax"].facts.dropped
    again = el.runs.open_run(run.save(tmp_path))
    assert [part.facts for part in again.parts.values()] == [part.facts for part in run.parts.values()]
    assert again.table("syntax").columns == run.table("syntax").columns


def test_a_new_run_is_added_to_an_old_folder(tmp_path: Path) -> None:
    shutil.copytree(OLD / "analyse", tmp_path / "run")
    el.runs.open_run(OLD / "joined").save(tmp_path / "run")
    assert list(el.runs.open_run(tmp_path / "run").parts) == ["analyse", "syntax", "compare"]


def test_a_space_is_opened() -> None:
    space = open_space(OLD / "space.safetensors")
    assert (space.model, space.project) == ("tiny", "pca")
    assert space.facts is not None
    assert space.facts.gauge_check is not None
    assert space.facts.gauge_check.holds
    assert space.facts.gauge_check.stacks["encoder"] is not None
    assert len(space.run().table("space")) == 1


def test_sums_of_a_run_are_refused_because_their_header_has_no_checksum() -> None:
    """A changed bit in the position or the counts of such a file would give wrong numbers without a word."""
    with pytest.raises(StorageError, match=r"(?s)header has no checksum.*Delete it and make it again.*written by: eyeline analyse"):
        load_state(OLD / "analyse", [AverageAttention(), Entropy(), HeadDistances()])
    with pytest.raises(StorageError, match="header has no checksum"):
        merge_runs([OLD / "analyse", OLD / "analyse"])


def test_entries_of_the_cache_are_found_also_in_the_old_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert TraceCache(OLD / "cache").get(CACHED.stem) is not None
    monkeypatch.delenv("EYELINE_CACHE", raising=False)
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: tmp_path / name)
    assert TraceCache().get(CACHED.stem) is None
    shutil.copytree(OLD / "cache", tmp_path / "sightline" / "traces")
    trace = TraceCache().get(CACHED.stem)
    assert trace is not None
    assert trace.text.sources == ("a dog ran .",)


def test_damaged_arrays_of_old_files_are_refused(tmp_path: Path) -> None:
    data = bytearray((OLD / "trace.safetensors").read_bytes())
    data[-3] ^= 4
    (tmp_path / "x.safetensors").write_bytes(data)
    with pytest.raises(StorageError, match="checksum"):
        open_trace(tmp_path / "x.safetensors")
