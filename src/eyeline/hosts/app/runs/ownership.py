"""Whose run a folder is, its title, how many runs a visitor may keep, and for how long."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from eyeline.hosts.app.settings import Limits
from eyeline.hosts.app.workspace import Workspace, modified
from eyeline.storage.files import write_whole
from eyeline.text.printable import printable

#: A file beside run.json that says who ran it. A run without this file was written by the command line; everybody may see it.
FILE = "app.json"
LONGEST_TITLE = 80


@dataclass(frozen=True)
class Ownership:
    """owner: the visitor's id. title: what the owner calls the run. request: the key of the request (`request_key`)."""

    owner: str
    title: str = ""
    request: str = ""


@dataclass(frozen=True)
class Share:
    """What a visitor keeps now: runs, and their bytes."""

    runs: int
    bytes: int

    def excess(self, limits: Limits) -> tuple[str, dict[str, str | int]] | None:
        """The message (under `jobs`) that refuses a further run, and the values in it; None where there is room."""
        if self.runs >= limits.runs_each:
            return "too_many_runs", {"n": self.runs, "most": limits.runs_each}
        if self.bytes >= limits.bytes_each:
            return "too_many_bytes", {"n": self.bytes // 1_000_000, "most": limits.bytes_each // 1_000_000}
        return None


def read_ownership(folder: Path) -> Ownership | None:
    """Who ran it in the app; None for a run of the command line. A damaged file gives an empty owner, which no visitor has."""
    if not (folder / FILE).exists():
        return None
    try:
        data: Any = json.loads((folder / FILE).read_text(encoding="utf-8"))
        title = printable(str(data.get("title", "")))[:LONGEST_TITLE]
        return Ownership(str(data.get("owner", "")), title, str(data.get("request", "")))
    except (OSError, ValueError, AttributeError, RecursionError):
        return Ownership("")


def write_ownership(folder: Path, ownership: Ownership) -> None:
    write_whole(folder / FILE, [json.dumps(asdict(ownership)).encode()])


def is_own(folder: Path, visitor: str) -> bool:
    """Whether this visitor ran it, and so may rename and delete it."""
    ownership = read_ownership(folder)
    return ownership is not None and bool(visitor) and ownership.owner == visitor


def rename(folder: Path, visitor: str, title: str) -> None:
    """Give an own run a title; other runs stay as they are."""
    ownership = read_ownership(folder)
    if ownership is not None and is_own(folder, visitor):
        before = (folder / FILE).stat().st_mtime
        write_ownership(folder, replace(ownership, title=" ".join(title.split())[:LONGEST_TITLE]))
        os.utime(folder / FILE, (before, before))  # a rename does not keep a run for longer


def delete(folder: Path, visitor: str) -> None:
    """Delete an own run; other runs stay."""
    if is_own(folder, visitor):
        shutil.rmtree(folder, ignore_errors=True)


def share_of(workspace: Workspace, visitor: str) -> Share:
    """How much a visitor keeps."""
    folders = [folder for folder in workspace.runs().values() if is_own(folder, visitor)]
    return Share(len(folders), sum(_bytes_of(path) for folder in folders for path in folder.rglob("*")))


def _bytes_of(path: Path) -> int:
    """Of a file; 0 for a folder, and for a file that another visit is deleting just now."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0


def remove_expired(workspace: Workspace, limits: Limits) -> None:
    """Delete the visitors' runs that are older than the limit says. Runs of the command line stay."""
    oldest = time.time() - limits.keep_days * 24 * 3600
    for folder in workspace.runs().values():
        if modified(folder / FILE, missing=oldest) < oldest:
            shutil.rmtree(folder, ignore_errors=True)
