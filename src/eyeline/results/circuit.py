"""A circuit cut down to what can be drawn: the strongest edges that lie on a path from the embeddings to the answer."""

from __future__ import annotations

from dataclasses import dataclass

from eyeline.results.run import Run

EMBEDDINGS, ANSWER = "embeddings", "answer"
#: How many edges are drawn by default.
DRAWN = 24


@dataclass(frozen=True)
class Connection:
    """sender and receiver: a head such as L3·H7, "embeddings" or "answer"; reads: queries, keys, values or logits."""

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
