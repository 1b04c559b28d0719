"""Where results go: JSON to the terminal and a file, and docs/results.md.

docs/results.md is made of sections, each written whole by one command; `put_section` replaces a section and leaves the others alone.

    from benchmarks.output import put_section
    put_section("grammar", "## What heads know of grammar …")

A section stands between `<!-- grammar -->` and `<!-- /grammar -->`. A new one is put at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL import Image

ROOT = Path(__file__).parents[1]
GIT = shutil.which("git") or "git"
RESULTS = ROOT / "docs" / "results.md"
PICTURES = ROOT / "docs" / "pictures"
#: Corpora, which are read where they lie and are not part of this repository.
DATA = Path(os.environ.get("EYELINE_DATA", ROOT.parent / "shared" / "data"))


def made_with() -> dict[str, str]:
    """The commit, the day and the machine of what is measured now. A commit with a + had changes that were not committed."""
    try:
        commit = subprocess.check_output([GIT, "rev-parse", "--short=7", "HEAD"], cwd=ROOT, text=True, stderr=subprocess.DEVNULL).strip()
        changed = subprocess.check_output([GIT, "status", "--porcelain", "-uno", "--", "src", "*.py"], cwd=ROOT, text=True)
        commit += "+" if changed.strip() else ""
    except (OSError, subprocess.CalledProcessError):  # a copy without its history
        commit = os.environ.get("EYELINE_COMMIT", "not known")
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    return {"commit": commit, "date": datetime.now(UTC).date().isoformat(), "machine": machine}


def made_line(origin: dict[str, str] | None) -> str:
    """Where numbers come from, as the last line of their section.

    >>> made_line({"commit": "1234567", "date": "2026-11-16", "machine": "2 cores"})
    'Measured with commit 1234567 on 2026-11-16 (2 cores).'
    """
    if not origin:
        return "Measured before the commit was noted."
    return f"Measured with commit {origin['commit']} on {origin['date']} ({origin['machine']})."


def give(results: Any, output: Path | None) -> None:
    """Print what was measured as JSON, with the commit it was measured with, and write it to a file where one was given."""
    if isinstance(results, dict):
        results = {**results, "made_with": made_with()}
    text = json.dumps(results, indent=1)
    print(text)
    if output is not None:
        output.write_text(text + "\n", encoding="utf-8")


def put_section(name: str, text: str, path: Path = RESULTS, origin: dict[str, str] | bool | None = True) -> None:
    """Write `text` (Markdown) as the section of that name.

    origin where its numbers come from: True: they were measured now; a record that `made_with` gave then; None: the text says it itself
    """
    if origin:
        text = f"{text.strip()}\n\n{made_line(made_with() if origin is True else origin)}"
    opening, closing = f"<!-- {name} -->", f"<!-- /{name} -->"
    section = f"{opening}\n{text.strip()}\n{closing}\n"
    page = path.read_text(encoding="utf-8")
    if opening not in page:
        page = f"{page.rstrip()}\n\n{section}"
    else:
        before, _, rest = page.partition(opening)
        _, end_mark, after = rest.partition(closing)
        if not end_mark:
            raise ValueError(f"{path}: {opening} is opened but not closed")
        page = before + section + after.removeprefix("\n")
    path.write_text(page, encoding="utf-8")


def section_parser(about: str | None) -> argparse.ArgumentParser:
    """The options of a command that writes a section of docs/results.md."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the corpora")
    parser.add_argument("--print", action="store_true", help="print the section instead of writing it")
    return parser


def existing(path: Path) -> Path:
    """The path of a corpus; the command ends where it is not there."""
    if not path.exists():
        raise SystemExit(f"{path}: not there. --data says where it lies.")
    return path


def save_picture(picture: Image.Image, path: Path, origin: dict[str, str] | None = None) -> None:
    """Write a PNG that carries the commit and the day it was made with; `picture_origin` reads them back."""
    from PIL.PngImagePlugin import PngInfo

    origin = made_with() if origin is None else origin
    carried = PngInfo()
    for name in ("commit", "date"):
        carried.add_text(name, origin[name])
    picture.save(path, "png", optimize=True, pnginfo=carried)


def gif_comment() -> bytes:
    """What a moving picture carries: the commit and the day it was recorded with."""
    origin = made_with()
    return f"commit {origin['commit']} date {origin['date']}".encode()


def picture_origin(path: Path) -> dict[str, str]:
    """The commit and the day that a PNG or a GIF of ours carries; empty where it carries none."""
    from PIL import Image

    with Image.open(path) as picture:
        if path.suffix == ".gif":
            words = bytes(picture.info.get("comment", b"")).decode().split()
            return dict(zip(words[::2], words[1::2], strict=True))
        return {name: str(picture.info[name]) for name in ("commit", "date") if name in picture.info}


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    """A table as Markdown.

    >>> print(markdown_table(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("|" + "|".join(line) + "|" if line[0] == "---" else "| " + " | ".join(line) + " |" for line in lines)
