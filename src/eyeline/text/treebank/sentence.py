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
    governors the index of each word's governor (the word it depends on), ROOT (-1) for the root
    deprels   the relation of each word to its governor, subtypes included (nmod:poss)
    spaces    whether a space follows each word in the text; None where the file does not say
    misc      the MISC column of each word
    document  documents follow each other; sentences of one have the same name here (`# newdoc id`), empty where the file names none
    """

    id: str
    words: tuple[str, ...]
    governors: tuple[int, ...]
    deprels: tuple[str, ...]
    upos: tuple[str, ...] = ()
    spaces: tuple[bool, ...] | None = None
    misc: tuple[Mapping[str, str], ...] = field(default=(), repr=False)
    document: str = ""

    def __post_init__(self) -> None:
        n = len(self.words)
        if len(self.governors) != n or len(self.deprels) != n:
            raise TextError(
                f"{self.id}: {n} words, {len(self.governors)} governors, {len(self.deprels)} relations.", "Give one for each word."
            )
        fault = tree_fault(self.governors)
        if fault is not None:
            raise TextError(f"{self.id}: {fault}.", "Every word has one governor, and following governors leads to one root.")

    def __len__(self) -> int:
        return len(self.words)


def tree_fault(governors: Sequence[int]) -> str | None:
    """Why these governors are not a tree, or None where they are one.

    >>> tree_fault([1, -1, 1]), tree_fault([1, 0, -1]), tree_fault([-1, -1]), tree_fault([7, -1])
    (None, 'a cycle through word 1', 'two roots, words 1 and 2', 'word 1 has governor 8, and there are 2 words')
    """
    roots = [word for word, governor in enumerate(governors) if governor == ROOT]
    outside = next((word for word, governor in enumerate(governors) if not ROOT <= governor < len(governors)), None)
    if outside is not None:
        return f"word {outside + 1} has governor {governors[outside] + 1}, and there are {len(governors)} words"
    if len(roots) > 1:
        return f"two roots, words {roots[0] + 1} and {roots[1] + 1}"
    if not roots:
        return "no root"
    ends: set[int] = set(roots)  # words that are known to lead to the root
    for start in range(len(governors)):
        path: set[int] = set()
        word = start
        while word not in ends:
            if word in path:
                return f"a cycle through word {word + 1}"
            path.add(word)
            word = governors[word]
        ends.update(path)
    return None
