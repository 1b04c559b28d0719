"""Relations of grammar: how a treebank's words are labelled and scored, and what a run of `syntax` says of each relation."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from eyeline.errors import TextError, nearest
from eyeline.heads import HeadRef
from eyeline.measure.grammar.options import LABELS
from eyeline.measure.runs.run import Run
from eyeline.measure.runs.table import Cell, heads_of_rows
from eyeline.text.corpora.treebank import ROOT, Sentence

#: The row of all words together, of every relation, root and punctuation included.
ALL = "all"

#: A relation is frequent where it has at least this share of the words of the most frequent one.
FREQUENT = 0.2


def baseline_of(row: dict[str, Cell]) -> float:
    """The best fixed offset of any length, in percent."""
    return float(row["baseline_any"])


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


def heads_of_tables(runs: list[Run], tables: tuple[str, ...]) -> list[HeadRef]:
    """Every head in these tables, in order."""
    heads: set[HeadRef] = set()
    for run in runs:
        for name in tables:
            if name in run.tables:
                heads |= set(heads_of_rows(run.table(name)))
    return sorted(heads)


# ---- What words are scored against, as in the paper


#: Relations without a row of their own.
NO_ROW = ("root", "punct")

POSSESSIVE = ("'s", "s'", "’s", "s’")

#: Subtypes of Universal Dependencies that are relations of their own in Stanford Dependencies → their name there. Other subtypes are cut.
OWN_SUBTYPES = {
    "nmod:poss": "poss",
    "aux:pass": "auxpass",
    "compound:prt": "prt",
    "nsubj:pass": "nsubjpass",
    "csubj:pass": "csubjpass",
    "cc:preconj": "preconj",
    "det:predet": "predet",
}

STANFORD = {**OWN_SUBTYPES, "obj": "dobj", "compound": "nn", "nummod": "num", "acl": "vmod", "acl:relcl": "rcmod"}


@dataclass(frozen=True)
class Gold:
    """What a sentence's words are scored against.

    governors  the governor of each word, -1 for the root
    relations  the label of each word
    judged     the word whose prediction counts for each: itself, or the 's that follows a possessor
    """

    governors: tuple[int, ...]
    relations: tuple[str, ...]
    judged: tuple[int, ...]


def gold_of(sentence: Sentence, labels: str = "ud") -> Gold:
    """Labels and governors of a sentence.

    ud         universal relations, subtypes cut, except those that are relations of their own in Stanford Dependencies (nmod:poss,
               aux:pass, compound:prt, nsubj:pass, csubj:pass, cc:preconj, det:predet)
    stanford   the same under their Stanford names, and prepositional phrases turned round: the preposition depends on the verb or noun
               (prep), the noun on the preposition (pobj). Names and shapes of the paper's table, as far as a UD tree gives them
    as-is      as the file has them
    """
    if labels not in LABELS:
        raise TextError(f"Labels {labels!r}.", nearest(labels, LABELS))
    governors, relations = sentence.governors, sentence.deprels
    if labels == "ud":
        relations = tuple([name if name in OWN_SUBTYPES else name.partition(":")[0] for name in relations])
    elif labels == "stanford":
        governors, relations = _stanford(sentence)
    possessors = {"nmod:poss", "poss"}
    if possessors.isdisjoint(relations):
        return Gold(governors, relations, tuple(range(len(relations))))
    judged = tuple(
        index + 1 if name in possessors and index + 1 < len(sentence) and sentence.words[index + 1] in POSSESSIVE else index
        for index, name in enumerate(relations)
    )
    return Gold(governors, relations, judged)


def _stanford(sentence: Sentence) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Governors and relations in the form of Stanford Dependencies, where a preposition stands between a noun and the noun's governor."""
    governors = list(sentence.governors)
    relations = [STANFORD.get(name, STANFORD.get(name.partition(":")[0], name.partition(":")[0])) for name in sentence.deprels]
    turned: set[int] = set()
    for index, name in enumerate(sentence.deprels):
        noun = sentence.governors[index]
        if name.partition(":")[0] != "case" or noun == ROOT:
            continue
        if sentence.words[index] in POSSESSIVE or (sentence.upos and sentence.upos[index] == "PART"):
            relations[index] = "possessive"
        elif noun not in turned:  # the first of several prepositions takes the noun
            turned.add(noun)
            governors[index], governors[noun] = governors[noun], index
            relations[index] = "prep" if relations[noun] in ("obl", "nmod") else relations[noun]
            relations[noun] = "pobj"
    return tuple(governors), tuple(relations)


def rows_of(counts: dict[str, int], min_count: int) -> list[str]:
    """The relations that get a row: "all", then those with enough words, most frequent first.

    >>> rows_of({"det": 3, "punct": 9, "root": 9, "obj": 5, "iobj": 1}, min_count=2)
    ['all', 'obj', 'det']
    """
    named = [name for name, count in counts.items() if count >= min_count and name not in NO_ROW]
    return [ALL, *sorted(named, key=lambda name: (-counts[name], name))]


def halves(n: int, seed: int) -> Sequence[int]:
    """Which half each of n sentences is in, 0 or 1: a random choice that the seed fixes."""
    order = list(range(n))
    random.Random(seed).shuffle(order)  # noqa: S311 - a seeded choice, not a secret
    half_of = [0] * n
    for index in order[: n // 2]:
        half_of[index] = 1
    return half_of
