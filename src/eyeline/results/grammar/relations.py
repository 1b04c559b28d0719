"""What a run of `syntax` says of relations and heads: the order of the relations, the one to open on, and the relations of one head."""

from __future__ import annotations

from dataclasses import dataclass

from eyeline.heads import HeadRef
from eyeline.results.run import Run
from eyeline.results.table import Cell

#: The row of all words together.
ALL = "all"
#: A relation is frequent where it has at least this share of the words of the most frequent one.
FREQUENT = 0.2


@dataclass(frozen=True)
class HeadRelation:
    """How often one head finds the other word of a relation, in percent, and the best fixed offset beside it."""

    relation: str
    accuracy: float
    baseline: float


def baseline_of(row: dict[str, Cell]) -> float:
    """The best fixed offset of any length, in percent; that of the paper's offsets in runs that do not have the other."""
    return float(row.get("baseline_any", row["baseline"]))


def gain(row: dict[str, Cell]) -> float:
    """How many points the best head is ahead of the best fixed offset."""
    return float(row["accuracy"]) - baseline_of(row)


def relation_rows(run: Run) -> list[dict[str, Cell]]:
    """The rows of the table `syntax`: all words first, then the relations, those furthest ahead of a fixed offset first."""
    return sorted(run.table("syntax").rows(), key=lambda row: (row["relation"] != ALL, -gain(row)))


def opening_relation(run: Run) -> dict[str, Cell] | None:
    """The relation to show first: the one furthest ahead of a fixed offset among the frequent ones; None where there is no relation.

    A rare relation may be ahead by chance, and says little about what a head does.
    """
    rows = [row for row in run.table("syntax").rows() if row["relation"] != ALL]
    if not rows:
        return None
    least = FREQUENT * max(int(row["count"]) for row in rows)
    return max((row for row in rows if int(row["count"]) >= least), key=gain)


def relations_of_head(run: Run, head: HeadRef, most: int) -> list[HeadRelation]:
    """The relations in which a head is furthest ahead of the best fixed offset, `most` of them."""
    baselines = {str(row["relation"]): baseline_of(row) for row in run.table("syntax").rows() if row["relation"] != ALL}
    accuracies: dict[str, float] = {}
    for row in run.table("syntax_heads").where(layer=head.layer, head=head.head).rows():
        relation = str(row["relation"])
        if relation in baselines:
            accuracies[relation] = max(accuracies.get(relation, 0.0), float(row["accuracy"]))
    relations = [HeadRelation(name, accuracy, baselines[name]) for name, accuracy in accuracies.items()]
    return sorted(relations, key=lambda relation: relation.baseline - relation.accuracy)[:most]


def heads_of_tables(runs: list[Run], tables: tuple[str, ...]) -> list[HeadRef]:
    """Every head in these tables, in order."""
    heads: set[HeadRef] = set()
    for run in runs:
        for name in tables:
            if name in run.tables:
                table = run.table(name)
                heads |= {HeadRef("", int(layer), int(head)) for layer, head in zip(table["layer"], table["head"], strict=True)}
    return sorted(heads)
