"""What a page says of an analysis that waits or runs."""

from __future__ import annotations

import pytest

from eyeline.measure.runs.progress import Progress
from eyeline.show.app.jobs import panel
from eyeline.show.app.jobs.job import Job
from eyeline.show.app.jobs.queue import JobQueue
from eyeline.show.app.kit.settings import Limits
from eyeline.words import LANGUAGES, Words


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_running_analysis_says_its_step_of_how_many_and_the_seconds_so_far(tmp_path, monkeypatch, language):
    queue, say = JobQueue(Limits(), clock=lambda: 131.5), Words(language)
    monkeypatch.setattr(panel, "job_queue", lambda: queue)
    job = Job(tmp_path / "run", state="running", started=100.0)
    job.report_progress(Progress("fitting", 3, 12, index=1, n_steps=3))
    fitting = say("space.doing_fitting")
    assert panel._step(say, "space", job) == say("jobs.step", step=fitting, index=2, n=3, seconds=31)
    job.report_progress(Progress("", 3, 12))
    assert panel._step(say, "corpus", job) == say("jobs.elapsed", step=say("corpus.running", n=3, of=12), seconds=31)
    assert panel._step(say, "corpus", Job(tmp_path / "other")) == say("corpus.waiting")


def test_the_seconds_of_a_job_count_from_when_it_runs(tmp_path):
    queue = JobQueue(Limits(), clock=lambda: 50.0)
    assert queue.seconds(Job(tmp_path / "run")) == 0
    assert queue.seconds(Job(tmp_path / "run", started=20.5)) == 29


def test_the_bar_is_full_only_when_the_last_step_is_done(tmp_path):
    job, shares = Job(tmp_path / "run"), []
    for progress in (
        Progress("", 0, None),
        Progress("reading", 8, 8, index=0, n_steps=3),
        Progress("fitting", 6, 12, index=1, n_steps=3),
        Progress("writing", 0, None, index=2, n_steps=3),
        Progress("writing", 9, 8, index=2, n_steps=3),
    ):
        job.report_progress(progress)
        shares.append(job.share_done)
    assert shares == pytest.approx([0, 1 / 3, 1 / 2, 2 / 3, 1])
