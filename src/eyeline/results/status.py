"""The status of runs in a folder (running, finished, failed, killed), and the lock that lets one run of a kind write there at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from eyeline.errors import EyelineError
from eyeline.results.facts import KINDS
from eyeline.results.folder import check_free, kinds_in
from eyeline.storage.files import make_folder, write_whole
from eyeline.storage.locks import is_locked, locked

Status = Literal["running", "finished", "failed", "killed"]


@contextmanager
def writing_run(folder: Path, kind: str, *, overwrite: bool = False) -> Iterator[None]:
    """Hold a folder for a run of one kind while it is computed and saved. A second run of the same kind is refused.

    What the folder held before stays until the new run is saved. The system releases the lock when the process ends, however it ends.
    """
    check_free(folder, kind, overwrite=overwrite)
    is_new = not folder.exists()
    make_folder(folder)
    busy = f"another run of {kind} is writing here."
    with locked(folder, f".{kind}.lock", wait=0, busy=busy, advice="Wait for it, stop it, or choose another folder."):
        check_free(folder, kind, overwrite=overwrite)  # another run may have ended since
        _mark(folder, kind, "running")
        try:
            yield
        except BaseException as error:
            _mark(folder, kind, "failed" if isinstance(error, Exception) else "killed")
            if is_new and isinstance(error, EyelineError):
                _remove_if_empty(folder, kind)
            raise
        _marker(folder, kind).unlink(missing_ok=True)


def _remove_if_empty(folder: Path, kind: str) -> None:
    """Remove the folder of a run that was refused before it wrote anything."""
    own = {_marker(folder, kind), folder / f".{kind}.lock"}
    if set(folder.iterdir()) <= own:
        for path in own:
            path.unlink(missing_ok=True)
        folder.rmdir()


def statuses(folder: Path) -> dict[str, Status]:
    """Kind → the status of the latest run of that kind in a folder.

    While a new run is written, an earlier finished run of that kind can still be opened.
    """
    finished = kinds_in(folder)
    result: dict[str, Status] = {}
    for kind in KINDS:
        if _marker(folder, kind).is_file():
            result[kind] = _marked(folder, kind)
        elif kind in finished:
            result[kind] = "finished"
    return result


def _marker(folder: Path, kind: str) -> Path:
    return folder / f".{kind}.status.json"


def _mark(folder: Path, kind: str, status: Status) -> None:
    write_whole(_marker(folder, kind), [json.dumps({"status": status}).encode()])


def _marked(folder: Path, kind: str) -> Status:
    """What the file says; a run that says that it is running, but does not hold the lock, was killed."""
    try:
        data = json.loads(_marker(folder, kind).read_bytes())
        status = data.get("status") if isinstance(data, dict) else None
    except (OSError, ValueError, RecursionError):
        status = None
    if status == "failed":
        return "failed"
    return "running" if status == "running" and is_locked(folder / f".{kind}.lock") else "killed"
