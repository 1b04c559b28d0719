"""Bad input, refused before the tokeniser sees it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from eyeline.errors import TextError

_SURROGATE = re.compile("[\ud800-\udfff]")


def check_text(text: Any, name: str) -> str:
    """A string with something in it besides white space, that can be written as UTF-8."""
    if not isinstance(text, str):
        hint = "Decode it first: data.decode('utf-8')." if isinstance(text, bytes) else "Pass a string."
        raise TextError(f"The {name} is {_kind(text)}, not a string.", f"value: {_short(text)}", hint)
    if not text:
        raise TextError(f"The {name} is empty.", "Give at least one character that is not white space.")
    if text.isspace():
        shown = " ".join(f"U+{ord(character):04X}" for character in text[:8])
        raise TextError(
            f"The {name} is only white space ({len(text)} characters: {shown}{' …' if len(text) > 8 else ''}).",
            "Give at least one character that is not white space.",
        )
    _check_surrogates(text, f"The {name}")
    return text


def check_words(words: Any, name: str) -> tuple[str, ...]:
    """A list of at least one word, each a string with something in it besides white space."""
    if isinstance(words, str | bytes) or not isinstance(words, Sequence):
        raise TextError(
            f"The words of the {name} are {_kind(words)}, not a list of strings.",
            f"value: {_short(words)}",
            "Pass a list such as ['The', 'cat'], or pass the whole as text.",
        )
    if not words:
        raise TextError(f"The word list of the {name} is empty.", "Give at least one word.")
    if {*map(type, words)} == {str} and all(map(str.strip, words)) and _SURROGATE.search("".join(words)) is None:
        return tuple(words)
    for index, word in enumerate(words):
        if not isinstance(word, str):
            raise TextError(f"Word {index} of {len(words)} is {_kind(word)}, not a string: {_short(word)}.", "Pass a list of strings.")
        if not word.strip():
            kind = "only white space" if word else "empty"
            raise TextError(f"Word {index} of {len(words)} is {kind}: {word!r}.", "Leave it out, or give the word that stands there.")
        _check_surrogates(word, f"Word {index} of {len(words)}")
    return tuple(words)


def check_choice(text: Any, words: Any, name: str, arguments: tuple[str, str]) -> None:
    """Exactly one of a text and a word list."""
    if text is not None and words is not None:
        raise TextError(f"The {name} is given twice: as {arguments[0]} and as {arguments[1]}.", "Pass one of them.")
    if text is None and words is None:
        raise TextError(f"No {name}: {arguments[0]} and {arguments[1]} are both None.", "Pass a string, or a list of words.")


def _check_surrogates(text: str, name: str) -> None:
    if (match := _SURROGATE.search(text)) is not None:
        raise TextError(
            f"{name} has half a surrogate pair, U+{ord(match[0]):04X}, at character {match.start()}.",
            f"before it: {text[max(0, match.start() - 20) : match.start()]!r}",
            "It is not a character, and no model has a token for it. Read the file as UTF-8, or use text.encode('utf-16', 'surrogatepass')"
            ".decode('utf-16', 'replace').",
        )


def _kind(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:59] + "…"
