"""Which head of a model plays which role, and what each layer does, read from the tables of corpus, grammar and coreference runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from eyeline.heads import HeadRef
from eyeline.results.grammar.directions import MENTION_TO_ANTECEDENT
from eyeline.results.table import Table

#: Role → the target of `average_attention` that measures it.
TARGETS = {"previous": "previous", "next": "next", "self": "self", "sink": "special", "sep": "sep", "punctuation": "punctuation"}
#: Role → the relation of `syntax` that measures it.
RELATIONS = {"determiner": "det", "object": "obj", "subject": "nsubj", "possessive": "nmod:poss"}
NEAR = ("previous", "self", "next")


@dataclass(frozen=True)
class HeadRole:
    """The head that plays a role most. unit: share (of attention), nats (entropy) or percent (right answers); baseline: of percent only."""

    role: str
    layer: int
    head: int
    value: float
    unit: str
    baseline: float | None = None

    @property
    def label(self) -> str:
        return str(HeadRef("", self.layer, self.head))


@dataclass(frozen=True)
class LayerFigures:
    """One layer: shares of attention to the token itself and its neighbours and to special tokens; percent right of its best heads.

    grammar: mean over relations of the layer's best head. reference: the layer's best head for pronouns and their antecedents.
    """

    layer: int
    near: float
    special: float
    grammar: float
    reference: float


def head_roles(tables: Mapping[str, Table]) -> list[HeadRole]:
    """For each role the head that plays it most."""
    roles = [_most(role, tables["average_attention"].where(target=target), "mean", "share") for role, target in TARGETS.items()]
    roles.append(_most("broad", tables["entropy"], "all", "nats"))
    for role, relation in RELATIONS.items():
        row = next(tables["syntax"].where(relation=relation).rows())
        roles.append(HeadRole(role, int(row["layer"]), int(row["head"]), float(row["accuracy"]), "percent", float(row["baseline"])))
    baseline = max(float(row["pronoun"]) for row in tables["coreference"].rows() if row["method"] in ("nearest", "rule-based"))
    heads = tables["coreference_heads"].where(direction=MENTION_TO_ANTECEDENT)
    antecedent = _most("antecedent", heads, "pronoun", "percent")
    return [*roles, HeadRole("antecedent", antecedent.layer, antecedent.head, antecedent.value, "percent", baseline)]


def layer_figures(tables: Mapping[str, Table]) -> list[LayerFigures]:
    """The figures of each layer."""
    attention, grammar, reference = (tables[name] for name in ("average_attention", "syntax_heads", "coreference_heads"))
    layers = sorted(set(attention["layer"].astype(int).tolist()))
    relations = [str(relation) for relation in dict.fromkeys(grammar["relation"]) if relation != "all"]

    def share(layer: int, *targets: str) -> float:
        return sum(float(np.nanmean(attention.where(layer=layer, target=target)["mean"].astype(float))) for target in targets)

    def right(layer: int) -> float:
        return float(np.mean([grammar.where(layer=layer, relation=name)["accuracy"].astype(float).max() for name in relations]))

    return [
        LayerFigures(
            layer, share(layer, *NEAR), share(layer, "special"), right(layer),
            float(reference.where(layer=layer, direction=MENTION_TO_ANTECEDENT)["pronoun"].astype(float).max()),
        )
        for layer in layers
    ]  # fmt: skip


def _most(role: str, table: Table, column: str, unit: str) -> HeadRole:
    values = table[column].astype(float)
    index = int(np.nanargmax(values))
    return HeadRole(role, int(table["layer"][index]), int(table["head"][index]), float(values[index]), unit)
