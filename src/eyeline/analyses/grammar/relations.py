"""The relations of a treebank as the paper scores them: labels, the possessor rule, and which relations get a row."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from eyeline.errors import TextError, nearest
from eyeline.text.treebank.sentence import ROOT, Sentence

#: "all" is every word of every relation, root and punctuation included; these two have no row of their own.
ALL, NO_ROW = "all", ("root", "punct")
POSSESSIVE = ("'s", "s'", "’s", "s’")
LABELS = ("ud", "stanford", "as-is")
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
