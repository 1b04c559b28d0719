"""Everything a run says of one head: its numbers, what it does, and the heads that attend like it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eyeline.errors import TraceError
from eyeline.heads import HeadRef
from eyeline.results.effects import Effect, effect_of
from eyeline.results.notable import LEAST_SHARES
from eyeline.results.run import Run
from eyeline.results.table import Table

#: How many of the nearest heads are named.
NEAREST = 5


@dataclass(frozen=True)
class NearHead:
    """A head that attends like another; divergence: how far the two are apart, in nats."""

    head: HeadRef
    divergence: float


@dataclass(frozen=True)
class HeadCard:
    """One head of a run.

    shares     target → the mean share of its attention
    entropy    of its attention, in nats; None where the run did not measure it
    does       the targets that get at least the share in LEAST_SHARES, the largest share first
    effect     what ablating it does to the answer; None where the run did not ablate
    restored   the share of an answer that it brings back, in a run of `circuit`
    nearest    the heads that attend most like it, the nearest first
    """

    stack: str
    layer: int
    head: int
    shares: dict[str, float]
    entropy: float | None
    does: tuple[str, ...]
    nearest: tuple[NearHead, ...]
    effect: Effect | None = None
    restored: float | None = None

    @property
    def name(self) -> str:
        return HeadRef(self.stack, self.layer, self.head).full_label


def head_card(run: Run, layer: int, head: int, stack: str = "") -> HeadCard:
    """What the tables of a run hold on one head; an error where they hold nothing."""
    where = {"layer": layer, "head": head}
    shares: dict[str, float] = {}
    if "average_attention" in run.tables:
        part = _rows(run.table("average_attention"), where, stack)
        shares = {str(target): float(mean) for target, mean in zip(part["target"], part["mean"], strict=True) if np.isfinite(float(mean))}
    spread = None
    if "entropy" in run.tables:
        part = _rows(run.table("entropy"), where, stack)
        spread = float(part["all"][0]) if len(part) else None
    near = _nearest(run, str(HeadRef(stack, layer, head)), stack)
    effect = effect_of(run, HeadRef(stack, layer, head))
    restored = None
    if "patching" in run.tables:
        part = _rows(run.table("patching"), where, stack)
        restored = float(part["restored"][0]) if len(part) else None
    if not shares and spread is None and not near and effect is None and restored is None:
        raise TraceError(f"This run says nothing of {HeadRef(stack, layer, head).full_label}.", "Choose a head of its tables.")
    named = {target: shares[target] for target, least in LEAST_SHARES.items() if shares.get(target, 0.0) >= least}
    does = tuple(sorted(named, key=named.__getitem__, reverse=True))
    return HeadCard(stack, layer, head, shares, spread, does, near, effect, restored)


def heads_of(run: Run) -> list[HeadRef]:
    """Every head that the run's tables know, in order."""
    table = next(
        (run.tables[name] for name in ("average_attention", "entropy", "head_map", "causes", "patching") if name in run.tables), None
    )
    if table is None:
        return []
    stacks = [str(stack) for stack in table.columns["stack"]] if "stack" in table.columns else [""] * len(table)
    heads = map(HeadRef, stacks, table["layer"].astype(int).tolist(), table["head"].astype(int).tolist())
    return list(dict.fromkeys(heads))


def _rows(table: Table, where: dict[str, int], stack: str) -> Table:
    return table.where(**where, stack=stack) if stack and "stack" in table.columns else table.where(**where)


def _nearest(run: Run, name: str, stack: str) -> tuple[NearHead, ...]:
    """From the matrix of distances, whose rows and columns are named by their heads."""
    table = run.tables.get(f"distances_{stack}" if stack else "distances")
    if table is None or name not in table.columns:
        return ()
    names = [str(label) for label in table.columns["head"]]
    distances = table[name].astype(float)
    order = [i for i in np.argsort(distances, kind="stable").tolist() if names[i] != name and np.isfinite(distances[i])]
    heads = [HeadRef.parse(names[i]) for i in order[:NEAREST]]
    return tuple(NearHead(HeadRef(stack, ref.layer, ref.head), float(distances[i])) for ref, i in zip(heads, order[:NEAREST], strict=True))
