"""Files and folders: names that are safe as paths, writing whole or not at all, locks, and several files replaced together."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import filelock
from safetensors import SafetensorError

from eyeline.errors import EyelineError, StorageError

# ---- Names that come from a file or a visitor, made into paths; every such name goes through here


#: Longer names do not fit into most file systems once an ending is added.
LONGEST = 120

#: Separators, drive letters and what Windows does not allow in a name.
REFUSED = frozenset('/\\:*?"<>|~')


def is_plain_name(name: object) -> bool:
    """Whether a name is that of a file directly in a folder: no separators, no drive, no `..`, not hidden, no control characters.

    >>> [is_plain_name(name) for name in ("entropy", "..", "a/b", "/etc", "C:x", ".hidden", "a\\0b", "", 3)]
    [True, False, False, False, False, False, False, False, False]
    """
    return (
        isinstance(name, str)
        and 0 < len(name) <= LONGEST
        and name.isprintable()
        and name == name.strip()
        and name[0] != "."
        and not REFUSED & set(name)
    )


def path_in(folder: Path, name: object, ending: str = "") -> Path:
    """The path of a name directly in a folder; a name that could lead anywhere else is refused.

    >>> path_in(Path("run/tables"), "entropy", ".csv").as_posix()
    'run/tables/entropy.csv'
    >>> path_in(Path("run/tables"), "../../secret", ".csv")
    Traceback (most recent call last):
    eyeline.errors.StorageError: '../../secret' is no name for a file in a folder.
      Names have no slashes, colons, control characters or leading dots, and at most 120 characters.
    """
    if not is_plain_name(name):
        raise StorageError(
            f"{str(name)[:80]!r} is no name for a file in a folder.",
            f"Names have no slashes, colons, control characters or leading dots, and at most {LONGEST} characters.",
        )
    return folder / f"{name}{ending}"


def as_path(given: object) -> Path:
    """What a person gave as the path of a file or folder; an empty string, and anything else than a string or a path, is refused.

    >>> as_path(5)
    Traceback (most recent call last):
    eyeline.errors.StorageError: A path given as int.
      Give a string or a pathlib.Path.
    """
    if not isinstance(given, str | os.PathLike) or not isinstance(os.fspath(given), str):
        raise StorageError(f"A path given as {type(given).__name__}.", "Give a string or a pathlib.Path.")
    if given == "":
        raise StorageError("'' is no name for a file or folder.", "The current folder is '.'.")
    return Path(given)


# ---- Links within a folder of ours


def within(folder: Path, path: Path) -> Path:
    """A path below a folder; one that leads out of it through a link is refused: a folder of ours is read and written by itself."""
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # a link to itself
        inside = False
    if not inside:
        raise StorageError(f"{path} leads out of its folder through a link.", "Put the file itself there, or remove the link.")
    return path


# ---- Files written whole or not at all, and flushed to the disk before they count as written


#: The name of a folder for what is half-written. Only such names are ever removed: they carry our own mark.
PART = re.compile(r"\.eyeline-[0-9a-f]{16}\.part")

#: Seconds after which such a folder counts as abandoned.
STALE = 3600


def new_part(folder: Path) -> Path:
    """The path of a new folder in this one for what is half-written; `sweep` removes it if this process is killed."""
    return folder / f".eyeline-{secrets.token_hex(8)}.part"


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary file for `path`. It replaces `path` when all went well, and is removed when not: a full disk changes nothing.

    It lies in a folder of its own beside `path`, with what safetensors writes there for a moment.
    """
    path = as_path(path)
    if not path.name or "\0" in str(path):
        raise StorageError(f"{str(path)!r} is no name for a file.", "Give a file name, such as cat.safetensors or cat.html.")
    part = new_part(path.parent)
    temporary = part / path.name
    try:
        try:
            part.mkdir()
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            mode = temporary.stat().st_mode
            yield temporary
            temporary.chmod(mode)  # safetensors writes a file of its own, for its owner alone
            flush(temporary)
            os.replace(temporary, path)
            flush(path.parent)
        finally:
            remove(part)
    except (OSError, SafetensorError) as error:
        if isinstance(error, EyelineError):
            raise
        raise unwritable(path, error, "Nothing was changed.") from error


def write_whole(path: str | Path, parts: Iterable[bytes]) -> None:
    """Write the parts one after the other to `path`, whole or not at all."""
    with replacing(path) as beside, beside.open("wb") as file:
        for part in parts:
            file.write(part)


