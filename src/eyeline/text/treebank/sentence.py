"""A sentence of a treebank: its words and the governor of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from eyeline.errors import TextError

ROOT = -1


@dataclass(frozen=True)
class Sentence:
    """A sentence of a treebank; words count from 0.

    id        its sent_id, or the line it begins on
    words     the syntactic words: of a multi-word token its parts, no empty nodes
    heads     the head of each word, ROOT (-1) for the root
    deprels   the relation of each word to its head, subtypes included (nmod:poss)
    spaces    whether a space follows each word in the text; None where the file does not say
    misc      the MISC column of each word
    document  documents follow each other; sentences of one have the same name here (`# newdoc id`), empty where the file names none
    """

    id: str
    words: tuple[str, ...]
    heads: tuple[int, ...]
    deprels: tuple[str, ...]
    upos: tuple[str, ...] = ()
    spaces: tuple[bool, ...] | None = None
    misc: tuple[Mapping[str, str], ...] = field(default=(), repr=False)
    document: str = ""

    def __post_init__(self) -> None:
        n = len(self.words)
        if len(self.heads) != n or len(self.deprels) != n:
            raise TextError(f"{self.id}: {n} words, {len(self.heads)} heads, {len(self.deprels)} relations.", "Give one for each word.")
        fault = tree_fault(self.heads)
        if fault is not None:
            raise TextError(f"{self.id}: {fault}.", "Every word has one head, and following heads leads to one root.")

    def __len__(self) -> int:
        return len(self.words)


def tree_fault(heads: Sequence[int]) -> str | None:
    """What keeps these heads from being a tree; None where they are one.

    >>> tree_fault([1, -1, 1]), tree_fault([1, 0, -1]), tree_fault([-1, -1]), tree_fault([7, -1])
    (None, 'a cycle through word 1', 'two roots, words 1 and 2', 'word 1 has head 8, and there are 2 words')
    """
    roots = [place for place, head in enumerate(heads) if head == ROOT]
    outside = next((place for place, head in enumerate(heads) if not ROOT <= head < len(heads)), None)
    if outside is not None:
        return f"word {outside + 1} has head {heads[outside] + 1}, and there are {len(heads)} words"
    if len(roots) > 1:
        return f"two roots, words {roots[0] + 1} and {roots[1] + 1}"
    if not roots:
        return "no root"
    ends: set[int] = set(roots)  # words that are known to lead to the root
    for start in range(len(heads)):
        path: list[int] = []
        place = start
        while place not in ends:
            if place in path:
                return f"a cycle through word {place + 1}"
            path.append(place)
            place = heads[place]
        ends.update(path)
    return None
