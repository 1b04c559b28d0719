"""Pairs of a query and a key that a user names, by word or by piece: the same in every view and picture."""

from __future__ import annotations

import re

from eyeline.errors import TextError, TraceError, nearest
from eyeline.text.tokenized import TokenizedText

#: Between the two names: an arrow, or else a colon.
ARROW = re.compile(r"→|->|>")
HOW = "Write word → word or word:word, such as it → cat or brown:##bara; a position or a piece will do."


def named_pair(written: str) -> tuple[str, str]:
    """The two names of `it → cat`, `it -> cat` or `it:cat`.

    >>> named_pair("brown → ##bara"), named_pair("brown:cap")
    (('brown', '##bara'), ('brown', 'cap'))
    """
    parts = ARROW.split(written) if ARROW.search(written) else written.rsplit(":", 1)
    names = [part.strip() for part in parts]
    if len(names) != 2 or not all(names):
        raise TextError(f"A pair written {written!r}.", HOW)
    return names[0], names[1]


def positions_of(name: int | str, text: TokenizedText, side: str) -> list[int]:
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
