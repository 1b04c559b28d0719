"""Finished runs as results of later requests: nothing is measured twice."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from eyeline.errors import EyelineError
from eyeline.hosts.app.runs.ownership import Ownership, read_ownership, write_ownership
from eyeline.hosts.app.workspace import Workspace
from eyeline.models.embedded import EMBEDDED
from eyeline.version import __version__


def request_key(page: str, source: str, text: bytes, options: object, language: str) -> str:
    """The key of a request: two requests with the same key have the same result.

    page      the page that shows the result
    source    what `load` takes for the model; where it is a folder, the names, sizes and times of its files count too
    text      the bytes that are read
    options   everything else that the visitor chose; its repr counts
    language  the language of the report
    """
    parts = (__version__, page, source, _files_of(source), hashlib.sha256(text).hexdigest(), repr(options), language)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def _files_of(source: str) -> list[tuple[str, int, int]]:
    """Name, size and time of the files of a model on this machine."""
    embedded = next((model.find() for model in EMBEDDED if model.name == source), None)
    folder = embedded or Path(source)
    files = sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
    return [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]


def find_finished(workspace: Workspace, request: str, owner: str = "") -> Path | None:
    """A finished run of the same request: first one of this visitor, then any other; None where there is none."""
    if not request:
        return None
    owners = {folder: read_ownership(folder) for folder in (*workspace.samples().values(), *workspace.runs().values())}
    same = [folder for folder, known in owners.items() if known is not None and known.request == request]
    return min(same, key=lambda folder: _owner(owners[folder]) != owner, default=None)


def _owner(ownership: Ownership | None) -> str:
    return "" if ownership is None else ownership.owner


def copy_finished(finished: Path, folder: Path, owner: str, request: str) -> bool:
    """Copy a finished run into a folder of this visitor. False where the run was deleted meanwhile."""
    unfinished = folder.with_name(f".{folder.name}")
    try:
        shutil.copytree(finished, unfinished, copy_function=_link)
        write_ownership(unfinished, Ownership(owner, request=request))
        unfinished.replace(folder)
    except (OSError, EyelineError):
        return False
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return True


def _link(source: str, target: str) -> None:
    """A hard link; a copy where the file system has none. Safe, since files of runs are replaced, never changed in place."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
