"""docs/project/coverage.md as records: each thing asked for, what answers it, and the code in that cell. Three test modules read it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "project" / "coverage.md"
KINDS = ("call", "slow call", "command", "slow command", "view", "app", "page")


@dataclass(frozen=True)
class Answer:
    """A row of the page. code: what stands between backticks in its last cell."""

    asked_for: str
    kind: str
    cell: str

    @property
    def code(self) -> tuple[str, ...]:
        return tuple(re.findall(r"`([^`]+)`", self.cell))


def page_text() -> str:
    return PAGE.read_text(encoding="utf-8")


def answers(*kinds: str) -> list[Answer]:
    """The rows of these kinds, in the order of the page."""
    rows = re.findall(rf"^\| (.+?) \| ({'|'.join(KINDS)}) \| (.+) \|$", page_text(), re.MULTILINE)
    return [Answer(*row) for row in rows if row[1] in kinds]
