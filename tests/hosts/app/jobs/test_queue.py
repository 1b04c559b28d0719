"""Analyses in the background: stopped, failed and finished ones."""

from __future__ import annotations

import gzip
import tempfile
import threading
import time
from dataclasses import dataclass

import pytest

import eyeline as el
from eyeline.analyses.progress import Progress, StopRequestedError
from eyeline.errors import TextError
from eyeline.hosts.app.corpus.job import CorpusPageWork, CorpusRequest
from eyeline.hosts.app.jobs.job import Job
from eyeline.hosts.app.jobs.queue import JobQueue, JobRefusedError
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.runs.ownership import read_ownership
from eyeline.hosts.app.settings import Limits
from eyeline.hosts.app.sharing.cache import Cache
from eyeline.hosts.app.texts.source import TextSource
from eyeline.sample.text import sample_text


@dataclass(frozen=True)
class Uploaded:
    """What Streamlit passes on of an uploaded file."""

    name: str
    data: bytes

    def getvalue(self) -> bytes:
        return self.data


def until(job: Job, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not job.ended:
        assert time.monotonic() < end, job
        time.sleep(0.02)


def test_a_finished_analysis_is_a_run_of_its_owner(minilm, tmp_path):
    corpus = TextSource("sample").corpus(Say("en"))
    job = JobQueue(Limits()).submit(
        tmp_path / "run", CorpusPageWork(minilm, corpus, CorpusRequest(("average_attention", "entropy"), 6)), "me"
    )
    until(job)
    assert (job.state, job.error) == ("done", "")
    run = el.runs.open_run(tmp_path / "run")
    assert run.facts.counts["documents"] == 6
    assert read_ownership(tmp_path / "run").owner == "me"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_stopped_analysis_leaves_nothing(minilm, tmp_path):
    corpus = TextSource("paste", "\n\n".join([sample_text()] * 8)).corpus(Say("en"))
    job = JobQueue(Limits()).submit(tmp_path / "run", CorpusPageWork(minilm, corpus, CorpusRequest(("entropy",), 300)), "me")
    while not job.done and not job.ended:
        time.sleep(0.005)
    job.stop.set()
    until(job)
    assert job.state == "stopped"
    assert list(tmp_path.iterdir()) == []


def test_a_failed_analysis_says_why_and_the_queue_goes_on(tmp_path):
    queue = JobQueue(Limits())

    def fail(job: Job) -> None:
        raise TextError("This went wrong.", "Do that.")

    def break_down(job: Job) -> None:
        raise RuntimeError("out of memory")

    for work, message in ((fail, "This went wrong.\n  Do that."), (break_down, "RuntimeError: out of memory")):
        job = queue.submit(tmp_path / "x", work)
        until(job)
        assert (job.state, job.error) == ("failed", message)
    job = queue.submit(tmp_path / "x", lambda job: None)
    until(job)
    assert job.state == "done"


def waiting_queue(limits: Limits, workspace=None) -> tuple[JobQueue, threading.Event, Clock]:
    """A queue on a clock of its own, and what lets its first job finish."""
    clock = Clock()
    return JobQueue(limits, workspace, clock), threading.Event(), clock


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def work_until(go: threading.Event, order: list[str]):
    def work(job: Job) -> None:
        order.append(job.id)
        while not go.wait(0.01):
            job.report_progress(Progress("", 1, 2))

    return work


def test_one_runs_while_others_wait_and_too_many_are_refused(tmp_path):
    queue, go, _ = waiting_queue(Limits(waiting=2))
    order: list[str] = []
    jobs = [queue.submit(tmp_path / str(i), work_until(go, order), f"visitor {i}") for i in range(3)]
    with pytest.raises(JobRefusedError, match="too_many_waiting"):
        queue.submit(tmp_path / "more", work_until(go, order), "another")
    while not order:
        time.sleep(0.01)
    assert len(order) == 1
    waiting = next(job for job in jobs if job.id not in order)
    waiting.stop.set()
    go.set()
    for job in jobs:
        until(job)
    assert waiting.state == "stopped"
    assert len(order) == 2


def test_one_visitor_has_a_share_of_the_queue_and_others_still_get_in(tmp_path):
    queue, go, _ = waiting_queue(Limits(jobs_each=2))
    jobs = [queue.submit(tmp_path / str(i), work_until(go, []), "me") for i in range(2)]
    with pytest.raises(JobRefusedError) as refusal:
        queue.submit(tmp_path / "more", work_until(go, []), "me")
    assert (refusal.value.reason, refusal.value.values) == ("too_many_own", {"most": 2})
    jobs.append(queue.submit(tmp_path / "theirs", work_until(go, []), "another"))
    go.set()
    for job in jobs:
        until(job)
    assert [job.state for job in jobs] == ["done"] * 3


def test_stopping_a_job_that_waits_ends_it_at_once_and_leaves_room_for_another(tmp_path):
    queue, go, _ = waiting_queue(Limits(jobs_each=2), tmp_path)
    order: list[str] = []
    running = queue.submit(tmp_path / "a", work_until(go, order), "me")
    while not order:
        time.sleep(0.01)
    waiting = queue.submit(tmp_path / "b", work_until(go, order), "me")
    queue.stop(waiting)
    assert waiting.state == "stopped", "the other one still runs"
    another = queue.submit(tmp_path / "c", work_until(go, order), "me")
    assert JobQueue(Limits(), tmp_path).job(waiting.id) is None, "a restart has nothing to tell of it"
    go.set()
    for job in (running, another):
        until(job)
    assert order == [running.id, another.id]


def test_a_job_belongs_to_its_visitor_and_page(tmp_path):
    queue, go, _ = waiting_queue(Limits())
    job = queue.submit(tmp_path / "run", work_until(go, []), "me", "corpus")
    assert queue.latest("me", "corpus") is job
    assert queue.latest("me", "space") is None
    assert queue.latest("another", "corpus") is None
    go.set()
    until(job)


def test_a_job_ends_when_its_visitor_is_gone_and_not_while_a_page_is_open(tmp_path):
    queue, go, clock = waiting_queue(Limits(gone_minutes=10))
    order: list[str] = []
    running = queue.submit(tmp_path / "a", work_until(go, order), "me")
    while not order:
        time.sleep(0.01)
    waiting = queue.submit(tmp_path / "b", work_until(go, order), "gone")
    clock.now = 9 * 60
    queue.visitor_seen("me")
    clock.now = 12 * 60
    newcomer = queue.submit(tmp_path / "c", work_until(go, order), "another")
    assert waiting.state == "abandoned", "its visitor was last seen twelve minutes ago"
    assert running.state == "running", "its visitor was seen three minutes ago"
    clock.now = 20 * 60
    until(running)
    assert running.state == "abandoned"
    go.set()
    until(newcomer)
    assert waiting.id not in order


def test_a_restart_tells_the_visitor_that_the_job_was_interrupted(tmp_path):
    queue, go, _ = waiting_queue(Limits(), tmp_path)
    killed = queue.submit(tmp_path / "run", work_until(go, []), "me", "corpus")
    restarted = JobQueue(Limits(), tmp_path)
    job = restarted.latest("me", "corpus")
    assert (job.state, job.id, job.ended) == ("interrupted", killed.id, True)
    assert restarted.latest("another", "corpus") is None
    restarted.forget(job)
    assert JobQueue(Limits(), tmp_path).latest("me", "corpus") is None
    go.set()
    until(killed)


def test_a_finished_job_leaves_no_note_and_a_damaged_note_is_removed(tmp_path):
    queue = JobQueue(Limits(), tmp_path)
    job = queue.submit(tmp_path / "run", lambda job: None, "me", "corpus")
    until(job)
    end = time.monotonic() + 20
    while list((tmp_path / "jobs").iterdir()):
        assert time.monotonic() < end
        time.sleep(0.01)
    for name, text in (("0" * 16, "{"), ("1" * 16, "[]"), ("2" * 16, '{"owner": 1}')):
        (tmp_path / "jobs" / f"{name}.json").write_text(text)
    assert JobQueue(Limits(), tmp_path).latest("1", "") is None
    assert list((tmp_path / "jobs").iterdir()) == []


def test_stopping_is_not_taken_for_a_fault():
    assert not issubclass(StopRequestedError, el.EyelineError)


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("mine.txt", b"\xff\xfe\x00", "not UTF-8"),
        ("mine.jsonl", b"{broken", "line 1"),
        ("mine.conllu", b"1\tonly\tthree\n\n", "line"),
        ("mine.txt.gz", b"not packed", "mine.txt.gz"),
        ("mine.txt.gz", gzip.compress(b"A cat. " * 50)[:-9], "mine.txt.gz"),
    ],
)
def test_a_bad_file_is_named_without_our_paths(name, data, text):
    with pytest.raises(TextError, match=text) as error:
        TextSource("upload", upload=Uploaded(name, data)).corpus(Say("en"))
    assert tempfile.gettempdir() not in str(error.value)
    assert name in str(error.value)


def test_a_packed_text_is_read_and_called_as_its_file():
    corpus = TextSource("upload", upload=Uploaded("猫.txt.gz", gzip.compress(b"A cat.\n\nA dog."))).corpus(Say("en"))
    assert (len(corpus), corpus.name) == (2, "猫.txt.gz")


def test_the_sample_is_forty_paragraphs():
    assert len(TextSource("sample").corpus(Say("en"))) == 40


def test_a_cache_stays_within_its_room_and_hands_out_what_was_asked_for():
    cache = Cache(1000)

    def ask(who: int) -> None:
        for i in range(200):
            key = (who, i % 7)
            assert cache.get(key, lambda key=key: (key, bytes(100)), lambda value: len(value[1]))[0] == key
            assert cache.used <= 1000

    threads = [threading.Thread(target=ask, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 < cache.used <= 1000
    cache.get("large", lambda: bytes(5000), len)
    assert cache.used <= 1000
