"""The heads worth a look: those that do one thing more than any other head does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eyeline.heads import HeadRef
from eyeline.results.run import Run
from eyeline.results.table import Table

#: target → (what to say of the head that gives it most, the least share worth a mention)
CLAIMS = {
    "previous": ("looks at the previous token", 0.4),
    "next": ("looks at the next token", 0.4),
    "self": ("looks at the token itself", 0.4),
    "punctuation": ("looks at full stops and commas", 0.3),
    "sep": ("looks at separators", 0.4),
    "cls": ("looks at [CLS]", 0.4),
    "first": ("looks at the first token", 0.4),
    "other": ("looks at ordinary words", 0.5),
}
#: A head that finds a relation is worth a look where it beats the best fixed offset by so many points.
CLEAR = 10.0


@dataclass(frozen=True)
class Notable:
    """A head and what stands out about it."""

    stack: str
    layer: int
    head: int
    why: str

    @property
    def name(self) -> str:
        return HeadRef(self.stack, self.layer, self.head).full_label

    @property
    def file(self) -> str:
        return f"{self.stack}-L{self.layer}-H{self.head}".lstrip("-")


def notable_heads(run: Run) -> list[Notable]:
    """For each target the head that gives it most, and the broadest and the narrowest head; a head comes once."""
    found: list[Notable] = []
    seen: dict[tuple[str, int, int], int] = {}

    def add(table: Table, place: int, why: str) -> None:
        stack = str(table.columns["stack"][place]) if "stack" in table.columns else ""
        key = (stack, int(table["layer"][place]), int(table["head"][place]))
        if key in seen:
            known = found[seen[key]]
            found[seen[key]] = Notable(*key, f"{known.why}; {why}")
            return
        seen[key] = len(found)
        found.append(Notable(*key, why))

    if "average_attention" in run.tables:
        table = run.table("average_attention")
        for target, (claim, least) in CLAIMS.items():
            part = table.where(target=target)
            if target == "first" and len(table.where(target="cls")):
                continue  # the first token is [CLS]
            means = part["mean"].astype(float) if len(part) else np.zeros(0)
            if len(means) and np.nanmax(means) >= least:
                place = int(np.nanargmax(means))
                add(part, place, f"{claim}: {means[place]:.3f} of its attention, more than any other head")
    if "entropy" in run.tables and len(run.table("entropy")):
        table = run.table("entropy")
        values = table["all"].astype(float)
        for place, what in ((int(np.nanargmax(values)), "the broadest head"), (int(np.nanargmin(values)), "the narrowest head")):
            add(table, place, f"{what}: {values[place]:.2f} nats")
    if "syntax" in run.tables:
        table = run.table("syntax")
        for place, row in enumerate(table.rows()):
            accuracy, baseline = float(row["accuracy"]), float(row["baseline"])
            if row["relation"] != "all" and accuracy - baseline >= CLEAR:
                add(table, place, f"finds {row['relation']}: {accuracy:.1f} %, a fixed offset {baseline:.1f} %")
    if "coreference" in run.tables:
        table = run.table("coreference").where(method="best head")
        if len(table):
            add(table, 0, f"finds an antecedent of {table['all'][0]:.1f} % of {table['n'][0]:,} mentions, more than any other head")
    return found
