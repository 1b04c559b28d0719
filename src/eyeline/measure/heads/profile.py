"""The profile of a head: everything that the tables of a run hold on it, and the roles that follow. Every page and figure reads it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eyeline.errors import TraceError
from eyeline.heads import HeadRef
from eyeline.look.trace import Trace, open_trace
from eyeline.measure.heads.roles import LEAST_ACCURACY, NONE, RULES, Role, has, in_order, role_of_relation
from eyeline.measure.runs.run import Run, open_run
from eyeline.measure.runs.table import Cell
from eyeline.words import Words

#: How many of the nearest heads are named.
NEAREST = 5

#: Roles of relations that a head has at most.
MOST_RELATIONS = 3

#: Methods of the table `coreference` that look at no attention.
RULE_METHODS = ("nearest", "head match", "rule-based")

#: The row of the table `syntax` with all words together.
ALL = "all"

#: Tables with a row for each head, or for some of them.
TABLES_OF_HEADS = (
    "average_attention", "entropy", "head_map", "causes", "patching", "position_alone", "head_scores", "syntax_heads",
    "coreference_heads",
)  # fmt: skip


@dataclass(frozen=True)
class NearHead:
    """A head that attends like another; divergence: how far the two are apart, in nats."""

    head: HeadRef
    divergence: float


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


@dataclass(frozen=True)
class Reference:
    """How often a head finds an antecedent, in percent, beside the best rule; of all mentions and of pronouns."""

    direction: str
    accuracy: float
    baseline: float
    pronouns: float
    pronoun_baseline: float

    @property
    def best(self) -> tuple[float, float]:
        """Accuracy and baseline of all mentions or of pronouns: of those that are further above the best rule."""
        pairs = ((self.accuracy, self.baseline), (self.pronouns, self.pronoun_baseline))
        return max(pairs, key=lambda pair: pair[0] - pair[1])

    @property
    def gain(self) -> float:
        """Points above the best rule."""
        accuracy, baseline = self.best
        return accuracy - baseline


@dataclass(frozen=True)
class Effect:
    """One head ablated: the change of the loss in nats with its standard error, and the fall of the answers' probability."""

    head: HeadRef
    loss_change: float
    error: float
    answer_change: float


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
class HeadProfile:
    """One head of a run; None and empty where the run did not measure it.

    roles            at least one, the first is the one that the head is listed under and coloured by
    paper_rule       what it does by the thresholds of figure 6 of Clark et al. (2019)
    shares           target → the mean share of its attention
    entropy          of its attention, in nats; even: the entropy of attention spread evenly
    position_alone   the share of its attention that the distance between query and key explains
    relations        of grammar, those with the largest gain first
    induction        the share of its attention on the token after an earlier copy of the query, on repeated random tokens
    effect           what ablating it does to the answer
    turned           how far the vector of a text turns without it, where the model answers nothing
    rank             of its effect among all heads, from 1
    restored         the share of an answer that it brings back, in a run of `circuit`
    nearest          the heads that attend most like it, the nearest first
    examples         texts that show it
    """

    head: HeadRef
    roles: tuple[Role, ...] = (Role(NONE, 0.0),)
    paper_rule: str | None = None
    shares: dict[str, float] | None = None
    entropy: float | None = None
    even: float | None = None
    position_alone: float | None = None
    relations: tuple[Relation, ...] = ()
    reference: Reference | None = None
    induction: float | None = None
    effect: Effect | None = None
    turned: float | None = None
    rank: int | None = None
    restored: float | None = None
    nearest: tuple[NearHead, ...] = ()
    examples: tuple[ExampleLook, ...] = ()

    @property
    def role(self) -> Role:
        return self.roles[0]

    @property
    def file(self) -> str:
        """The name of its page: L3H7.html."""
        return self.head.page


def profiles(run: Run) -> list[HeadProfile]:
    """Every head that the run's tables know, in the order of their first table."""
    measured = _Measured(run)
    return [measured.profile(head) for head in heads_of(run)]


def profile_of(run: Run, head: HeadRef) -> HeadProfile:
    """One head; an error where the run's tables hold nothing of it."""
    if head not in heads_of(run):
        raise TraceError(f"This run says nothing of {head.full_label}.", "Choose a head of its tables.")
    return _Measured(run).profile(head)


