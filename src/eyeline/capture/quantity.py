"""What the numbers of a trace are, where they are not attention weights: the record that travels with the trace and its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from eyeline.errors import TraceError

#: Where a trace keeps the record: `trace.about[KEY]`.
KEY: Final = "quantity"


@dataclass(frozen=True)
class Quantity:
    """A quantity between tokens that is not attention itself.

    method    how it was computed, by the name that `el.attribute` takes
    name      its name in words, for titles
    signed    whether numbers below zero mean something: then colours have two sides
    answer    the token or label that the numbers are about; empty where they are about none
    position  the token at which the answer is read
    scores    one number per token: how much it counts for the answer (or for the token at `position`)
    """

    method: str
    name: str
    signed: bool
    answer: str
    position: int
    scores: tuple[float, ...]

    def at_word_level(self, groups: Sequence[Sequence[int]]) -> Quantity:
        """One number per word, the sum over its pieces. groups: the token positions of each word; see `TokenizedText.word_groups`.

        >>> Quantity("m", "M", False, "", 2, (1.0, 2.0, 3.0)).at_word_level([[0], [1, 2]])
        Quantity(method='m', name='M', signed=False, answer='', position=1, scores=(1.0, 5.0))
        """
        if len(groups) == len(self.scores):
            return self
        position = next(index for index, group in enumerate(groups) if self.position in group)
        return replace(self, position=position, scores=tuple(sum(self.scores[i] for i in group) for group in groups))

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
