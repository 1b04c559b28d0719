"""Runs of the built-in sample, computed once in the background, so that the first visitor need not wait for them."""

from __future__ import annotations

import re
import shutil
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import filelock

from eyeline.measure.runs.run import FACTS_FILE
from eyeline.show.app.jobs import corpus as corpus_job
from eyeline.show.app.jobs import space as space_job
from eyeline.show.app.jobs.job import Job, JobFunction, copy_finished, request_key
from eyeline.show.app.jobs.queue import JobQueue, JobRefusedError, job_queue
from eyeline.show.app.kit.settings import Settings
from eyeline.show.app.kit.texts import TextSource
from eyeline.show.app.kit.workspace import SAMPLES, Workspace
from eyeline.show.report import write_report
from eyeline.storage.sealed import read_json, write_sealed_json
from eyeline.words import LANGUAGES, Words

LOCK = "samples.lock"
#: The name of a folder with a run of the sample, finished or not.
NAME = re.compile(r"\.?[0-9a-f]{32}")
#: How often a run is tried, since it gives way to the jobs of visitors; seconds between two checks of the queue.
TRIES, LOOK = 20, 0.5


@dataclass(frozen=True)
class Sample:
    """The analysis that a page runs with its first settings. keys: language → the request key of that click."""

    page: str
    work: JobFunction
    keys: dict[str, str]


def samples_of(settings: Settings) -> list[Sample]:
    """The analyses of the sample that are prepared: those of the model that pages open with."""
    source, text = settings.model, TextSource("sample")
    corpus = text.corpus(Words())
    assert corpus is not None  # noqa: S101 - the sample is not empty
    counted, pictured = corpus_job.first_request(settings.limits), space_job.first_request(settings.limits)

    def keys(page: str, options: object) -> dict[str, str]:
        return {language: request_key(page, source, text.content(), options, language) for language in LANGUAGES}

    return [
        Sample("corpus", corpus_job.CorpusPageWork(source, corpus, counted), keys("corpus", counted)),
        Sample("space", space_job.SpaceWork(Words(), source, corpus, pictured), keys("space", pictured)),
    ]


def prepare_in_background(settings: Settings) -> None:
    """Compute in a thread of its own what is missing."""
    threading.Thread(target=prepare_samples, args=(settings, job_queue()), name="samples", daemon=True).start()


def prepare_samples(settings: Settings, queue: JobQueue) -> None:
    """Compute what is missing, and remove what was computed by another version or for another model. One app of a workspace does this."""
    folder = Workspace(settings.workspace).inside(SAMPLES)
    folder.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(folder.parent / LOCK)
    try:
        lock.acquire(timeout=0)
    except (filelock.Timeout, OSError):
        return
    try:
        wanted = samples_of(settings)
        keys = {key for sample in wanted for key in sample.keys.values()}
        for path in folder.iterdir():
            if NAME.fullmatch(path.name) and path.name not in keys:
                shutil.rmtree(path, ignore_errors=True)
        for sample in wanted:
            if _compute(sample, folder, queue):
                _translate(sample, folder)
    finally:
        lock.release()


def _compute(sample: Sample, folder: Path, queue: JobQueue) -> bool:
    """The run of a sample in English. It gives way to visitors, and is then tried again; False where it fails."""
    key = sample.keys["en"]
    for _ in range(TRIES):
        if (folder / key / FACTS_FILE).is_file():
            return True
        while not queue.is_idle():
            time.sleep(LOOK)
        try:
            job: Job = queue.submit(folder / key, sample.work, page=f"{sample.page}-sample", request=key, yields=True)
        except JobRefusedError:
            continue
        while not job.ended:
            time.sleep(LOOK)
        if job.state == "failed":
            return False
    return False


def _translate(sample: Sample, folder: Path) -> None:
    """The same run for visitors of other languages: the name of its corpus, and its report."""
    for language, key in sample.keys.items():
        unfinished = folder / f".{key}"
        if (folder / key / FACTS_FILE).is_file() or not copy_finished(folder / sample.keys["en"], unfinished, "", key):
            continue
        facts = read_json(unfinished / FACTS_FILE)
        for part in facts["parts"].values():
            part["corpus"]["name"] = Words(language)("corpus.called_sample")
        write_sealed_json(unfinished / FACTS_FILE, facts)
        write_report(unfinished, language)
        unfinished.replace(folder / key)