def heads_of(run: Run) -> list[HeadRef]:
    """Every head that the run's tables know, in order."""
    return list(dict.fromkeys(HeadRef.of_row(row) for name in _tables(run, *TABLES_OF_HEADS) for row in run.tables[name].rows()))


def effects(run: Run) -> list[Effect]:
    """The effect of every head, those first without which the loss rises most; empty where the run did not ablate."""
    every = [
        Effect(HeadRef.of_row(row), float(row["loss_change"]), float(row["loss_change_error"]), float(row["answer_change"]))
        for row in _rows(run, "causes")
    ]
    return sorted(every, key=lambda effect: -effect.loss_change)


def by_role(every: Sequence[HeadProfile]) -> dict[str, list[HeadProfile]]:
    """The heads of each role, in the order of the table of roles, the strongest first; roles without heads are left out."""
    groups = {role: [head for head in every if head.role.name == role] for role in (*(rule.role for rule in RULES), NONE)}
    return {role: sorted(heads, key=lambda head: -head.role.strength) for role, heads in groups.items() if heads}


# ---- The tables of a run, by head


def _tables(run: Run, *names: str) -> list[str]:
    """The run's tables of these names, and of these names with a stack: `head_map_cross`."""
    return [name for base in names for name in run.tables if name == base or (base == "head_map" and name.startswith("head_map_"))]


def _rows(run: Run, name: str) -> Iterator[dict[str, Cell]]:
    return run.tables[name].rows() if name in run.tables else iter(())


def _numbers(run: Run, name: str, column: str) -> dict[HeadRef, float]:
    """A column of a table with one row for each head, where it is a number."""
    if name not in run.tables or column not in run.tables[name].columns:
        return {}
    return {HeadRef.of_row(row): value for row in _rows(run, name) if np.isfinite(value := float(row[column]))}


