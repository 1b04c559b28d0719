"""A folder of files that can be computed again: limited in bytes, the least recently used removed first. Processes may share it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import filelock

from eyeline.storage.files import sweep


@dataclass
class FolderCache:
    """One file for each entry, named by its key: a hash in hexadecimal digits, at least two.

    Entries are written by `replacing`, so that a process killed half-way leaves nothing that is ever read.

    also_read   folders that are looked into where this one has no entry, and are never written
    """

    folder: Path
    max_bytes: int
    ending: str
    also_read: Sequence[Path] = ()

    def find(self, key: str) -> Path | None:
        """The file of an entry, or None."""
        return next((path for folder in (self.folder, *self.also_read) if (path := self._path(folder, key)).is_file()), None)

    def mark_used(self, path: Path) -> None:
        """The entry was used now. It may have been removed in the meantime."""
        with contextlib.suppress(OSError):
            os.utime(path)

    def put(self, key: str, write: Callable[[Path], object]) -> None:
        """Write an entry, and remove others where there is no room. Problems are an OSError."""
        path = self._path(self.folder, key)
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path)
        self._make_room()

    def clear(self) -> int:
        """Remove every entry; how many there were."""
        entries = self._entries()
        for path in entries:
            path.unlink(missing_ok=True)
        return len(entries)

    def size(self) -> int:
        """Bytes in use."""
        return sum(_used(path)[1] for path in self._entries())

    def _path(self, folder: Path, key: str) -> Path:
        return folder / key[:2] / f"{key}{self.ending}"

    def _entries(self) -> list[Path]:
        return list(self.folder.glob(f"??/*{self.ending}"))

    def _make_room(self) -> None:
        with filelock.FileLock(self.folder / ".lock"):
            entries = sorted((*_used(path), path) for path in self._entries())
            total = sum(size for _, size, _ in entries)
            for _, size, path in entries:
                if total <= self.max_bytes:
                    break
                path.unlink(missing_ok=True)
                total -= size
            for folder in self.folder.glob("??"):
                sweep(folder)


def _used(path: Path) -> tuple[float, int]:
    """When a file was last used, and its bytes; zeros where another process has removed it."""
    try:
        facts = path.stat()
        return facts.st_mtime, facts.st_size
    except FileNotFoundError:
        return 0.0, 0
