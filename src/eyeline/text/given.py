"""Lists of words (treebanks, coreference corpora) as a text that any tokeniser reads, with word borders kept.

`is_split_into_words` is not used: byte-level tokenisers refuse it, and those without a pre-tokeniser give wrong word ids. The
words are joined into a text and its tokens assigned by their characters:

- between two words stands a space, except where the script uses none (猫|が, 50|周年), or just where the caller says that the text has
  one (a treebank's SpaceAfter=No): the model sees text as it is written;
- where a token would then cross a border between two words, a space is put at that border, and the text tokenised again;
- if a token crosses even a space, the list is refused: no map at word level would be right.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eyeline.errors import TextError
from eyeline.text.pieces import Pieces, read
from eyeline.text.segment import written_together
from eyeline.text.tokenized import Span
from eyeline.text.words import TokenWords, group_given

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

ROUNDS = 3


@dataclass(frozen=True)
class Joined:
    """The text that a list of words makes.

    segments   where each word lies in it
    pieces     its tokens, where they were made on the way
    """

    text: str
    segments: tuple[Span, ...]
    pieces: Pieces | None = None


def join(tokenizer: PreTrainedTokenizerBase, words: Sequence[str], spaces: Sequence[bool] | None = None) -> Joined:
    """Words as a text. spaces: whether one follows each word (of the last it does not matter); None: see above."""
    every, spaced = set(range(len(words) - 1)), first_spaces(words, spaces)
    for _ in range(ROUNDS):
        text, segments = put_together(words, spaced)
        if spaced == every:
            break
        pieces = read(tokenizer, text)
        crossed = set(group_given(text, segments, _spans(pieces, 0))[1]) - spaced
        if not crossed:
            return Joined(text, tuple(segments), pieces)
        spaced |= crossed
    text, segments = put_together(words, every)
    return Joined(text, tuple(segments))


def first_spaces(words: Sequence[str], spaces: Sequence[bool] | None) -> set[int]:
    """The borders (index of the word before) at which a space stands before any token is known to cross one."""
    borders = range(len(words) - 1)
    if spaces is None:
        return {border for border in borders if not written_together(words[border], words[border + 1])}
    if len(spaces) != len(words):
        raise TextError(f"{len(words)} words, but {len(spaces)} marks of whether a space follows.", "Give one for each word, or None.")
    return {border for border in borders if spaces[border]}


def assign(text: str, segments: Sequence[Span], words: Sequence[str], pieces: Pieces, number: int, *, cut: bool) -> TokenWords:
    """Each token's word; every word has a token, except those after the point where the text was cut."""
    of, crossed = group_given(text, segments, _spans(pieces, number))
    if crossed:
        left = crossed[0]
        raise TextError(
            f"One token covers words {left} and {left + 1}: {words[left]!r}, {words[left + 1]!r}.",
            "This tokeniser makes tokens across spaces, so word lists cannot be kept apart. Pass the text itself instead.",
        )
    reached = max(of) + 1 if cut else len(words)
    for index in sorted(set(range(reached)) - set(of)):
        raise TextError(
            f"Word {index} of {len(words)} has no token: the tokeniser drops {words[index]!r} entirely.",
            f"characters: {' '.join(f'U+{ord(c):04X}' for c in words[index][:8])}",
            "Leave the word out, or write it with characters that the model knows.",
        )
    return TokenWords(tuple(of), tuple(words[:reached]))


def put_together(words: Sequence[str], spaced: Collection[int]) -> tuple[str, list[Span]]:
    """The text of these words, with a space at these borders; and where each word lies in it."""
    parts: list[str] = []
    segments: list[Span] = []
    position = 0
    for index, word in enumerate(words):
        end = position + len(word)
        segments.append((position, end))
        parts.append(word)
        if index in spaced:
            parts.append(" ")
            end += 1
        position = end
    return "".join(parts), segments


def _spans(pieces: Pieces, number: int) -> list[Span]:
    positions = pieces.positions(number)
    spans = [span for position in positions if (span := pieces.spans[position]) is not None]
    if len(spans) < len(positions):
        raise TextError(
            "The pieces of this tokeniser do not spell the text, so the given words cannot be found in them.",
            f"tokens: {' '.join(pieces.shown[position] for position in positions[:8])} …",
            "Use the fast version of this tokeniser, or pass the text itself instead of a word list.",
        )
    return spans
