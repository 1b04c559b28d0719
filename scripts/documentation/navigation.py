"""The site's table of contents: what mkdocs.yml lists, and after it every other page of the same folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any


def complete(nav: list[Any], docs: Path, further: Iterable[str]) -> list[Any]:
    """A page that mkdocs.yml does not list is put after those of its folder and before nested sections; or it gets its own section."""
    every = [path.relative_to(docs).as_posix() for path in sorted(docs.rglob("*.md"))]
    for page in [*every, *further]:
        if page in set(_pages(nav)):
            continue
        folder = page.rpartition("/")[0]
        section = next((entry for entry in nav if isinstance(entry, dict) and folder in _folders(entry)), None)
        if section is None:
            section = {folder.replace("-", " ").capitalize(): []}
            nav.append(section)
        entries = next(iter(section.values()))
        entries.insert(next((index for index, entry in enumerate(entries) if isinstance(entry, dict)), len(entries)), page)
    return nav


def _pages(entry: Any) -> Iterable[str]:
    if isinstance(entry, str):
        yield entry
    else:
        for part in entry if isinstance(entry, list) else entry.values():
            yield from _pages(part)


def _folders(section: dict[str, Any]) -> set[str]:
    """
    >>> sorted(_folders({"Start": ["start.md", "ja/start.md"]}))
    ['', 'ja']
    """
    return {page.rpartition("/")[0] for page in _pages(section)}
