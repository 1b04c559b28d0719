"""What a model answers to a text: labels, tokens or a span, each with its probability. Plain data, read without torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypedDict

#: masked: tokens at masks; next: the token that follows; label: a class of the text; labels: a class for each token; span: an answer within
#: the text; number: a value (regression).
AnswerKind = Literal["masked", "next", "label", "labels", "span", "number"]

#: What the head of a language model answers; what is one token or label, whose probability and gradient can be measured.
TOKEN_ANSWERS: tuple[AnswerKind, ...] = ("masked", "next")

ONE_ANSWER: tuple[AnswerKind, ...] = (*TOKEN_ANSWERS, "label")


@dataclass(frozen=True)
class Choices:
    """What a model answers at one position: the most probable first.

    position        the token at which the answer is read; None: the whole text
    tokens          tokens or labels, as they are shown; of a span, its text
    ids             their numbers in the vocabulary or in the list of labels; of a span, its first token
    probabilities   theirs; of a number, the value itself
    ends            of spans: the last token of each
    """

    position: int | None
    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    probabilities: tuple[float, ...]
    ends: tuple[int, ...] = ()


@dataclass(frozen=True)
class Prediction:
    """A model's answer to one text.

    kind       what kind of answer it is
    choices    one entry for each position that is answered: each mask, each token that gets a label; otherwise one
    """

    kind: AnswerKind
    choices: tuple[Choices, ...] = field(default=())

    @property
    def label(self) -> str:
        """The most probable label or token (of the first position)."""
        return self.choices[0].tokens[0]

    @property
    def tokens(self) -> tuple[str, ...]:
        """Labels or tokens of the first position, the most probable first."""
        return self.choices[0].tokens

    @property
    def ids(self) -> tuple[int, ...]:
        """Their numbers."""
        return self.choices[0].ids

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Their probabilities."""
        return self.choices[0].probabilities

    @property
    def positions(self) -> tuple[int | None, ...]:
        """The tokens at which answers are read."""
        return tuple(choices.position for choices in self.choices)

    @property
    def labels(self) -> tuple[str, ...]:
        """The most probable label at each position that is answered."""
        return tuple(choices.tokens[0] for choices in self.choices)

    @property
    def span(self) -> tuple[int, int] | None:
        """The first and the last token of the answer in the text; None for other kinds."""
        return (self.choices[0].ids[0], self.choices[0].ends[0]) if self.kind == "span" else None

    def probability_of(self, token: str, position: int = 0) -> float | None:
        """The probability of a label or token, where it is among the choices."""
        choices = self.choices[position]
        return dict(zip(choices.tokens, choices.probabilities, strict=True)).get(token)

    def __str__(self) -> str:
        """
        >>> print(Prediction("label", (Choices(None, ("negative", "positive"), (0, 1), (0.93, 0.07)),)))
        negative 0.93, positive 0.07
        """
        if self.kind == "labels":
            return " ".join(f"{c.position}:{c.tokens[0]}" for c in self.choices)
        lines = [", ".join(f"{t} {p:.2f}" for t, p in list(zip(c.tokens, c.probabilities, strict=True))[:3]) for c in self.choices]
        return "; ".join(lines)

    def to_json(self) -> dict[str, Any]:
        """For a trace's file and for a view."""
        return {
            "kind": self.kind,
            "choices": [
                {
                    "position": c.position,
                    "tokens": list(c.tokens),
                    "ids": list(c.ids),
                    "probabilities": list(c.probabilities),
                    "ends": list(c.ends),
                }
                for c in self.choices
            ],
        }

    @classmethod
    def from_json(cls, data: Any) -> Self | None:
        """Read back; None for what is not there."""
        if data is None:
            return None
        return cls(
            data["kind"],
            tuple(
                Choices(
                    c["position"],
                    tuple(map(str, c["tokens"])),
                    _numbers(c["ids"]),
                    tuple(map(float, c["probabilities"])),
                    _numbers(c["ends"]),
                )
                for c in data["choices"]
            ),
        )


def _numbers(values: Sequence[Any]) -> tuple[int, ...]:
    return tuple(map(int, values))


class LayerEffects(TypedDict):
    """One layer, as a view holds it. probabilities: of the most probable token or label when each head alone is switched off, [head]."""

    stack: str
    layer: int
    probabilities: list[float]
