"""Records of unfinished jobs in the workspace: after a restart the app can tell visitors that their analysis was interrupted."""

from __future__ import annotations

import contextlib
import json
import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FOLDER = "jobs"
JOB_ID = re.compile(r"[0-9a-f]{16}")
#: Days after which a record that nobody has read is removed.
KEPT_DAYS = 7


@dataclass(frozen=True)
class JobRecord:
    """Which job, whose, and the page that shows it."""

    id: str
    owner: str
    page: str


def write_record(workspace: Path, record: JobRecord) -> None:
    """Write the record of a job. A full disk does not stop the job itself."""
    with contextlib.suppress(OSError):
        (workspace / FOLDER).mkdir(parents=True, exist_ok=True)
        _path(workspace, record.id).write_text(json.dumps(asdict(record)), encoding="utf-8")


def remove_record(workspace: Path, job_id: str) -> None:
    """Remove the record of a job, where there is one."""
    with contextlib.suppress(OSError):
        _path(workspace, job_id).unlink(missing_ok=True)


def read_records(workspace: Path) -> list[JobRecord]:
    """The records that are left, the oldest first; expired and damaged ones are removed."""
    records = []
    files = [path for path in (workspace / FOLDER).glob("*.json") if path.is_file() and JOB_ID.fullmatch(path.stem)]
    for path in sorted(files, key=lambda path: path.stat().st_mtime):
        record = _read(path)
        if record is None or path.stat().st_mtime < time.time() - KEPT_DAYS * 24 * 3600:
            path.unlink(missing_ok=True)
        else:
            records.append(record)
    return records


def _read(path: Path) -> JobRecord | None:
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
        return JobRecord(path.stem, str(data["owner"]), str(data["page"]))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _path(workspace: Path, job_id: str) -> Path:
    if not JOB_ID.fullmatch(job_id):
        raise ValueError(f"{job_id!r} is not the id of a job.")
    return workspace / FOLDER / f"{job_id}.json"
