"""Several files of a folder replaced together: a process killed at any moment leaves all of the old files or all of the new ones."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from eyeline.errors import EyelineError, StorageError
from eyeline.storage.files import flush, make_folder, remove, sweep, unwritable
from eyeline.storage.locks import locked

#: The folder of complete new files that are being moved to their paths. Where it exists, the new files count.
READY = ".ready"
LOCK = ".save.lock"
#: How many seconds a second writer waits for the first.
WAIT = 120


@contextmanager
def replacing_together(folder: Path, last: str) -> Iterator[Path]:
    """An empty folder for new files. When all went well, each replaces the file of the same name in `folder`, or is added to it.

    The new files are complete and flushed before the first is moved. `last` is moved after all others. If the process is killed while
    files are moved, `finish` moves the rest, whoever calls it.
    """
    make_folder(folder)
    with _only_writer(folder):
        _finish(folder, last)
        sweep(folder)
        building = folder / f".{secrets.token_hex(8)}.part"
        try:
            building.mkdir()
            yield building
            for path in sorted(building.rglob("*")):
                flush(path)
            flush(building)
            building.rename(folder / READY)
            flush(folder)
            _finish(folder, last)
        except OSError as error:
            if isinstance(error, EyelineError):
                raise
            raise unwritable(folder, error) from error
        finally:
            remove(building)


def finish(folder: Path, last: str) -> None:
    """Complete a replacement that a killed process began. Nothing is done, and nothing needs to be writable, where there is none."""
    if not os.path.isdir(folder / READY):  # False for a name that no folder can have
        return
    with _only_writer(folder):
        try:
            _finish(folder, last)
        except OSError as error:
            if isinstance(error, EyelineError):
                raise
            raise StorageError(
                f"{folder}: its new files cannot be moved to their paths ({error.strerror or error}).",
                f"A save was killed there. Make the folder writable, or delete {folder / READY} to keep what was there before.",
            ) from error


def _finish(folder: Path, last: str) -> None:
    ready = folder / READY
    if not ready.is_dir():
        return
    paths = [path for path in sorted(ready.rglob("*")) if not path.is_dir() or path.is_symlink()]
    for path in sorted(paths, key=lambda path: path.relative_to(ready) == Path(last)):
        target = folder / path.relative_to(ready)
        if path.is_symlink() or not target.parent.resolve().is_relative_to(folder.resolve()):
            raise StorageError(f"{path} leads out of its folder.", f"Delete {ready}.")
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, target)
        flush(target.parent)
    remove(ready)


def _only_writer(folder: Path) -> AbstractContextManager[None]:
    """Two processes that save at once write one after the other."""
    busy = f"another process has been saving here for {WAIT} s."
    return locked(folder, LOCK, wait=WAIT, busy=busy, advice="Wait for it, or choose another folder.")
