"""The tokens behind the points of a space, text after text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eyeline.errors import TraceError
from eyeline.text.tokenized import TokenizedText


@dataclass(frozen=True)
class SpaceTokens:
    """The tokens of one side (queries or keys) of all texts, one after the other: point i is token `position[i]` of text `text[i]`.

    texts   the texts themselves, in corpus order: their tokens, words, special tokens
    tags    the part of speech of each token of each text, "" where it has none (special tokens); () where the corpus does not say
    """

    texts: tuple[TokenizedText, ...]
    tags: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.tags and [len(tags) for tags in self.tags] != [len(text) for text in self.texts]:
            raise TraceError("The parts of speech do not cover the tokens one to one.", "Give one for each token of each text, or none.")

    def __len__(self) -> int:
        return int(self.starts[-1])

    @cached_property
    def starts(self) -> np.ndarray:
        """[text + 1]: the points of text t are starts[t] … starts[t + 1] − 1."""
        return np.concatenate([[0], np.cumsum([len(text) for text in self.texts])]).astype(np.int64)

    @cached_property
    def text(self) -> np.ndarray:
        """[point]: the index of its text."""
        return np.repeat(np.arange(len(self.texts)), np.diff(self.starts))

    @cached_property
    def position(self) -> np.ndarray:
        """[point]: its position in its text, from 0."""
        return np.asarray(np.arange(len(self)) - self.starts[self.text])

    @cached_property
    def strings(self) -> tuple[str, ...]:
        """The token of each point, as it is shown."""
        return tuple(token for text in self.texts for token in text.tokens)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The whole word that each point is (a piece of); of a special token, the token."""
        return tuple(
            token if word is None else text.word_texts[word]
            for text in self.texts
            for token, word in zip(text.tokens, text.words, strict=True)
        )

    @cached_property
    def special(self) -> np.ndarray:
        """[point]: whether the tokeniser added it."""
        return np.array([special for text in self.texts for special in text.special], dtype=bool)

    @cached_property
    def tag(self) -> tuple[str, ...]:
        """The part of speech of each point; () where the corpus does not say."""
        return tuple(tag for tags in self.tags for tag in tags)
