"""A text, a pair or a list of words as it was given, before a tokeniser reads it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from eyeline.errors import TextError
from eyeline.text.conversation import Conversation, Messages, NamedParts, is_conversation

#: What a text may be given as: a string, a pair of strings, a list of words, a list of messages.
Item = str | tuple[str, str] | list[str] | Conversation | Messages


@dataclass(frozen=True)
class Source:
    """One text or pair as it was given, as strings or as lists of words, or a conversation. An empty second text is no second text.

    parts   names for parts of the text, or for further parts of the conversation
    """

    text: str | None = None
    pair: str | None = None
    words: Sequence[str] | None = None
    pair_words: Sequence[str] | None = None
    conversation: Conversation | None = None
    parts: NamedParts | None = None

    def __post_init__(self) -> None:
        if isinstance(self.pair, str) and not self.pair:
            object.__setattr__(self, "pair", None)
        if isinstance(self.pair_words, Sequence) and len(self.pair_words) == 0:
            object.__setattr__(self, "pair_words", None)


def source_of(
    text: str | Messages | None = None, pair: str | None = None, words: Any = None, pair_words: Any = None, parts: NamedParts | None = None
) -> Source:
    """What the arguments of `model.trace` mean: a list of messages in place of the text is a conversation."""
    words, pair_words = as_words(words), as_words(pair_words)
    if not is_conversation(text):
        return Source(text, pair, words, pair_words, parts=parts)  # type: ignore[arg-type]  # what is no string is refused when it is read
    if words is not None:
        raise TextError("A conversation and a list of words.", "Give one of them.")
    return Source(None, pair, None, pair_words, Conversation.of(text), parts)


def as_sources(texts: Any) -> list[Source]:
    """Several texts; a single string is refused, since its letters would be taken for texts."""
    if isinstance(texts, str | bytes):
        raise TextError(f"One text where several were expected: {texts[:40]!r}.", "Give a list of texts, or use model.trace(text).")
    return [as_source(item) for item in texts]


def as_source(item: Any) -> Source:
    """A string is a text, a tuple of two strings a pair, a list of strings the words of a text, a list of messages a conversation."""
    if isinstance(item, str) or is_conversation(item):
        return source_of(item)
    if isinstance(item, tuple) and len(item) == 2:
        return Source(*item)
    if isinstance(item, list):
        return Source(words=item)
    raise TextError(
        f"A text given as {type(item).__name__}.",
        "Give a string, a tuple of two strings (a pair), a list of strings (words) or a list of messages (a conversation).",
    )


def as_words(words: Any) -> Any:
    """A list of words from any iterable. Other values are returned as they are: `check_words` reports them."""
    return list(words) if isinstance(words, Iterable) and not isinstance(words, str | bytes) else words