def flush(path: Path) -> None:
    """Ask the system to write a file, or the list of names of a folder, to the disk. Systems that cannot open folders skip those."""
    if path.is_dir() and os.name == "nt":
        return
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def make_folder(path: Path) -> None:
    """A folder for files, with those above it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StorageError(f"{path}: cannot be made a folder ({reason}).", "Choose another folder.") from error


class UnwritableError(StorageError):
    """The system did not let us write a file or folder. reason: what it said."""

    reason = ""


def unwritable(path: Path, error: Exception | str, state: str = "") -> UnwritableError:
    """The error for a file or folder that the system did not let us write. state: what is there now."""
    reason = getattr(error, "strerror", None) or str(error)
    problem = UnwritableError(f"{path}: cannot be written ({reason}).", f"{state} Choose another folder, or free some space.".lstrip())
    problem.reason = reason
    return problem


def sweep(folder: Path, *, older_than: float = STALE) -> None:
    """Remove what killed processes left half-written in a folder. What processes may still write stays."""
    oldest = time.time() - older_than
    for path in folder.glob(".eyeline-*.part"):
        if PART.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            with contextlib.suppress(OSError):  # another process removes it too
                if max(entry.lstat().st_mtime for entry in (path, *path.rglob("*"))) < oldest:
                    remove(path)


def remove(path: Path) -> None:
    """Remove a file, a link or a whole folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


# ---- A lock file in a folder: one process at a time; the system releases it when the process ends, however it ends


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


@contextmanager
def locked_folder(folder: Path, name: str, *, wait: float, busy: str, advice: str) -> Iterator[None]:
    """Make a folder and hold its lock. A block that fails leaves neither a new lock nor a new folder without content."""
    has_folder, has_lock = os.path.exists(folder), os.path.exists(folder / name)
    make_folder(folder)
    try:
        with locked(folder, name, wait=wait, busy=busy, advice=advice):
            try:
                yield
            except BaseException:
                if not has_lock:
                    with contextlib.suppress(OSError):  # Windows removes no file that is open
                        (folder / name).unlink(missing_ok=True)
                raise
    except BaseException:
        if not has_folder:
            with contextlib.suppress(OSError):  # not empty: what was computed for this run stays
                folder.rmdir()
        raise


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


# ---- Several files of a folder replaced together: a process killed at any moment leaves all of the old files or all of the new ones


#: The folder of complete new files that are being moved to their paths. Where it exists, the new files count.
READY = ".eyeline-ready"

LOCK = ".save.lock"

#: How many seconds a second writer waits for the first.
WAIT = 120


@contextmanager
def replacing_together(folder: Path, last: str) -> Iterator[Path]:
    """An empty folder for new files. When all went well, each replaces the file of the same name in `folder`, or is added to it.

    The new files are complete and flushed before the first is moved. `last` is moved after all others. If the process is killed while
    files are moved, the next call moves the rest; until then `latest` finds them where they are. A call that fails leaves nothing new.
    """
    try:
        with _only_writer(folder):
            part = new_part(folder)
            try:
                _finish(folder, last)
                sweep(folder)
                part.mkdir()
                yield part
                for path in sorted(part.rglob("*")):
                    flush(path)
                flush(part)
                part.rename(folder / READY)
                flush(folder)
                _finish(folder, last)
            except BaseException:
                remove(part)
                raise
    except Exception as error:
        if isinstance(error, UnwritableError):  # its file lies in a temporary folder, which the user does not know
            raise unwritable(folder, error.reason) from error
        if isinstance(error, OSError) and not isinstance(error, EyelineError):
            raise unwritable(folder, error) from error
        raise


def latest(folder: Path, path: Path) -> Path:
    """Where to read this file of a folder now: a killed process may have left it among the new files. Nothing is moved."""
    moved = folder / READY / path.relative_to(folder)
    return within(folder, moved if _is_ready(folder) and moved.is_file() else path)


def is_half_moved(folder: Path) -> bool:
    """Whether new files are being moved to their paths in a folder, or were when a process was killed."""
    return os.path.lexists(folder / READY)


def _is_ready(folder: Path) -> bool:
    """Whether a folder has new files of ours: a link is not ours."""
    return os.path.isdir(folder / READY) and not os.path.islink(folder / READY)  # False for a name that no folder can have


def _finish(folder: Path, last: str) -> None:
    """Move the new files to their paths, where there are any. No file is moved from or to a place outside the folder."""
    ready = folder / READY
    if not is_half_moved(folder):
        return
    if not _is_ready(folder):
        raise StorageError(f"{ready} is not a folder that eyeline wrote.", "Remove it.")
    paths = [path for path in sorted(ready.rglob("*")) if not path.is_dir() or path.is_symlink()]
    for path in paths:
        if path.is_symlink():
            raise StorageError(f"{path} is a link, and not ours.", f"Remove {ready}.")
        within(folder, folder / path.relative_to(ready).parent)
    for path in sorted(paths, key=lambda path: path.relative_to(ready) == Path(last)):
        target = folder / path.relative_to(ready)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, target)
        flush(target.parent)
    remove(ready)


def _only_writer(folder: Path) -> AbstractContextManager[None]:
    """Two processes that save at once write one after the other."""
    busy = f"another process has been saving here for {WAIT} s."
    return locked_folder(folder, LOCK, wait=WAIT, busy=busy, advice="Wait for it, or choose another folder.")
