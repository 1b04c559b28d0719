"""What a run says of causes: the connections of a circuit that can be drawn, and the effect of each head on the model's answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple, Self

from eyeline.heads import HeadRef
from eyeline.measure.runs.run import Run

EMBEDDINGS, ANSWER = "embeddings", "answer"

#: How many edges are drawn by default.
DRAWN = 24


_BLOCK = re.compile(r"L(\d+)·MLP")


class FeedForward(NamedTuple):
    """The feed-forward block of a layer, as a node of a circuit.

    >>> str(FeedForward("decoder", 3)), FeedForward.parse("L3·MLP"), FeedForward.parse("L3·H7")
    ('L3·MLP', FeedForward(stack='', layer=3), None)
    """

    stack: str
    layer: int

    def __str__(self) -> str:
        return f"L{self.layer}·MLP"

    @classmethod
    def parse(cls, label: str) -> Self | None:
        """Read a label back; None where it is that of another node."""
        match = _BLOCK.fullmatch(label)
        return None if match is None else cls("", int(match[1]))


Node = HeadRef | FeedForward | str


@dataclass(frozen=True)
class Connection:
    """An edge of a circuit.

    sender, receiver  a head such as L3·H7, a feed-forward block such as L3·MLP, "embeddings" or "answer"
    reads             queries, keys, values, input (of a feed-forward block) or logits
    """

    sender: str
    receiver: str
    reads: str
    score: float


def strongest_connections(run: Run, n: int = DRAWN) -> list[Connection]:
    """The n strongest edges of a run, without those that are on no path from the embeddings to the answer."""
    rows = list(run.table("circuit").rows())[:n]
    kept = [Connection(str(r["sender"]), str(r["receiver"]), str(r["reads"]), float(r["score"])) for r in rows]
    while True:
        senders, receivers = {edge.sender for edge in kept}, {edge.receiver for edge in kept}
        inside = [
            edge
            for edge in kept
            if (edge.receiver == ANSWER or edge.receiver in senders) and (edge.sender == EMBEDDINGS or edge.sender in receivers)
        ]
        if len(inside) == len(kept):
            return inside
        kept = inside


def correlation(run: Run, first: str, second: str) -> float | None:
    """A rank correlation of the run's table `causes_agreement`; None where it has none of these two."""
    rows = run.table("causes_agreement").rows() if "causes_agreement" in run.tables else []
    return next((float(row["correlation"]) for row in rows if (row["first"], row["second"]) == (first, second)), None)
