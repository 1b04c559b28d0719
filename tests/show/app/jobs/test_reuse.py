"""What was measured once is not measured twice: finished runs of the same request, and the runs of the built-in sample."""

from __future__ import annotations

import threading
import time

import pytest

import eyeline as el
from eyeline.show.app.jobs import job as job_module
from eyeline.show.app.jobs import samples
from eyeline.show.app.jobs.job import Job, request_key, save_run
from eyeline.show.app.jobs.queue import JobQueue, job_queue
from eyeline.show.app.jobs.samples import prepare_samples, samples_of
from eyeline.show.app.kit.settings import Limits, Settings, current
from eyeline.show.app.kit.workspace import Workspace, delete, read_ownership
from eyeline.words import LANGUAGES, Words
from tests.show.app.jobs.test_queue import until, work_until

TEXTS = ["A cat sat.", "It purred."]


@pytest.fixture(scope="module")
def run(minilm) -> el.Run:
    return el.analyse(minilm, TEXTS, [el.statistics.AverageAttention(), el.statistics.Entropy()])


@pytest.fixture
def workspace(tmp_path) -> Workspace:
    (tmp_path / "runs").mkdir()
    return Workspace(tmp_path)


def finished(queue: JobQueue, workspace: Workspace, run: el.Run, owner: str, request: str) -> Job:
    job = queue.submit(workspace.new_run(), lambda job: save_run(job, run.save), owner, "corpus", request=request)
    until(job)
    assert job.state == "done", job.error
    return job


def test_requests_with_the_same_result_have_the_same_key_and_no_others(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    base = ("corpus", str(tmp_path), b"A cat.", ("entropy", 20), "en")
    key = request_key(*base)
    assert request_key(*base) == key
    others = [("space", *base[1:]), (base[0], "minilm", *base[2:]), (*base[:2], b"A dog.", *base[3:]), (*base[:3], ("entropy", 21), "en")]
    others.append((*base[:4], "ja"))
    keys = {request_key(*other) for other in others}
    assert len(keys) == 5
    assert key not in keys
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    assert request_key(*base) not in {key, *keys}


def test_the_same_request_of_another_visitor_is_answered_at_once_with_a_run_of_their_own(workspace, run):
    queue = JobQueue(Limits(), workspace.root)
    first = finished(queue, workspace, run, "me", "abc")
    assert queue.answer(workspace.new_run(), "another", "corpus", "abd") is None
    assert queue.answer(workspace.new_run(), "another", "corpus", "") is None
    answer = queue.answer(workspace.new_run(), "another", "corpus", "abc")
    assert (answer.state, answer.reused, queue.job(answer.id) is answer) == ("done", True, True)
    assert read_ownership(answer.folder).owner == "another"
    delete(first.folder, "me")
    assert not first.folder.exists()
    assert len(list(el.runs.open_run(answer.folder).table("entropy").rows())) == 72
    assert [path.name for path in (workspace.root / "runs").iterdir()] == [answer.folder.name]


def test_the_same_request_of_the_same_visitor_shows_the_run_that_is_there(workspace, run):
    queue = JobQueue(Limits(), workspace.root)
    first = finished(queue, workspace, run, "me", "abc")
    assert queue.answer(workspace.new_run(), "me", "corpus", "abc").folder == first.folder
    assert len(workspace.runs()) == 1


def test_a_job_that_waits_for_the_same_request_is_not_measured_again(workspace, run):
    queue, go = JobQueue(Limits(), workspace.root), threading.Event()
    measured: list[str] = []

    def work(job: Job) -> None:
        measured.append(job.owner)
        go.wait(60)
        save_run(job, run.save)

    jobs = [queue.submit(workspace.new_run(), work, owner, "corpus", request="abc") for owner in ("me", "another")]
    while not measured:
        time.sleep(0.01)
    go.set()
    for job in jobs:
        until(job)
        assert (job.state, read_ownership(job.folder).owner) == ("done", job.owner)
    assert len(measured) == 1
    assert sorted(job.reused for job in jobs) == [False, True]


def test_a_job_of_the_app_gives_way_to_a_visitor_who_wants_something_else(workspace):
    queue, go = JobQueue(Limits(), workspace.root), threading.Event()
    order: list[str] = []
    own = queue.submit(workspace.root / "samples" / "a", work_until(go, order), request="abc", yields=True)
    while not order:
        time.sleep(0.01)
    same = queue.submit(workspace.new_run(), work_until(go, order), "me", request="abc")
    assert not own.stop.is_set(), "who wants the same waits for it"
    other = queue.submit(workspace.new_run(), work_until(go, order), "another", request="abd")
    until(own)
    assert own.state == "stopped"
    go.set()
    for job in (same, other):
        until(job)
        assert job.state == "done"


def prepare(settings: Settings, run: el.Run) -> list[str]:
    """Prepare the samples with a run that takes no time; what was computed."""
    computed: list[str] = []

    def execute(job: Job, work: object) -> None:
        computed.append(job.page)
        save_run(job, run.save)

    prepare_samples(settings, JobQueue(settings.limits, settings.workspace, execute=execute))
    return computed


@pytest.mark.slow
def test_samples_are_computed_once_and_are_there_in_every_language(tmp_path, run):
    settings = Settings(tmp_path, "minilm")
    old = tmp_path / "samples" / ("0" * 32)
    old.mkdir(parents=True)
    assert prepare(settings, run) == ["corpus-sample", "space-sample"]
    assert prepare(settings, run) == []
    ready = Workspace(tmp_path).samples()
    assert not old.exists()
    for sample in samples_of(settings):
        for language in LANGUAGES:
            folder = ready.pop(sample.keys[language])
            assert el.runs.open_run(folder).facts.corpus.name == (Words(language)("corpus.called_sample") if language != "en" else "texts")
            assert f'lang="{language}"' in (folder / "report.html").read_text(encoding="utf-8")
    assert ready == {}
    assert Workspace(tmp_path).runs() == {}, "they are listed for nobody"


@pytest.mark.slow
@pytest.mark.parametrize(("page", "language"), [("corpus", "en"), ("space", "ja")])
def test_the_first_click_on_the_sample_is_answered_at_once(script, run, monkeypatch, page, language):
    for module in (job_module, samples):
        monkeypatch.setattr(module, "write_report", lambda folder, language: None)  # takes longest, and is not looked at here
    at = script(page, language)
    prepare(current(), run)
    at.run()
    at.button(key=f"{page}-run").click().run()
    job = job_queue().job(at.session_state[f"{page}-job"])
    assert (job.state, job.reused) == ("done", True)
    assert [alert.value for alert in at.success] == [Words(language)("jobs.measured_before")]
