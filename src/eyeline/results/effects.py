"""What a run says about the effect of heads on the model's answers."""

from __future__ import annotations

from dataclasses import dataclass

from eyeline.heads import HeadRef
from eyeline.results.run import Run


@dataclass(frozen=True)
class Effect:
    """One head ablated: the change of the loss in nats with its standard error, and the fall of the answers' probability."""

    head: HeadRef
    loss_change: float
    error: float
    answer_change: float


def effects(run: Run) -> list[Effect]:
    """The effect of every head, those first without which the loss rises most; empty where the run did not ablate."""
    if "causes" not in run.tables:
        return []
    every = [
        Effect(
            HeadRef(str(row.get("stack", "")), int(row["layer"]), int(row["head"])),
            float(row["loss_change"]),
            float(row["loss_change_error"]),
            float(row["answer_change"]),
        )
        for row in run.table("causes").rows()
    ]
    return sorted(every, key=lambda effect: -effect.loss_change)


def effect_of(run: Run, head: HeadRef) -> Effect | None:
    """The effect of one head; None where the run has none of it."""
    return next((effect for effect in effects(run) if effect.head == head), None)


def correlation(run: Run, first: str, second: str) -> float | None:
    """A rank correlation of the run's table `causes_agreement`; None where it has none of these two."""
    rows = run.table("causes_agreement").rows() if "causes_agreement" in run.tables else []
    return next((float(row["correlation"]) for row in rows if (row["first"], row["second"]) == (first, second)), None)
