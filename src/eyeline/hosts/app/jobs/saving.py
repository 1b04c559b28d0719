"""The run of a finished job: saved whole or not at all, with the name of its owner."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from eyeline.hosts.app.jobs.job import Job
from eyeline.hosts.app.runs.ownership import Ownership, write_ownership
from eyeline.hosts.report.write import write_report


def save_run(job: Job, save: Callable[[Path], object]) -> None:
    """Save into a hidden folder first, and move it into place when all of it is written."""
    unfinished = job.folder.with_name(f".{job.folder.name}")
    try:
        save(unfinished)
        write_report(unfinished, job.language)
        write_ownership(unfinished, Ownership(job.owner, request=job.request))
        job.check()
        unfinished.replace(job.folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
