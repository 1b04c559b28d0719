"""A corpus by processes: the same numbers as in one, for any number of workers, whatever becomes of them."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import psutil
import pytest

import eyeline as el
from eyeline.errors import EyelineError, ModelError
from eyeline.measure.engines.processes import ProcessPool
from eyeline.measure.engines.schedule import Needs
from eyeline.measure.runs.progress import Progress, StopRequestedError
from eyeline.measure.statistics.loop import FILE, STATE
from eyeline.storage.sealed import read_sealed
from tests.attack.kills import position_of
from tests.laws.statistics import tiny_model
from tests.measure.engines.fake_engine import Pretended
from tests.measure.engines.small_run import (
    POISON,
    POISONED,
    TEXTS,
    Breaking,
    Deadly,
    exact,
    importable_tests,
    saved_model,
    small_shards,
    statistics,
)


@pytest.fixture(autouse=True)
def shards_of_eight(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    importable_tests(monkeypatch)
    with small_shards():
        yield
    children = [child for child in psutil.Process().children() if child.is_running()]
    servers = [child for child in children if "multiprocessing.forkserver" in " ".join(child.cmdline())]
    workers = [child for child in children if "spawn_main" in " ".join(child.cmdline())]
    assert not [*workers, *(worker for server in servers for worker in server.children())], "no worker is left"


@pytest.fixture
def quick_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are forked from a process that has imported torch: for tests of what becomes of many workers, not of how one starts."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["eyeline.measure.engines.worker", "tests.measure.engines.small_run"])
    monkeypatch.setattr(multiprocessing, "get_context", lambda method: context)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_model(tmp_path_factory.mktemp("model"))


def test_an_import_that_fails_in_a_worker_is_named_and_not_taken_for_a_lack_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "torch.py").write_text("raise ImportError('a module of the same name')")
    monkeypatch.syspath_prepend(tmp_path)
    pool = ProcessPool(b"", Needs(1))
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))  # a worker would read that of pytest
    try:
        pool.start()
        (event,) = pool.wait(60)
    finally:
        pool.close()
    assert event.kind == "refused"
    with pytest.raises(EyelineError, match=r"(?s)cannot begin.*ImportError: a module of the same name"):
        raise event.value


@pytest.mark.slow
def test_two_processes_give_the_numbers_of_one_process(folder: Path, tmp_path: Path):
    seen: list[Progress] = []
    run = el.analyse(folder, TEXTS, statistics(), engine=el.runs.Processes(2), progress=seen.append, folder=tmp_path / "run")
    local = el.analyse(folder, TEXTS, statistics())
    for name, table in local.tables.items():
        for column in [column for column, values in table.columns.items() if isinstance(values[0], float)]:
            np.testing.assert_allclose(run.table(name)[column], table[column], rtol=0, atol=1e-9)
    assert run.facts.counts == local.facts.counts
    assert local.facts.engine is None
    engine = el.runs.open_run(run.save(tmp_path / "saved")).facts.engine
    assert engine is not None
    assert (engine.name, engine.workers, engine.shards, engine.retries) == ("processes", 2, 8, 0)
    again = el.analyse(folder, TEXTS, statistics(), folder=tmp_path / "run", resume=True)
    assert again.facts.engine == run.facts.engine
    assert seen[-1].done == seen[-1].of == 60
    assert {progress.workers for progress in seen} <= {0, 1, 2}


def test_a_model_that_is_in_memory_only_is_refused_before_a_worker_starts():
    with pytest.raises(ModelError, match="no worker can open it"):
        el.analyse(tiny_model(), TEXTS, statistics(), engine="processes")


@pytest.mark.cluster
def test_the_numbers_are_the_same_to_the_last_bit_for_one_two_and_four_workers(folder: Path):
    runs = [el.analyse(folder, TEXTS, statistics(), engine=el.runs.Processes(workers)) for workers in (1, 2, 4)]
    assert exact(runs[0]) == exact(runs[1]) == exact(runs[2])


@pytest.mark.usefixtures("quick_starts")
@pytest.mark.slow
@pytest.mark.parametrize("statistic", [Deadly(), pytest.param(Breaking(), marks=pytest.mark.cluster)])
def test_a_document_that_breaks_its_worker_is_named_skipped_and_counted(folder: Path, statistic: Any):
    run = el.analyse(folder, POISONED, [statistic], engine=el.runs.Processes(2))
    assert run.facts.counts["broke"] == 1
    assert run.facts.counts["documents"] == 60
    assert run.facts.counts["texts"] == 59
    assert list(run.facts.dropped["broke"]) == [f"document {POISON + 1} (line {POISON + 1})"]
    assert run.facts.engine is not None
    assert run.facts.engine.retries == 4


@pytest.mark.usefixtures("quick_starts")
@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced_and_nothing_is_lost_or_counted_twice(folder: Path, monkeypatch: pytest.MonkeyPatch):
    pools: list[ProcessPool] = []
    monkeypatch.setattr(ProcessPool, "__init__", _remember(pools, ProcessPool.__init__))
    killed = []

    def kill(progress: Progress) -> None:
        if len(killed) < 2 and progress.done >= 16 * (len(killed) + 1):
            killed.append(next(pid for pid in pools[-1].process_ids() if pid not in killed))  # a death is noticed a moment later
            os.kill(killed[-1], signal.SIGKILL)

    run = el.analyse(folder, TEXTS, statistics(), engine=el.runs.Processes(2), progress=kill)
    assert len(set(killed)) == 2
    assert exact(run) == exact(el.analyse(folder, TEXTS, statistics(), engine=Pretended(1)))
    assert run.facts.counts["documents"] == 60
    assert "broke" not in run.facts.counts


def _remember(pools: list[ProcessPool], begin: Any) -> Any:
    def remember(self: ProcessPool, *given: Any, **options: Any) -> None:
        begin(self, *given, **options)
        pools.append(self)

    return remember


@pytest.mark.cluster
def test_a_stopped_run_goes_on_from_the_merged_shards_with_any_engine(folder: Path, tmp_path: Path):
    def stop(progress: Progress) -> None:
        if progress.done >= 24:
            raise StopRequestedError

    whole = exact(el.analyse(folder, TEXTS, statistics(), engine=el.runs.Processes(1)))
    with pytest.raises(StopRequestedError):
        el.analyse(folder, TEXTS, statistics(), engine=el.runs.Processes(2), folder=tmp_path / "run", progress=stop)
    resumed = el.analyse(folder, TEXTS, statistics(), engine=el.runs.Processes(1), folder=tmp_path / "run", resume=True)
    assert exact(resumed) == whole
    with pytest.raises(StopRequestedError):
        el.analyse(folder, TEXTS, statistics(), folder=tmp_path / "local", progress=stop)
    other = el.analyse(folder, TEXTS, statistics(), engine=el.runs.Processes(1), folder=tmp_path / "local", resume=True)
    assert other.facts.counts == resumed.facts.counts
    np.testing.assert_allclose(other.table("entropy")["all"], resumed.table("entropy")["all"], atol=1e-9)


@pytest.mark.slow
def test_a_killed_run_leaves_no_worker_and_goes_on_to_the_same_numbers(folder: Path, tmp_path: Path):
    code = f"""
