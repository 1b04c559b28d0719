"""The public address of the repository, in one line. It is not known yet: until then OWNER stands for it.

    python -m scripts.repository someone/eyeline

writes the address here and into every tracked text file that holds the old one (the notebooks' badges).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
GIT = shutil.which("git") or "git"
ADDRESS = "OWNER/eyeline"


def fill(new: str, root: Path = ROOT) -> list[str]:
    """Put the new address into every tracked file; the files that changed."""
    changed = []
    for name in subprocess.check_output([GIT, "ls-files", "-z"], cwd=root, text=True).split("\0"):
        path = root / name
        if not path.is_file() or path.suffix not in {".py", ".md", ".ipynb", ".toml", ".yml", ".cff", ".txt"}:
            continue
        text = path.read_text(encoding="utf-8")
        if ADDRESS in text:
            path.write_text(text.replace(ADDRESS, new), encoding="utf-8")
            changed.append(name)
    return changed


if __name__ == "__main__":
    for name in fill(sys.argv[1]):
        print(name)