class _Measured:
    """What a run measured, by head: read once for all profiles."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.shares: dict[HeadRef, dict[str, float]] = defaultdict(dict)
        for row in _rows(run, "average_attention"):
            if np.isfinite(mean := float(row["mean"])):
                self.shares[HeadRef.of_row(row)][str(row["target"])] = mean
        self.entropy, self.even = _numbers(run, "entropy", "all"), _numbers(run, "entropy", "uniform")
        self.position_alone = _numbers(run, "position_alone", "share")
        self.induction = _numbers(run, "head_scores", "induction")
        self.restored = _numbers(run, "patching", "restored")
        self.turned = _numbers(run, "embedding_change", "change")
        self.effects = {effect.head: effect for effect in effects(run)}
        self.relations, self.references = _relations(run), _references(run)
        self.paper_rules = {
            HeadRef.of_row(row, name.removeprefix("head_map").lstrip("_")): str(row["behaviour"])
            for name in _tables(run, "head_map")
            for row in _rows(run, name)
        }
        self.examples: dict[HeadRef, list[ExampleLook]] = defaultdict(list)
        for row in _rows(run, EXAMPLES_TABLE):
            look = ExampleLook(int(row["text"]), int(row["query"]), int(row["key"]), float(row["weight"]), bool(row["distant"]))
            self.examples[HeadRef.of_row(row)].append(look)
        changes = {head: effect.loss_change for head, effect in self.effects.items()} or self.turned
        self.ranks = {head: number + 1 for number, head in enumerate(sorted(changes, key=lambda head: -changes[head]))}
        self._names: dict[str, list[str]] = {}

    def profile(self, head: HeadRef) -> HeadProfile:
        relations = tuple(sorted(self.relations.get(head, ()), key=lambda relation: -relation.gain))
        return HeadProfile(
            head,
            in_order(self._roles(head, relations)),
            self.paper_rules.get(head),
            self.shares.get(head),
            self.entropy.get(head),
            self.even.get(head),
            self.position_alone.get(head),
            relations,
            self.references.get(head),
            self.induction.get(head),
            self.effects.get(head),
            self.turned.get(head),
            self.ranks.get(head),
            self.restored.get(head),
            self._nearest(head),
            tuple(self.examples.get(head, ())),
        )

    def _roles(self, head: HeadRef, relations: Sequence[Relation]) -> list[Role]:
        """Every role whose threshold the head reaches."""
        shares = self.shares.get(head, {})
        sink = "cls" if "cls" in shares else "first"  # the first token is [CLS] where there is one
        by_share: dict[str, tuple[float, str]] = {
            target: (shares[target], "") for target in ("previous", "next", "self", "punctuation", "sep") if target in shares
        }
        if "previous" in shares and "next" in shares:
            by_share["both_neighbours"] = (2 * min(shares["previous"], shares["next"]), "")
        if sink in shares:
            by_share["cls"] = (shares[sink], sink)
        if head in self.induction:
            by_share["induction"] = (self.induction[head], "")
        roles = [Role(name, share, detail=detail) for name, (share, detail) in by_share.items() if has(name, share)]
        clear = [
            Role(name, relation.accuracy, relation.baseline, relation.relation)
            for relation in relations
            if has(name := role_of_relation(relation.relation), relation.gain) and relation.accuracy >= LEAST_ACCURACY
        ]
        roles += clear[:MOST_RELATIONS]
        reference = self.references.get(head)
        if reference is not None and has("antecedent", reference.gain):
            roles.append(Role("antecedent", *reference.best))
        if self.even.get(head, 0.0) > 0 and has("broad", self.entropy[head] / self.even[head]):
            roles.append(Role("broad", self.entropy[head]))
        return roles

    def _nearest(self, head: HeadRef) -> tuple[NearHead, ...]:
        """From the matrix of distances, whose rows and columns are named by their heads."""
        table = self.run.tables.get(f"distances_{head.stack}" if head.stack else "distances")
        if table is None or str(head) not in table.columns:
            return ()
        names = self._names.setdefault(head.stack, [str(label) for label in table.columns["head"]])
        distances = table[str(head)].astype(float)
        order = [i for i in np.argsort(distances, kind="stable").tolist() if names[i] != str(head) and np.isfinite(distances[i])]
        return tuple(NearHead(HeadRef.parse(names[i])._replace(stack=head.stack), float(distances[i])) for i in order[:NEAREST])


def _relations(run: Run) -> dict[HeadRef, list[Relation]]:
    """The better direction of each relation, for each head."""
    baselines = {str(row["relation"]): float(row["baseline_any"]) for row in _rows(run, "syntax")}
    best: dict[tuple[HeadRef, str], Relation] = {}
    for row in _rows(run, "syntax_heads"):
        name = str(row["relation"])
        if name == ALL or name not in baselines:
            continue
        relation = Relation(name, str(row.get("direction", "")), float(row["accuracy"]), baselines[name])
        if (key := (HeadRef.of_row(row), name)) not in best or relation.accuracy > best[key].accuracy:
            best[key] = relation
    by_head: dict[HeadRef, list[Relation]] = defaultdict(list)
    for (head, _), relation in best.items():
        by_head[head].append(relation)
    return by_head


def _references(run: Run) -> dict[HeadRef, Reference]:
    """The better direction of each head."""
    rules = [row for row in _rows(run, "coreference") if row["method"] in RULE_METHODS]
    if not rules:
        return {}
    every, pronouns = (max(float(row[group]) for row in rules) for group in ("all", "pronoun"))
    best: dict[HeadRef, Reference] = {}
    for row in _rows(run, "coreference_heads"):
        reference = Reference(str(row["direction"]), float(row["all"]), every, float(row["pronoun"]), pronouns)
        if (head := HeadRef.of_row(row)) not in best or reference.gain > best[head].gain:
            best[head] = reference
    return best


def most_of_each(every: Sequence[HeadProfile]) -> list[tuple[HeadRef, Role]]:
    """For each role, and each relation of grammar, the head that has it most clearly, in the order of the table of roles."""
    most: dict[tuple[str, str], tuple[HeadRef, Role]] = {}
    for head in every:
        for role in head.roles:
            key = (role.name, role.detail)
            if role.name != NONE and (key not in most or role.strength > most[key][1].strength):
                most[key] = (head.head, role)
    order = [rule.role for rule in RULES]
    return sorted(most.values(), key=lambda pair: order.index(pair[1].name))


# ---- Heads worth a look


#: How many of the heads that restore most of an answer are worth a look.
MOST_RESTORED = 8


@dataclass(frozen=True)
class Extreme:
    """What makes a head the first of all in a number: the key of a message under `role.most`, and the values for its placeholders."""

    key: str
    values: tuple[tuple[str, str], ...]

    def text(self, words: Words) -> str:
        return words(f"role.most.{self.key}", **dict(self.values))


@dataclass(frozen=True)
class Notable:
    """A head and why it stands out: it has a role more clearly than any other, or is the first of all in a number."""

    head: HeadRef
    reasons: tuple[Role | Extreme, ...]

    def why(self, words: Words) -> str:
        """The reasons in one sentence."""
        return words.joined(reason.text(words) for reason in self.reasons)

    @property
    def file(self) -> str:
        """The label of the head as part of a file's name: cross-L3-H7."""
        return self.head.file_name


