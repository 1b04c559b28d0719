"""Analyses in the background: stopped, failed and finished ones."""

from __future__ import annotations

import gzip
import tempfile
import threading
import time
from dataclasses import dataclass

import pytest

import eyeline as el
from eyeline.analyses.progress import StopRequestedError
from eyeline.errors import TextError
from eyeline.hosts.app.jobs import Desk, Job, measure, owner_of
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.shelf import Shelf
from eyeline.hosts.app.texts.source import Source
from eyeline.sample.text import sample_text


@dataclass(frozen=True)
class Uploaded:
    """What Streamlit hands on of an uploaded file."""

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
    corpus = Source("sample").corpus(Say("en"))
    job = Desk(2).take(tmp_path / "run", measure(minilm, corpus, ["average_attention", "entropy"], 6, "me"))
    until(job)
    assert (job.state, job.error) == ("done", "")
    run = el.open_run(tmp_path / "run")
    assert run.facts.counts["documents"] == 6
    assert owner_of(tmp_path / "run") == "me"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_stopped_analysis_leaves_nothing(minilm, tmp_path):
    corpus = Source("paste", "\n\n".join([sample_text()] * 8)).corpus(Say("en"))
    desk = Desk(2)
    job = desk.take(tmp_path / "run", measure(minilm, corpus, ["entropy"], 300, "me"))
    while not job.done and not job.ended:
        time.sleep(0.005)
    job.stop.set()
    until(job)
    assert job.state == "stopped"
    assert list(tmp_path.iterdir()) == []


def test_a_failed_analysis_says_why_and_the_desk_goes_on(tmp_path):
    desk = Desk(2)

    def fail(job: Job) -> None:
        raise TextError("This went wrong.", "Do that.")

    def break_down(job: Job) -> None:
        raise RuntimeError("out of memory")

    for work, said in ((fail, "This went wrong.\n  Do that."), (break_down, "RuntimeError: out of memory")):
        job = desk.take(tmp_path / "x", work)
        until(job)
        assert (job.state, job.error) == ("failed", said)
    job = desk.take(tmp_path / "x", lambda job: None)
    until(job)
    assert job.state == "done"


def test_one_runs_while_others_wait_and_too_many_are_refused(tmp_path):
    desk, go = Desk(2), threading.Event()
    order = []

    def work(job: Job) -> None:
        order.append(job.number)
        go.wait(20)

    jobs = [desk.take(tmp_path / str(i), work) for i in range(3)]
    assert all(jobs)
    assert desk.take(tmp_path / "more", work) is None
    time.sleep(0.1)
    assert len(order) == 1
    waiting = next(job for job in jobs if job.number not in order)
    waiting.stop.set()
    go.set()
    for job in jobs:
        until(job)
    assert waiting.state == "stopped"
    assert len(order) == 2


def test_stopping_is_not_taken_for_a_fault():
    assert not issubclass(StopRequestedError, el.EyelineError)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("mine.txt", b"\xff\xfe\x00", "not UTF-8"),
        ("mine.jsonl", b"{broken", "line 1"),
        ("mine.conllu", b"1\tonly\tthree\n\n", "line"),
        ("mine.txt.gz", b"not packed", "mine.txt.gz"),
        ("mine.txt.gz", gzip.compress(b"A cat. " * 50, mtime=0)[:-9], "mine.txt.gz"),
    ],
)
def test_a_bad_file_is_named_without_our_paths(name, data, said):
    with pytest.raises(TextError, match=said) as error:
        Source("upload", upload=Uploaded(name, data)).corpus(Say("en"))
    assert tempfile.gettempdir() not in str(error.value)
    assert name in str(error.value)


def test_a_packed_text_is_read_and_called_as_its_file():
    corpus = Source("upload", upload=Uploaded("猫.txt.gz", gzip.compress(b"A cat.\n\nA dog."))).corpus(Say("en"))
    assert (len(corpus), corpus.name) == (2, "猫.txt.gz")


def test_the_sample_is_forty_paragraphs():
    assert len(Source("sample").corpus(Say("en"))) == 40


def test_a_shelf_stays_within_its_room_and_hands_out_what_was_asked_for():
    shelf = Shelf(1000)

    def ask(who: int) -> None:
        for i in range(200):
            key = (who, i % 7)
            assert shelf.get(key, lambda key=key: (key, bytes(100)), lambda value: len(value[1]))[0] == key
            assert shelf.held <= 1000

    threads = [threading.Thread(target=ask, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 < shelf.held <= 1000
    shelf.get("large", lambda: bytes(5000), len)
    assert shelf.held <= 1000
