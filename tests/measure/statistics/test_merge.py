"""Runs over parts of a corpus give, merged, what one run over the whole gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import eyeline as el
from eyeline.errors import StorageError, TraceError
from eyeline.measure.runs.run import writing_run
from eyeline.show.cli.main import app
from eyeline.statistics import AverageAttention, Entropy, HeadDistances, Importance, merge_runs
from tests.laws.statistics import tiny_model
from tests.look.views.front_end import use_small_front_end

TEXTS = ["the cat sat on the mat .", "a dog ran home", "it purred , and sat", "the dog and the cat ran a very long way home .", "a cat"]
ALL = [
    AverageAttention({"animal": "cat|dog"}),
    Entropy(),
    HeadDistances(),
    Importance(),
]


def save_run(folder: Path, texts: list[str], **options) -> Path:  # type: ignore[no-untyped-def]
    with pytest.MonkeyPatch.context() as patch:
        use_small_front_end(patch)
        el.analyse(tiny_model(), el.corpora.Corpus.from_texts(texts, folder.name), ALL, folder=folder, **options).save(folder)
    return folder


def test_parts_merged_are_the_whole(tmp_path: Path) -> None:
    parts = [save_run(tmp_path / "one", TEXTS[:2]), save_run(tmp_path / "two", TEXTS[2:])]
    merged, whole = merge_runs(parts), el.analyse(tiny_model(), TEXTS, ALL)
    assert merged.facts.counts == whole.facts.counts
    assert merged.facts.corpus.name == "one + two"
    assert merged.tables.keys() == whole.tables.keys()
    for name in ("average_attention", "entropy", "importance", "distances"):
        for column, values in whole.table(name).columns.items():
            if isinstance(values[0], float):  # the model itself rounds otherwise in other batches
                np.testing.assert_allclose(merged.table(name)[column], values, rtol=1e-5, atol=1e-6, err_msg=f"{name} {column}")
            else:
                assert list(merged.table(name).columns[column]) == list(values)
    assert merged.example is not None


def test_runs_are_merged_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_small_front_end(monkeypatch)
    parts = [str(save_run(tmp_path / "one", TEXTS[:2])), str(save_run(tmp_path / "two", TEXTS[2:]))]
    done = CliRunner().invoke(app, ["merge", *parts, "-o", str(tmp_path / "whole")])
    assert done.exit_code == 0, done.output
    assert "5 texts" in done.output
    assert el.runs.open_run(tmp_path / "whole").facts.counts["texts"] == len(TEXTS)
    with pytest.raises(StorageError, match="holds a run of analyse"):
        CliRunner().invoke(app, ["merge", *parts, "-o", str(tmp_path / "whole")], catch_exceptions=False)


def test_merging_into_a_folder_that_a_run_writes_to_is_refused(tmp_path: Path) -> None:
    with writing_run(tmp_path / "whole", "analyse"), pytest.raises(StorageError, match="another run of analyse is writing here"):
        CliRunner().invoke(app, ["merge", str(tmp_path / "part"), "-o", str(tmp_path / "whole")], catch_exceptions=False)


def test_what_cannot_be_merged_is_refused(tmp_path: Path) -> None:
    first, again = save_run(tmp_path / "one", TEXTS[:2]), save_run(tmp_path / "again", TEXTS[:2])
    other = save_run(tmp_path / "other", TEXTS[2:], layers=[1])
    with pytest.raises(TraceError, match="different options"):
        merge_runs([first, other])
    with pytest.raises(TraceError, match="would count twice"):
        merge_runs([first, again])
    with pytest.raises(TraceError, match="at least two"):
        merge_runs([first])
    with pytest.raises(StorageError, match="not a finished run"):
        merge_runs([first, tmp_path / "missing"])
    (other / "statistics.safetensors").unlink()
    with pytest.raises(StorageError, match="no sums"):
        merge_runs([first, other])