import os, signal, sys
from pathlib import Path
import eyeline as el
from eyeline.measure.statistics.loop import FILE
from tests.attack.kills import position_of
from tests.measure.engines.small_run import TEXTS, small_shards, statistics
import psutil

def kill(progress):
    if (Path({str(tmp_path / "run")!r}) / FILE).exists() and position_of(Path({str(tmp_path / "run")!r})).counts["documents"] >= 16:
        print(*[child.pid for child in psutil.Process().children()], flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    with small_shards():
        el.analyse({str(folder)!r}, TEXTS, statistics(), engine=el.runs.Processes(2), folder={str(tmp_path / "run")!r}, progress=kill)
"""
    script = tmp_path / "run.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    workers = [psutil.Process(pid) for pid in map(int, done.stdout.split()) if psutil.pid_exists(pid)]
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert not alive
    position = position_of(tmp_path / "run")  # shards were merged and their sums written when the kill came
    assert 16 <= position.counts["documents"] < 60
    assert not position.complete
    resumed = el.analyse(folder, TEXTS, statistics(), engine=Pretended(2), folder=tmp_path / "run", resume=True)
    whole = el.analyse(folder, TEXTS, statistics(), engine=Pretended(1), folder=tmp_path / "whole")
    assert exact(resumed) == exact(whole)
    first, second = (read_sealed(tmp_path / name / FILE, STATE).arrays for name in ("run", "whole"))
    assert {name: array.tobytes() for name, array in first.items()} == {name: array.tobytes() for name, array in second.items()}


@pytest.mark.usefixtures("quick_starts")
@pytest.mark.slow
def test_a_model_that_has_changed_since_it_was_opened_is_refused_by_the_workers(folder: Path, tmp_path: Path):
    model = el.load(folder)
    next(model.hf.parameters()).data.mul_(2)
    with pytest.raises(EyelineError, match=r"(?s)cannot begin.*Another .* than the one that was opened first"):
        el.analyse(model, TEXTS, statistics(), engine=el.runs.Processes(1), folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("quick_starts")
@pytest.mark.slow
def test_a_model_that_workers_cannot_find_is_an_error_before_anything_is_written(tmp_path: Path):
    model = el.load(saved_model(tmp_path / "model"))
    shutil.rmtree(tmp_path / "model")  # as on a machine that does not have it
    with pytest.raises(EyelineError, match=r"(?s)cannot begin.*There is no folder.*each machine of the run needs it"):
        el.analyse(model, TEXTS, statistics(), engine=el.runs.Processes(1), folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_worker_process_can_choose_its_device_before_torch_is_imported():
    """What a process imports before it sets CUDA_VISIBLE_DEVICES must not bring torch along."""
    code = "import sys, eyeline.measure.engines.processes; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
