"""A lock file in a folder: one process at a time. The system releases it when the process ends, however it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

from eyeline.errors import StorageError
from eyeline.storage.files import unwritable


@contextmanager
def locked(folder: Path, name: str, *, wait: float, busy: str, advice: str) -> Iterator[None]:
    """Hold the lock `name` in a folder. busy, advice: the error where another process holds it for longer than `wait` seconds."""
    lock = filelock.FileLock(folder / name)
    try:
        lock.acquire(timeout=wait)
    except filelock.Timeout as error:
        raise StorageError(f"{folder}: {busy}", advice) from error
    except OSError as error:
        raise unwritable(folder, error) from error
    try:
        yield
    finally:
        lock.release()


def is_locked(path: Path) -> bool:
    """Whether a process holds this lock file."""
    if not path.is_file():
        return False
    lock = filelock.FileLock(path)
    try:
        lock.acquire(timeout=0)
    except (filelock.Timeout, OSError):
        return True
    lock.release()
    return False
