"""Values written so that two commits can be compared: JSON in a fixed order, every float with all its digits, no paths, no times."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

#: What differs from run to run or from machine to machine, and is left out of facts and of JSON files: how long steps took, versions of
#: libraries, and checksums of files that hold one of these.
DROPPED = ("seconds", "versions")
#: Only of JSON files as they are written: checksums of the file itself.
SEALS = ("sha256",)

#: A longer line of a page, or text of an element of the app, is written as its checksum.
LONGEST = 4000


class Output:
    """The folder that is written.

    texts     what holds no floats and is the same on every machine: committed, or its hash
    numbers   what is compared on one machine only
    saved     files as users save them, opened again by later commits
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.saved = folder / "saved"

    def text(self, name: str, value: Any) -> None:
        self._write(f"texts/{name}", value)

    def number(self, name: str, value: Any) -> None:
        self._write(f"numbers/{name}", value)

    def _write(self, name: str, value: Any) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.clean(value if isinstance(value, str) else dump(value)), encoding="utf-8")

    def clean(self, text: str) -> str:
        """Without the names of folders of this machine."""
        return text.replace(str(self.folder.resolve()), "OUT").replace(str(self.folder), "OUT")


def dump(value: Any) -> str:
    """JSON, one entry a line down to lists of numbers, which stand in one line each."""
    return "\n".join(_lines(plain(value), "")) + "\n"


def _lines(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        entries = [(f"{indent} {json.dumps(key, ensure_ascii=False)}: ", item) for key, item in value.items()]
        brackets = "{}"
    elif isinstance(value, list) and any(isinstance(item, dict | list) and item for item in value):
        entries, brackets = [(indent + " ", item) for item in value], "[]"
    else:
        yield indent + json.dumps(value, ensure_ascii=False)
        return
    yield indent + brackets[0]
    for number, (begin, item) in enumerate(entries, start=1):
        first, *rest = _lines(item, indent + " ")
        lines = [begin + first.strip(), *rest]
        yield from lines[:-1]
        yield lines[-1] + ("," if number < len(entries) else "")
    yield indent + brackets[1]


def plain(value: Any) -> Any:
    """A value as JSON has it: records as mappings, arrays as lists, bytes as their checksum."""
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape), "dtype": str(value.dtype), "values": value.ravel().tolist()}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, bytes):
        return f"{len(value)} bytes, sha256 {hashlib.sha256(value).hexdigest()}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value) if not field.name.startswith("_")}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return f"<{type(value).__name__}>"


def without(value: Any, names: tuple[str, ...] = DROPPED) -> Any:
    """The same without the entries of these names, at any depth."""
    if isinstance(value, dict):
        return {key: without(item, names) for key, item in value.items() if key not in names}
    return [without(item, names) for item in value] if isinstance(value, list) else value


def readable_page(page: str) -> str:
    """A page with the checksum of each long line (code, figures), without the ids that Plotly draws at random and without seconds."""
    page = re.sub(r"&quot;seconds&quot;: \{[^}]*\}", "", page)
    lines = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", page).split("\n")
    return "\n".join(line if len(line) <= LONGEST else plain(line.encode()) for line in lines)


def wording(text: str) -> str:
    """The words of a text, # for each number: what is left of a table of numbers is the same on every machine.

    >>> wording("L2·H11   1.386 nats,\\nL0·H3   0.12 nats,\\n40 texts")
    'L#·H# # nats,\\n# texts\\n'
    """
    numbered = re.sub(r"L\d+(·|-)?H\d+", r"L#\1H#", re.sub(r"(?<![A-Za-z\d])[-+−≥]?\d([\d,:]|\\?\.\d)*(e[-+]?\d+)?", "#", text))
    lines = (re.sub(r"[ ─━]+", " ", line).strip() for line in numbered.split("\n"))
    return "".join(f"{line}\n" for line in dict.fromkeys(lines))
