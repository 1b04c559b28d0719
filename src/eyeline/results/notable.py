"""Notable heads: for each behaviour, the head that shows it most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eyeline.heads import HeadRef
from eyeline.results.grammar.relations import baseline_of
from eyeline.results.run import Run
from eyeline.results.table import Table
from eyeline.words import Words

#: Target → the least share of attention for which a head is named.
LEAST_SHARES = {
    "previous": 0.4, "next": 0.4, "self": 0.4, "punctuation": 0.3, "sep": 0.4, "cls": 0.4, "first": 0.4, "other": 0.5,
}  # fmt: skip
#: A head that finds a relation is worth a look where it beats the best fixed offset by this many points.
CLEAR = 10.0
#: How many of the heads that restore most of an answer are worth a look.
MOST_RESTORED = 8


@dataclass(frozen=True)
class Reason:
    """Why a head stands out: the key of a message under `report.notable`, and the values for its placeholders."""

    key: str
    values: tuple[tuple[str, str], ...]

    def text(self, words: Words) -> str:
        return words(f"report.notable.{self.key}", **dict(self.values))


@dataclass(frozen=True)
class Notable:
    """A head and what stands out about it."""

    head: HeadRef
    reasons: tuple[Reason, ...]

    def why(self, words: Words) -> str:
        """The reasons in one sentence."""
        return words.joined(reason.text(words) for reason in self.reasons)

    @property
    def file(self) -> str:
        """The label of the head as part of a file's name: cross-L3-H7."""
        return f"{self.head.stack}-L{self.head.layer}-H{self.head.head}".lstrip("-")


def notable_heads(run: Run) -> list[Notable]:
    """For each target the head that gives it most, and the broadest and the narrowest head; each head once, with all its reasons."""
    reasons: dict[HeadRef, list[Reason]] = {}

    def add(table: Table, index: int, key: str, **values: str) -> None:
        stack = str(table.columns["stack"][index]) if "stack" in table.columns else ""
        head = HeadRef(stack, int(table["layer"][index]), int(table["head"][index]))
        reasons.setdefault(head, []).append(Reason(key, tuple(values.items())))

    if "average_attention" in run.tables:
        table = run.table("average_attention")
        for target, least in LEAST_SHARES.items():
            part = table.where(target=target)
            if target == "first" and len(table.where(target="cls")):
                continue  # the first token is [CLS]
            means = part["mean"].astype(float) if len(part) else np.zeros(0)
            if len(means) and np.nanmax(means) >= least:
                index = int(np.nanargmax(means))
                add(part, index, target, share=f"{means[index]:.3f}")
    if "entropy" in run.tables and len(run.table("entropy")):
        table = run.table("entropy")
        values = table["all"].astype(float)
        for index, key in ((int(np.nanargmax(values)), "broadest"), (int(np.nanargmin(values)), "narrowest")):
            add(table, index, key, entropy=f"{values[index]:.2f}")
    if "syntax" in run.tables:
        table = run.table("syntax")
        for index, row in enumerate(table.rows()):
            accuracy, baseline = float(row["accuracy"]), baseline_of(row)
            if row["relation"] != "all" and accuracy - baseline >= CLEAR:
                add(table, index, "relation", relation=str(row["relation"]), accuracy=f"{accuracy:.1f}", baseline=f"{baseline:.1f}")
    if "coreference" in run.tables:
        table = run.table("coreference").where(method="best head")
        if len(table):
            add(table, 0, "antecedent", share=f"{table['all'][0]:.1f}", n=f"{table['n'][0]:,}")
    if "patching" in run.tables and len(run.table("patching")):
        table = run.table("patching")
        shares = table["restored"].astype(float)
        for index in np.argsort(-np.abs(shares), kind="stable")[:MOST_RESTORED].tolist():
            add(table, index, "restored", share=f"{shares[index]:+.2f}")
    return [Notable(head, tuple(why)) for head, why in reasons.items()]
