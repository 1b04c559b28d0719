"""The only folder that the app reads and writes, whatever a visitor types."""

from __future__ import annotations

import re
import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from eyeline.errors import StorageError
from eyeline.storage.names import is_plain_name

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
        from eyeline.results.folder import FACTS_FILE  # with NumPy, which `eyeline --help` need not import

        folders = [path for path in self._folders(RUNS) if (path / FACTS_FILE).is_file()]
        return {path.name: path for path in sorted(folders, key=lambda path: modified(path / FACTS_FILE), reverse=True)}

    def samples(self) -> dict[str, Path]:
        """Runs of the built-in sample by name."""
        from eyeline.results.folder import FACTS_FILE

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
