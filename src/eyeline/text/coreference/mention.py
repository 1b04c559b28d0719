"""Documents with marked mentions: which words refer to the same thing."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

from eyeline.errors import Advice, TextError

#: What a mention is: he, it, that · Paris, Mary Smith · the old house, everything else.
TYPES = ("pronoun", "proper", "nominal")
#: The groups of mentions that results are counted for: all of them, then those of each type.
GROUPS = ("all", *TYPES)


@dataclass(frozen=True)
class Mention:
    """Words that name or stand for something; mentions of one cluster refer to the same thing.

    start, end   its first and last word, counted over the whole document from 0, both included
    main_word    the index of its main word, between them
    cluster      a number; the same for all mentions of one thing
    type         pronoun, proper or nominal
    number       sg or pl, gender Masc, Fem or Neut (or several with commas), person 1, 2 or 3; None where it is not known
    """

    start: int
    end: int
    main_word: int
    cluster: int
    type: str
    number: str | None = None
    gender: str | None = None
    person: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.main_word <= self.end:
            raise TextError(f"A mention of words {self.start}…{self.end} whose main word is {self.main_word}.", "It must lie within.")
        if self.type not in TYPES:
            raise TextError(f"A mention of type {self.type!r}.", f"Choices: {', '.join(TYPES)}.")


@dataclass(frozen=True)
class MarkedDocument:
    """A document in sentences of words, and its mentions, in the order of their main words.

    spaces   whether a space follows each word in the text; empty: as its script is written

    >>> MarkedDocument("d", (("Mary", "left"), ("She", "ran")), (Mention(0, 0, 0, 7, "proper"), Mention(2, 2, 2, 7, "pronoun"))).words
    ('Mary', 'left', 'She', 'ran')
    """

    id: str
    sentences: tuple[tuple[str, ...], ...]
    mentions: tuple[Mention, ...]
    spaces: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        n = sum(map(len, self.sentences))
        outside = next((mention for mention in self.mentions if mention.end >= n), None)
        if outside is not None:
            raise TextError(f"{self.id}: a mention ends at word {outside.end}, but there are {n} words.", "Words count from 0.")
        if len(self.spaces) not in (0, n):
            raise TextError(
                f"{self.id}: {n} words, but {len(self.spaces)} marks of whether a space follows.", "Give one for each, or none."
            )
        order = sorted(self.mentions, key=lambda m: (m.main_word, m.start, m.end, m.cluster))
        object.__setattr__(self, "mentions", tuple(order))

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(itertools.chain.from_iterable(self.sentences))


@dataclass
class Problems:
    """What in a file could not be used: named and counted, or, when strict, an error at once."""

    strict: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)  # kind → the first of its kind, in words
    inferred_types: int = 0  # mentions whose type was inferred from their words, because there are no tags

    def note(self, kind: str, where: str, what: str) -> None:
        if self.strict:
            skip = Advice("With strict=False it is counted and skipped.", "Without --strict it is counted and skipped.")
            raise TextError(f"{where}: {what}.", "Correct the file.", skip)
        self.counts[kind] += 1
        self.first.setdefault(kind, f"{where}: {what}")
