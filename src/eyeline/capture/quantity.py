"""What the numbers of a trace are, where they are not attention weights: the record that travels with the trace and its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from eyeline.errors import TraceError

#: Where a trace keeps the record: `trace.about[KEY]`.
KEY = "quantity"


@dataclass(frozen=True)
class Quantity:
    """A quantity between tokens that is not attention itself.

    method    how it was computed, by the name that `el.attribute` takes
    name      its name in words, for titles
    signed    whether numbers below zero mean something: then colours have two sides
    answer    the token or label that the numbers are about; empty where they are about none
    position  the token at which the answer is read
    scores    one number a token: how much it counts for the answer (or for the token at `position`)
    """

    method: str
    name: str
    signed: bool
    answer: str
    position: int
    scores: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "scores": list(self.scores)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Quantity:
        try:
            return cls(
                method=str(data["method"]),
                name=str(data["name"]),
                signed=bool(data["signed"]),
                answer=str(data["answer"]),
                position=int(data["position"]),
                scores=tuple(map(float, data["scores"])),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise TraceError(f"This trace names a quantity that cannot be read: {error}.", "Compute it again: el.attribute(…).") from error
