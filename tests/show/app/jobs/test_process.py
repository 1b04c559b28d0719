"""Analyses in a process of their own."""

from __future__ import annotations

import os
import sys
import time
import types

import pytest

from eyeline.errors import EyelineError, TextError
from eyeline.measure.runs.progress import Progress, StopRequestedError
from eyeline.show.app.jobs.job import Job
from eyeline.show.app.jobs.queue import WorkerProcess
from eyeline.show.app.kit.settings import Settings, current
from tests.measure.engines.small_run import importable_tests


def write_facts(job: Job) -> None:
    """Reports once, and writes which process it is, and what it knows of the job and of the settings."""
    job.report_progress(Progress("fitting", 3, 12, index=1, n_steps=4))
    facts = (str(os.getpid()), job.owner, job.language, job.request, current().model)
    job.folder.write_text("\n".join(facts), encoding="utf-8")


def fail(job: Job) -> None:
    raise TextError("This went wrong.", "Do that.")


def break_down(job: Job) -> None:
    raise RuntimeError("out of order")


def die(job: Job) -> None:
    os._exit(137)


def never_end(job: Job) -> None:
    job.report_progress(Progress("", 1, 2))
    while True:
        time.sleep(0.1)


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        importable_tests(patch)
        worker = WorkerProcess(Settings(tmp_path_factory.mktemp("workspace"), "minilm"))
        yield worker
        worker.end()


@pytest.mark.slow
def test_a_job_runs_in_another_process_which_stays_for_the_next(worker, tmp_path):
    processes = []
    for name in ("one", "two"):
        job = Job(tmp_path / name, "me", "space", "ja", request="abc")
        worker.run(job, write_facts)
        number, *facts = job.folder.read_text(encoding="utf-8").split("\n")
        processes.append(int(number))
        assert facts == ["me", "ja", "abc", "minilm"]
        assert (job.done, job.of, job.step, job.index, job.n_steps) == (3, 12, "fitting", 1, 4)
    assert processes[0] == processes[1] != os.getpid()


@pytest.mark.slow
def test_what_fails_there_fails_here_with_the_same_words_and_the_process_goes_on(worker, tmp_path):
    for work, message in ((fail, "This went wrong.\n  Do that."), (break_down, "RuntimeError: out of order")):
        with pytest.raises(EyelineError) as error:
            worker.run(Job(tmp_path / "x"), work)
        assert str(error.value) == message
    worker.run(Job(tmp_path / "x"), write_facts)


@pytest.mark.slow
def test_a_process_that_dies_is_said_so_and_the_next_job_has_another(worker, tmp_path):
    with pytest.raises(EyelineError, match="ended before its time"):
        worker.run(Job(tmp_path / "x"), die)
    worker.run(Job(tmp_path / "x"), write_facts)
    assert (tmp_path / "x").is_file()


@pytest.mark.slow
def test_a_job_that_is_stopped_ends_in_the_middle_of_its_work(worker, tmp_path):
    job = Job(tmp_path / "x")
    job.is_wanted = lambda: job.done == 0  # until it has reported
    with pytest.raises(StopRequestedError):
        worker.run(job, never_end)
    assert worker._pool is None


@pytest.mark.slow
def test_the_process_does_not_run_the_page_that_stands_for_the_main_module(tmp_path, monkeypatch):
    page = tmp_path / "page.py"
    page.write_text("raise RuntimeError('the page was run')")
    main = types.ModuleType("__main__")
    main.__file__ = str(page)
    monkeypatch.setitem(sys.modules, "__main__", main)
    importable_tests(monkeypatch)
    worker = WorkerProcess(Settings(tmp_path / "workspace", "minilm"))
    try:
        worker.run(Job(tmp_path / "facts"), write_facts)
    finally:
        worker.end()
    assert (tmp_path / "facts").is_file()
    assert sys.modules["__main__"] is main
