"""Everything that was measured of one head, and the roles that the numbers give it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eyeline.heads import HeadRef
from eyeline.results.gallery.measured import EXAMPLES_TABLE
from eyeline.results.head_card import HeadCard, head_card, heads_of
from eyeline.results.notable import CLEAR, LEAST_SHARES
from eyeline.results.run import Run

#: Roles in the order of the index. A head with several is listed under the first of them that it has.
ROLES = ("previous", "next", "self", "relation", "antecedent", "punctuation", "sep", "cls", "first", "other", "none")
#: Methods of the table `coreference` that look at no attention.
RULES = ("nearest", "head match", "rule-based")
#: A head is named for a relation that it finds at least so often, in percent, and clearly more often than a fixed offset.
LEAST_ACCURACY = 50.0
#: Relations shown on the page of a head, and relations that it is named for at most.
SHOWN_RELATIONS, SHOWN_ROLES = 5, 3


@dataclass(frozen=True)
class Relation:
    """How often a head finds a relation of grammar, in percent, beside the best fixed offset."""

    relation: str
    direction: str
    accuracy: float
    baseline: float

    @property
    def gain(self) -> float:
        return self.accuracy - self.baseline

    @property
    def is_clear(self) -> bool:
        """Whether the head is named for it."""
        return self.gain >= CLEAR and self.accuracy >= LEAST_ACCURACY


@dataclass(frozen=True)
class Reference:
    """How often a head finds an antecedent, in percent, beside the best rule; of all mentions and of pronouns."""

    direction: str
    accuracy: float
    baseline: float
    pronouns: float
    pronoun_baseline: float

    @property
    def gain(self) -> float:
        """Points above the best rule, of all mentions or of pronouns: the larger of the two."""
        return max(self.accuracy - self.baseline, self.pronouns - self.pronoun_baseline)


@dataclass(frozen=True)
class Role:
    """A role of a head. strength: a share of attention, or points above the baseline; detail: the relation."""

    kind: str
    strength: float
    detail: str = ""


@dataclass(frozen=True)
class ExampleLook:
    """A text that shows a head: its index, the query and the key of the strongest look, and the weight of it.

    distant: the key is a word that is not beside the query. Else no such look stands out, and this is the strongest at any token.
    """

    text: int
    query: int
    key: int
    weight: float
    distant: bool


@dataclass(frozen=True)
class Portrait:
    """One head.

    roles       at least one; the first is the one that the index lists it under
    relations   those with the largest gain, best first
    turned      how far the vector of a text turns without the head, where the model answers nothing
    rank        of its effect among all heads, from 1
    """

    head: HeadRef
    card: HeadCard
    roles: tuple[Role, ...]
    relations: tuple[Relation, ...]
    reference: Reference | None
    turned: float | None
    rank: int | None
    examples: tuple[ExampleLook, ...]

    @property
    def role(self) -> Role:
        return self.roles[0]

    @property
    def file(self) -> str:
        """The name of its page: L3H7.html."""
        return f"L{self.head.layer}H{self.head.head}.html"


def portraits(run: Run) -> list[Portrait]:
    """Every head of a measured model, in the order of layers and heads."""
    relations, references, turned = _relations(run), _references(run), _turned(run)
    examples: dict[tuple[int, int], list[ExampleLook]] = defaultdict(list)
    for row in run.table(EXAMPLES_TABLE).rows():
        distant = bool(int(row.get("distant", 1)))  # earlier tables had distant looks alone
        look = ExampleLook(int(row["text"]), int(row["query"]), int(row["key"]), float(row["weight"]), distant)
        examples[int(row["layer"]), int(row["head"])].append(look)
    cards = {head: head_card(run, head.layer, head.head) for head in heads_of(run)}
    changes = {head: _change(card, turned.get((head.layer, head.head))) for head, card in cards.items()}
    order = sorted((head for head in cards if changes[head] is not None), key=lambda head: -(changes[head] or 0.0))
    ranks = {head: number + 1 for number, head in enumerate(order)}
    every = []
    for head, card in cards.items():
        key = (head.layer, head.head)
        own = sorted(relations.get(key, []), key=lambda relation: -relation.gain)
        roles = _roles(card, own, references.get(key))
        every.append(
            Portrait(
                head, card, roles, tuple(own[:SHOWN_RELATIONS]), references.get(key), turned.get(key), ranks.get(head), tuple(examples[key])
            )
        )
    return every


def by_role(every: Sequence[Portrait]) -> dict[str, list[Portrait]]:
    """The heads of each role, in the order of the index, the strongest first; roles without heads are left out."""
    groups = {role: [portrait for portrait in every if portrait.role.kind == role] for role in ROLES}
    return {role: sorted(heads, key=lambda portrait: -portrait.role.strength) for role, heads in groups.items() if heads}


def _change(card: HeadCard, turned: float | None) -> float | None:
    return card.effect.loss_change if card.effect is not None else turned


def _roles(card: HeadCard, relations: Sequence[Relation], reference: Reference | None) -> tuple[Role, ...]:
    does = [target for target in LEAST_SHARES if target in card.does and not (target == "first" and "cls" in card.shares)]
    roles = [Role(target, card.shares[target]) for target in does]
    roles += [Role("relation", relation.gain, relation.relation) for relation in relations if relation.is_clear][:SHOWN_ROLES]
    if reference is not None and reference.gain >= CLEAR:
        roles.append(Role("antecedent", reference.gain))
    return tuple(sorted(roles, key=lambda role: (ROLES.index(role.kind), -role.strength))) or (Role("none", 0.0),)


def _relations(run: Run) -> Mapping[tuple[int, int], list[Relation]]:
    """The better direction of each relation, for each head."""
    if "syntax_heads" not in run.tables:
        return {}
    baselines = {str(row["relation"]): max(float(row["baseline"]), float(row["baseline_any"])) for row in run.table("syntax").rows()}
    best: dict[tuple[int, int, str], Relation] = {}
    for row in run.table("syntax_heads").rows():
        name = str(row["relation"])
        if name == "all" or name not in baselines:
            continue
        key = int(row["layer"]), int(row["head"]), name
        relation = Relation(name, str(row["direction"]), float(row["accuracy"]), baselines[name])
        if key not in best or relation.accuracy > best[key].accuracy:
            best[key] = relation
    by_head: dict[tuple[int, int], list[Relation]] = defaultdict(list)
    for (layer, head, _), relation in best.items():
        by_head[layer, head].append(relation)
    return by_head


def _references(run: Run) -> Mapping[tuple[int, int], Reference]:
    """The better direction of each head."""
    if "coreference_heads" not in run.tables:
        return {}
    rules = [row for row in run.table("coreference").rows() if row["method"] in RULES]
    baselines = [max(float(row[group]) for row in rules) for group in ("all", "pronoun")]
    best: dict[tuple[int, int], Reference] = {}
    for row in run.table("coreference_heads").rows():
        key = int(row["layer"]), int(row["head"])
        reference = Reference(str(row["direction"]), float(row["all"]), baselines[0], float(row["pronoun"]), baselines[1])
        if key not in best or reference.gain > best[key].gain:
            best[key] = reference
    return best


def _turned(run: Run) -> Mapping[tuple[int, int], float]:
    if "embedding_change" not in run.tables:
        return {}
    return {(int(row["layer"]), int(row["head"])): float(row["change"]) for row in run.table("embedding_change").rows()}
