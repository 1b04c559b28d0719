"""A family of attacks: how many were tried, how many held, and what the others did."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

from eyeline import EyelineError


@dataclass
class Family:
    """Counts of one kind of attack. `rule` says when an attack has held."""

    name: str
    rule: str
    held: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def tried(self) -> int:
        return self.held + len(self.failures)

    def check(self, what: str, attack: Callable[[], str | None]) -> None:
        """Run one attack. It has held if it ends in our own error, or returns None; a string says what went wrong."""
        try:
            problem = attack()
        except EyelineError:
            problem = None
        except Exception as error:  # noqa: BLE001 - any other exception is what we look for
            where = traceback.extract_tb(error.__traceback__)[-1]
            problem = f"{type(error).__name__}: {str(error)[:160]} ({where.filename.rsplit('/', 1)[-1]}:{where.lineno})"
        if problem is None:
            self.held += 1
        else:
            self.failures.append(f"{what}: {problem}")
