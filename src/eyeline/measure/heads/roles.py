"""What a head does: fourteen roles in six families, and the one table of thresholds that says which of them a head has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from eyeline.look.palette import ROLE_COLOURS
from eyeline.words import Words

#: share: of attention; points: more right answers, in percent, than the best rule without attention; even: share of the entropy that even
#: attention would have
Unit = Literal["share", "points", "even"]

#: The family of each role, in the order of the palette.
FAMILY = {role: family for family, shades in ROLE_COLOURS.items() for role in shades}

#: The role of a head that has none.
NONE = "none"


@dataclass(frozen=True)
class RoleRule:
    """A role and the least value of one number with which a head has it."""

    role: str
    unit: Unit
    least: float


#: Every role with its threshold. A head with several roles is listed under the first of them.
RULES = (
    RoleRule("previous", "share", 0.4),
    RoleRule("next", "share", 0.4),
    RoleRule("self", "share", 0.4),
    RoleRule("both_neighbours", "share", 0.4),
    RoleRule("subject", "points", 10.0),
    RoleRule("object", "points", 10.0),
    RoleRule("noun_phrase", "points", 10.0),
    RoleRule("dependency", "points", 10.0),
    RoleRule("antecedent", "points", 10.0),
    RoleRule("induction", "share", 0.4),
    RoleRule("punctuation", "share", 0.3),
    RoleRule("sep", "share", 0.4),
    RoleRule("cls", "share", 0.4),
    RoleRule("broad", "even", 0.85),
)

ROLES = {rule.role: rule for rule in RULES}

#: A relation of grammar names a head only if it is found at least so often, in percent.
LEAST_ACCURACY = 50.0

#: Relation of a treebank, in Universal or in Stanford Dependencies, without its subtype → role; every other relation is `dependency`.
ROLE_OF_RELATION = {
    **dict.fromkeys(("nsubj", "csubj", "nsubjpass", "csubjpass"), "subject"),
    **dict.fromkeys(("obj", "iobj", "dobj"), "object"),
    "compound:prt": "dependency",
    **dict.fromkeys(("det", "amod", "nummod", "num", "nn", "compound", "poss", "nmod:poss"), "noun_phrase"),
}


@dataclass(frozen=True)
class Role:
    """A role that a head has.

    value      share of attention, entropy in nats, or right answers in percent
    baseline   right answers of the best rule without attention; None where the value is no percentage
    detail     the relation of grammar; of a sink, the target that was measured
    """

    name: str
    value: float
    baseline: float | None = None
    detail: str = ""

    @property
    def strength(self) -> float:
        """What orders the heads of a role: the value, or the points above the baseline."""
        return self.value - (self.baseline or 0.0)

    @property
    def family(self) -> str:
        return FAMILY.get(self.name, NONE)

    def number(self, words: Words) -> str:
        """The value as a reader sees it, with its unit."""
        if self.name == "broad":
            return f"{self.value:.2f} {words('figure.label.nats')}"
        return f"{self.value:.3f}" if self.baseline is None else f"{self.value:.1f} %"

    def text(self, words: Words) -> str:
        """What the head does, in a clause with its numbers."""
        key = {"grammar": "relation", "reference": "antecedent"}.get(self.family, "first" if self.detail == "first" else self.name)
        baseline = "" if self.baseline is None else f"{self.baseline:.1f}"
        number = f"{self.value:.1f}" if self.baseline is not None else self.number(words)
        return words(f"role.does.{key}", value=number, baseline=baseline, relation=self.detail, role=words(f"role.name.{self.name}"))


def has(role: str, value: float) -> bool:
    """Whether a number is enough for a role, by the table of thresholds."""
    return value >= ROLES[role].least


def role_of_relation(relation: str) -> str:
    """The role that a relation belongs to, whatever its subtype.

    >>> role_of_relation("nsubj:pass"), role_of_relation("nmod:poss"), role_of_relation("advcl")
    ('subject', 'noun_phrase', 'dependency')
    """
    return ROLE_OF_RELATION.get(relation) or ROLE_OF_RELATION.get(relation.split(":")[0], "dependency")


def in_order(roles: Sequence[Role]) -> tuple[Role, ...]:
    """Roles in the order of the table, the strongest of a role first; `none` where there are none."""
    order = [rule.role for rule in RULES]
    return tuple(sorted(roles, key=lambda role: (order.index(role.name), -role.strength))) or (Role(NONE, 0.0),)
