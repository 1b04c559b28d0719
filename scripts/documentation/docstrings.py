"""Docstrings as Markdown. They are plain text in the code: columns of names and meanings become lists, examples become code."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

COLUMNS = re.compile(r"^(\S(?:.*?\S)?) {2,}(\S.*)$")


class Columns(Extension):
    """Called by mkdocstrings for every object that it has read."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """A docstring's text as Markdown."""
    return "\n\n".join(_paragraph(part.split("\n")) for part in re.split(r"\n{2,}", text.strip("\n")))


def _paragraph(lines: list[str]) -> str:
    if lines[0].startswith(">>>"):
        return "\n".join(["```python", *lines, "```"])
    if lines[0].startswith("    "):
        return "\n".join(["```text", *(line[4:] for line in lines), "```"])
    written: list[str] = []
    in_list = False
    for line in lines:
        columns = COLUMNS.match(line)
        if columns and not re.search(r"[.;:,]$", columns[1]):
            written += ["", f"- `{columns[1]}`: {columns[2]}"][in_list or not written :]
            in_list = True
        elif in_list and line.startswith("  "):
            written[-1] += " " + line.strip()
        else:
            written += ["", line][not in_list :]
            in_list = False
    return "\n".join(written)
