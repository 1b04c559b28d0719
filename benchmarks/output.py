"""Where results go: JSON to the terminal and a file, and docs/results.md.

docs/results.md is made of sections, each written whole by one command; `put_section` replaces a section and leaves the others alone.

    from benchmarks.output import put_section
    put_section("grammar", "## What heads know of grammar …")

A section stands between `<!-- grammar -->` and `<!-- /grammar -->`. A new one is put at the end.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "docs" / "results.md"


def give(results: Any, output: Path | None) -> None:
    """Print what was measured as JSON, and write it to a file where one was asked for."""
    text = json.dumps(results, indent=1)
    print(text)
    if output is not None:
        output.write_text(text + "\n", encoding="utf-8")


def put_section(name: str, text: str, path: Path = RESULTS) -> None:
    """Write `text` (Markdown) as the section of that name."""
    opening, closing = f"<!-- {name} -->", f"<!-- /{name} -->"
    section = f"{opening}\n{text.strip()}\n{closing}\n"
    page = path.read_text(encoding="utf-8")
    if opening not in page:
        page = f"{page.rstrip()}\n\n{section}"
    else:
        before, _, rest = page.partition(opening)
        _, result, after = rest.partition(closing)
        if not result:
            raise ValueError(f"{path}: {opening} is opened but not closed")
        page = before + section + after.removeprefix("\n")
    path.write_text(page, encoding="utf-8")


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    """A table as Markdown.

    >>> print(markdown_table(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("|" + "|".join(line) + "|" if line[0] == "---" else "| " + " | ".join(line) + " |" for line in lines)