def notable_heads(run: Run) -> list[Notable]:
    """For each role, and each relation of grammar, the head that has it most clearly; the broadest and the narrowest head; each head once,
    with all its reasons."""
    every = profiles(run)
    reasons: dict[HeadRef, list[Role | Extreme]] = defaultdict(list)
    for owner, role in most_of_each(every):
        if role.name != "broad":  # the broadest head follows
            reasons[owner].append(role)
    by_entropy = sorted((head for head in every if head.entropy is not None), key=lambda head: head.entropy or 0.0)
    for head, key in zip((by_entropy[-1], by_entropy[0]) if by_entropy else (), ("broadest", "narrowest"), strict=False):
        reasons[head.head].append(Extreme(key, (("entropy", f"{head.entropy:.2f}"),)))
    for row in [row for row in _rows(run, "coreference") if row["method"] == "best head"][:1]:
        reasons[HeadRef.of_row(row)].append(Extreme("antecedent", (("share", f"{float(row['all']):.1f}"), ("n", f"{int(row['n']):,}"))))
    by_restored = sorted((head for head in every if head.restored is not None), key=lambda head: -abs(head.restored or 0.0))
    for head in by_restored[:MOST_RESTORED]:
        reasons[head.head].append(Extreme("restored", (("share", f"{head.restored:+.2f}"),)))
    return [Notable(head, tuple(why)) for head, why in reasons.items()]


# ---- What each layer does, from runs of analyse, syntax and coreference


NEAR = ("previous", "self", "next")


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


def layer_figures(every: Sequence[HeadProfile]) -> list[LayerFigures]:
    """The figures of each layer."""
    by_layer: dict[int, list[HeadProfile]] = defaultdict(list)
    for head in every:
        by_layer[head.head.layer].append(head)

    def share(heads: Sequence[HeadProfile], *targets: str) -> float:
        return float(np.mean([sum((head.shares or {}).get(target, 0.0) for target in targets) for head in heads]))

    def right(heads: Sequence[HeadProfile]) -> float:
        best: dict[str, float] = defaultdict(float)
        for relation in (relation for head in heads for relation in head.relations):
            best[relation.relation] = max(best[relation.relation], relation.accuracy)
        return float(np.mean(list(best.values())))

    def pronouns(heads: Sequence[HeadProfile]) -> float:
        return max(head.reference.pronouns for head in heads if head.reference is not None)

    return [
        LayerFigures(layer, share(heads, *NEAR), share(heads, "special"), right(heads), pronouns(heads))
        for layer, heads in sorted(by_layer.items())
    ]


# ---- The measurements behind the gallery's pages of one model


#: Which texts show a head: a table with its layer, head, rank, text, query, key, weight, and whether the key is a distant word.
EXAMPLES_TABLE = "head_examples"

EXAMPLE = "example-{}.safetensors"

#: A look weaker than this is not worth a sentence.
LEAST_LOOK = 0.1


@dataclass(frozen=True)
class MeasuredHeads:
    """A run of kinds analyse, syntax and coreference, and the traces of the example texts."""

    run: Run
    examples: tuple[Trace, ...]

    def save(self, folder: Path) -> None:
        """Write run and traces into a folder; `open_measured` reads them, without torch."""
        self.run.save(folder)
        for number, trace in enumerate(self.examples):
            trace.save(folder / EXAMPLE.format(number))


def open_measured(folder: Path) -> MeasuredHeads:
    """What `save` wrote."""
    run = open_run(folder)
    count = 1 + max(run.table(EXAMPLES_TABLE)["text"].astype(int).tolist())
    paths = [folder / EXAMPLE.format(number) for number in range(count)]
    return MeasuredHeads(run, tuple(open_trace(path) for path in paths if path.is_file()))
