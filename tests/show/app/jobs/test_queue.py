"""Analyses in the background: stopped, failed and finished ones."""

from __future__ import annotations

import gzip
import random
import tempfile
import threading
import time
from dataclasses import dataclass

import pytest

import eyeline as el
from eyeline.errors import TextError
from eyeline.measure.runs.progress import Progress, StopRequestedError
from eyeline.measure.statistics.options import AnalyseOptions
from eyeline.show.app.jobs.corpus import CorpusPageWork, CorpusRequest
from eyeline.show.app.jobs.job import Job
from eyeline.show.app.jobs.queue import RECORDS, JobQueue, JobRefusedError
from eyeline.show.app.kit.settings import Limits
from eyeline.show.app.kit.sharing import Cache
from eyeline.show.app.kit.texts import TextSource
from eyeline.show.app.kit.workspace import read_ownership
from eyeline.words import Words

FIRST_SIX = CorpusRequest(("average_attention", "entropy"), AnalyseOptions(limit=6, window=True))
LONG = CorpusRequest(("entropy",), AnalyseOptions(limit=300, window=True))


FIRST_SIX = CorpusRequest(("average_attention", "entropy"), AnalyseOptions(limit=6, window=True))
LONG = CorpusRequest(("entropy",), AnalyseOptions(limit=300, window=True))


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
    corpus = TextSource("sample").corpus(Words("en"))
    job = JobQueue(Limits()).submit(
        tmp_path / "run",
        CorpusPageWork(minilm, corpus, FIRST_SIX),
        "me",
    )
    until(job)
    assert (job.state, job.error) == ("done", "")
    run = el.runs.open_run(tmp_path / "run")
    assert run.facts.counts["documents"] == 6
    assert read_ownership(tmp_path / "run").owner == "me"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_stopped_analysis_leaves_nothing(minilm, tmp_path):
    corpus = TextSource("paste", "\n\n".join([el.corpora.sample_text()] * 8)).corpus(Words("en"))
    job = JobQueue(Limits()).submit(tmp_path / "run", CorpusPageWork(minilm, corpus, LONG), "me")
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


def test_whoever_submits_and_stops_all_the_time_takes_no_threads_and_no_place_of_others(tmp_path):
    queue, go, _ = waiting_queue(Limits(), tmp_path)
    done = queue.submit(tmp_path / "done", lambda job: None, "other", "corpus")
    until(done)
    running = queue.submit(tmp_path / "running", work_until(go, []), "other")
    before = set(threading.enumerate())
    for number in range(300):
        queue.stop(queue.submit(tmp_path / str(number), work_until(go, []), "restless"))
    ends = time.monotonic() + 30
    while started := [thread for thread in threading.enumerate() if thread not in before]:
        assert time.monotonic() < ends, f"{len(started)} threads wait for nothing"
        time.sleep(0.01)
    assert queue.latest("other", "corpus") is done
    go.set()
    until(running)
    assert not list((tmp_path / RECORDS).iterdir())


def test_the_limits_hold_whatever_many_visitors_do_at_once(tmp_path):
    """Threads submit and stop at random. At any moment one job runs; those that were accepted run once, in their order."""
    limits = Limits(waiting=3, jobs_each=2)
    queue, order, refused, accepted = JobQueue(limits, tmp_path), list[str](), list[str](), dict[str, Job]()
    running, lock = threading.Semaphore(1), threading.Lock()
    broken: list[str] = []

    def work(job: Job) -> None:
        if not running.acquire(blocking=False):
            broken.append("two at once")
        order.append(job.id)
        waiting = [each for each in list(accepted.values()) if not each.ended]
        if len(waiting) > limits.waiting + 1:
            broken.append(f"{len(waiting)} unfinished")
        for _ in range(3):
            time.sleep(0.001)
            if job.stop.is_set():
                running.release()
                raise StopRequestedError
        running.release()

    def visit(number: int) -> None:
        draw = random.Random(number)  # noqa: S311 - a seeded choice, not a secret
        for turn in range(12):
            owner = f"visitor {draw.randrange(6)}"
            try:
                with lock:  # so that the order in which they were accepted is known
                    job = queue.submit(tmp_path / f"{number}-{turn}", work, owner)
                    accepted[job.id] = job
            except JobRefusedError as error:
                refused.append(error.reason)
                time.sleep(0.005 * draw.random())
                continue
            if len(queue.unfinished(owner)) > limits.jobs_each:
                broken.append("more than a share")
            if draw.random() < 0.3:
                queue.stop(job)

    visitors = [threading.Thread(target=visit, args=(number,)) for number in range(12)]
    for thread in visitors:
        thread.start()
    for thread in visitors:
        thread.join()
    for job in accepted.values():
        until(job)
    assert not broken
    assert set(refused) == {"too_many_own", "too_many_waiting"}
    assert order == [job_id for job_id in accepted if job_id in set(order)], "each once, in the order of submission"
    assert {job.state for job in accepted.values()} <= {"done", "stopped"}
    assert {job_id for job_id, job in accepted.items() if job.state == "done"} <= set(order)
    assert not list((tmp_path / RECORDS).iterdir())


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
        TextSource("upload", upload=Uploaded(name, data)).corpus(Words("en"))
    assert tempfile.gettempdir() not in str(error.value)
    assert name in str(error.value)


def test_a_packed_text_is_read_and_called_as_its_file():
    corpus = TextSource("upload", upload=Uploaded("猫.txt.gz", gzip.compress(b"A cat.\n\nA dog."))).corpus(Words("en"))
    assert (len(corpus), corpus.name) == (2, "猫.txt.gz")


def test_the_sample_is_forty_paragraphs():
    assert len(TextSource("sample").corpus(Words("en"))) == 40


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
    assert cache.holds("large"), "its visitor would wait for it again at each click"
    cache.get("small", lambda: bytes(10), len)
    assert cache.used == 10
