"""The only folder that the app reads and writes, whatever a visitor types."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from eyeline.errors import StorageError
from eyeline.show.app.kit.settings import Limits
from eyeline.storage.files import is_plain_name, write_whole
from eyeline.text.tokenized import printable

MODELS, RUNS, SAMPLES = "models", "runs", "samples"

#: The name of a run's folder while it is written; seconds without a change after which such a folder counts as abandoned.
HALF, LEFT = re.compile(r"\.\d{4}-\d{2}-\d{2}-[0-9a-f]{16}"), 600


@dataclass(frozen=True)
class Workspace:
    """`models/` holds model folders, `runs/` finished runs, `samples/` runs of the built-in sample, ready to be copied.

    Names come from visitors: a name leads to a folder directly below, never out of the workspace.
    """

    root: Path

    def inside(self, *names: str) -> Path:
        """The path of these names below the root; a name that leads anywhere else, by dots, slashes or links, is refused.

        >>> Workspace(Path("/tmp/w")).inside("runs", "../../etc")
        Traceback (most recent call last):
        eyeline.errors.StorageError: '../../etc' is not a name inside the workspace.
          Give the name of something in it, without slashes or dots before it.
        """
        root = self.root.resolve()
        path = root
        for name in names:
            path = path / name
            if not is_plain_name(name) or not path.resolve().is_relative_to(root):
                raise StorageError(
                    f"{name[:80]!r} is not a name inside the workspace.",
                    "Give the name of something in it, without slashes or dots before it.",
                )
        return path

    def models(self) -> dict[str, Path]:
        """Model folders by name."""
        folders = [path for path in self._folders(MODELS) if (path / "config.json").is_file() or any(path.glob("*.gguf"))]
        return {path.name: path for path in folders if self.whole(path)}

    def runs(self) -> dict[str, Path]:
        """Finished runs by name, the newest first: a folder with run.json is one."""
        from eyeline.measure.runs.run import FACTS_FILE  # with NumPy, which `eyeline --help` need not import

        folders = [path for path in self._folders(RUNS) if (path / FACTS_FILE).is_file()]
        return {path.name: path for path in sorted(folders, key=lambda path: modified(path / FACTS_FILE), reverse=True)}

    def samples(self) -> dict[str, Path]:
        """Runs of the built-in sample by name."""
        from eyeline.measure.runs.run import FACTS_FILE

        return {path.name: path for path in self._folders(SAMPLES) if (path / FACTS_FILE).is_file()}

    def whole(self, folder: Path) -> bool:
        """Whether no link in a folder leads out of the workspace."""
        root = self.root.resolve()
        return all(path.resolve().is_relative_to(root) for path in [folder, *folder.rglob("*")])

    def new_run(self) -> Path:
        """The path of a folder for a new run, not created yet; its name cannot be guessed."""
        return self.inside(RUNS, f"{time.strftime('%Y-%m-%d')}-{secrets.token_hex(8)}")

    def sweep(self) -> None:
        """Remove what an app that was killed left half written."""
        for path in (self.root.resolve() / RUNS).glob(".*"):
            if HALF.fullmatch(path.name) and path.is_dir() and not path.is_symlink() and path.stat().st_mtime < time.time() - LEFT:
                shutil.rmtree(path, ignore_errors=True)

    def _folders(self, kind: str) -> list[Path]:
        root = self.root.resolve()
        folder = root / kind
        if not folder.resolve().is_relative_to(root) or not folder.is_dir():
            return []
        every = (path for path in folder.iterdir() if is_plain_name(path.name) and path.is_dir())
        return sorted(path for path in every if path.resolve().is_relative_to(root))


def modified(path: Path, *, missing: float = 0.0) -> float:
    """When a file was last written, in seconds since 1970; `missing` where it is gone, such as while another visit deletes its run."""
    try:
        return path.stat().st_mtime
    except OSError:
        return missing


# ---- Whose run a folder is, its title, how many runs a visitor may keep, and for how long


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
