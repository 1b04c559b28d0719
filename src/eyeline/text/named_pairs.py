"""Pairs of a query and a key that a user names, by word, by piece or by position: the same in every view, picture and command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from eyeline.errors import TextError, TraceError, nearest
from eyeline.text.tokenized import TokenizedText

#: Between the two names: an arrow, or else a colon.
ARROW = re.compile(r"→|->|>")
SEPARATOR = re.compile(r"[;,\n]")
HOW = "Write word → word or word:word, such as it → cat or brown:##bara; a position or a piece will do."

#: The name of a token: a word, a piece of a word, or a position.
Name = int | str


@dataclass(frozen=True)
class NamedPair:
    """A query and a key as a user named them; `str` writes the pair with an arrow."""

    query: Name
    key: Name

    def __str__(self) -> str:
        return f"{self.query} → {self.key}"

    def positions(self, queries: TokenizedText, keys: TokenizedText) -> list[tuple[int, int]]:
        """Every query of the first name with every key of the second. A name that matches nothing is an error that names it."""
        named = positions_of(self.query, queries, "query"), positions_of(self.key, keys, "key")
        return [(query, key) for query in named[0] for key in named[1]]


#: How pairs are given: "it → cat", "it:cat; she → Mary", ("it", "cat"), a NamedPair, or a list of these.
PairsGiven = str | NamedPair | tuple[Name, Name] | Sequence[str | NamedPair | tuple[Name, Name]]


def named_pairs(given: PairsGiven) -> tuple[NamedPair, ...]:
    """The pairs that were given as a string, a tuple of two names, or a list of either.

    >>> [str(pair) for pair in named_pairs(["brown:cap", ("it", 3), "she -> Mary; he → John"])]
    ['brown → cap', 'it → 3', 'she → Mary', 'he → John']
    >>> named_pairs(("it", "cat")) == named_pairs("it → cat") == named_pairs("it:cat")
    True
    """
    if isinstance(given, NamedPair):
        return (given,)
    if isinstance(given, str):
        return _written_pairs(given)
    if isinstance(given, tuple) and len(given) == 2 and all(map(_is_name, given)) and not all(map(_is_arrow, given)):
        query, key = (name.strip() if isinstance(name, str) else name for name in given)
        if "" in (query, key):
            raise TextError(f"A pair given as {given!r}.", HOW)
        return (NamedPair(query, key),)  # type: ignore[arg-type]
    if isinstance(given, Iterable) and all(isinstance(each, str | tuple | list | NamedPair) for each in given):
        each_pair = (tuple(each) if isinstance(each, list) else each for each in given)
        return tuple(dict.fromkeys(pair for each in each_pair for pair in named_pairs(each)))  # type: ignore[arg-type]
    raise TextError(f"A pair given as {given!r}.", HOW)


def _is_name(name: object) -> bool:
    return isinstance(name, int | str) and not isinstance(name, bool)


def _is_arrow(name: object) -> bool:
    """Whether this is a pair written with an arrow, not the name of a token."""
    return isinstance(name, str) and bool(ARROW.search(name)) and len(name) > 2


def _written_pairs(written: str) -> tuple[NamedPair, ...]:
    """One pair, or several with a semicolon or a comma between them, unless that is the name of a token itself."""
    parts = [part for part in SEPARATOR.split(written) if part.strip()]
    try:
        return tuple(map(_written_pair, parts))
    except TextError:
        return (_written_pair(written),)


def _written_pair(written: str) -> NamedPair:
    parts = ARROW.split(written) if ARROW.search(written) else written.rsplit(":", 1)
    names = [part.strip() for part in parts]
    if len(names) != 2 or not all(names):
        raise TextError(f"A pair written {written!r}.", HOW)
    return NamedPair(names[0], names[1])


def pairs_in_texts(pair: NamedPair, query_texts: Sequence[TokenizedText], key_texts: Sequence[TokenizedText]) -> list[tuple[int, int, int]]:
    """(text, query, key) in every text that holds both names. A pair that no text holds is an error that names it."""
    matches: list[tuple[int, int, int]] = []
    for index, (queries, keys) in enumerate(zip(query_texts, key_texts, strict=True)):
        try:
            matches += [(index, query, key) for query, key in pair.positions(queries, keys)]
        except TraceError:  # not in this text
            continue
    if not matches:
        raise TextError(f"No text holds the pair {str(pair)!r}.", "A pair is two words or pieces of one text.")
    return matches


def positions_of(name: Name, text: TokenizedText, side: str) -> list[int]:
    """Where a name stands: the tokens that are it, the pieces of words that are it, in capitals or not; a number is a position.

    What matches nothing is named. side: query or key, for the message.
    """
    if isinstance(name, int) or (name.isdecimal() and name not in text.tokens and name not in text.word_texts):
        index = int(name)
        if not 0 <= index < len(text):
            raise TraceError(f"No {side} at position {index}.", f"Positions are 0 to {len(text) - 1}.")
        return [index]
    wanted = name.casefold()
    positions = [i for i, token in enumerate(text.tokens) if token.casefold() == wanted]
    words = {i for i, word in enumerate(text.word_texts) if word.casefold() == wanted}
    positions += [i for i, word in enumerate(text.words) if word in words and i not in positions]
    if not positions:
        raise TraceError(f"No {side} {name!r}.", nearest(name, dict.fromkeys((*text.tokens, *text.word_texts))))
    return sorted(positions)
