"""Documents of marked mentions in windows that a model reads, cut between sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eyeline.errors import Advice, TextError
from eyeline.text.coreference.mention import MarkedDocument, Mention
from eyeline.text.encode import encode
from eyeline.text.tokenized import TokenizedText

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class Window:
    """A part of a document that goes through the model at once.

    document   the document's index in the corpus
    words      the index in the document of each word of `text`
    mentions   those that lie wholly within, in the order of their main words
    """

    document: int
    words: tuple[int, ...]
    text: TokenizedText
    mentions: tuple[Mention, ...]


@dataclass
class Windows:
    """Cuts documents into windows of at most `longest` tokens, special ones included, and counts what happens.

    A window takes as many whole sentences as fit. A sentence that is longer than a window by itself is cut between words into windows of
    its own; a sentence with a word that the tokeniser drops, or that fills more than a window, is left out.

    counts     documents, windows, tokens, mentions_marked (of the documents), long_sentences, unreadable_sentences, and mentions_outside:
               those in no window (cut through, in a sentence that was left out, or, with `first`, after the first window)
    first      only the first window of each document, as in the paper
    strict     a sentence that must be left out is an error
    """

    tokenizer: PreTrainedTokenizerBase
    longest: int
    first: bool = False
    strict: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    _added: int = field(default=0, init=False)  # special tokens of a text

    def of(self, document: MarkedDocument, number: int = 0) -> list[Window]:
        windows = []
        for words, text in self._cut(document):
            inside = set(words)
            mentions = [m for m in document.mentions if all(word in inside for word in range(m.start, m.end + 1))]
            windows.append(Window(number, words, text, tuple(mentions)))
            if self.first:
                break
        self.counts.update(documents=1, windows=len(windows), tokens=sum(len(window.text) for window in windows))
        self.counts.update(mentions_marked=len(document.mentions))
        self.counts["mentions_outside"] += len(document.mentions) - sum(len(window.mentions) for window in windows)
        return windows

    def _cut(self, document: MarkedDocument) -> Iterator[tuple[tuple[int, ...], TokenizedText]]:
        open_units: list[list[int]] = []
        size = 0
        for unit, tokens, alone in self._units(document):
            if open_units and (alone or size + tokens > self.longest):
                yield from self._close(document, open_units)
                open_units, size = [], 0
            open_units.append(unit)
            size = size + tokens if size else tokens + self._added
            if alone:
                yield from self._close(document, open_units)
                open_units, size = [], 0
        if open_units:
            yield from self._close(document, open_units)

    def _units(self, document: MarkedDocument) -> Iterator[tuple[list[int], int, bool]]:
        """Sentences, or the pieces of long ones: the indices of their words, their tokens, and whether they are windows of their own."""
        start = 0
        for sentence in document.sentences:
            words = list(range(start, start + len(sentence)))
            start += len(sentence)
            try:
                text = self._encode(document, words)
            except TextError as error:
                self._leave_out(document, words, str(error))
                continue
            self._added = sum(text.special)
            if len(text) <= self.longest:
                yield words, len(text) - self._added, False
                continue
            self.counts["long_sentences"] += 1
            sizes = Counter(word for word in text.words if word is not None)
            piece: list[int] = []
            filled = 0
            for index, word in enumerate(words):
                if piece and filled + sizes[index] > self.longest - self._added:
                    yield piece, filled, True
                    piece, filled = [], 0
                piece.append(word)
                filled += sizes[index]
            yield piece, filled, True

    def _close(self, document: MarkedDocument, units: Sequence[list[int]]) -> Iterator[tuple[tuple[int, ...], TokenizedText]]:
        """These units as a window, or as several where together they make more tokens than apart."""
        words = [word for unit in units for word in unit]
        text = self._encode(document, words)
        if len(text) <= self.longest:
            yield tuple(words), text
        elif len(units) > 1:
            yield from self._close(document, units[:-1])
            yield from self._close(document, units[-1:])
        elif len(words) > 1:
            yield from self._close(document, [words[:-1]])
            yield from self._close(document, [words[-1:]])
        else:
            self._leave_out(document, words, f"One word of {len(text)} tokens, where a window has {self.longest}.")

    def _leave_out(self, document: MarkedDocument, words: Sequence[int], why: str) -> None:
        if self.strict:
            shown = " ".join(document.words[word] for word in words[:8])
            raise TextError(
                f"{document.id}: a sentence cannot be read: {shown} …",
                *why.splitlines(),
                Advice("With strict=False it is left out.", "Without --strict it is left out."),
            )
        self.counts["unreadable_sentences"] += 1

    def _encode(self, document: MarkedDocument, words: Sequence[int]) -> TokenizedText:
        spaces = [document.spaces[word] for word in words] if document.spaces else None
        return encode(self.tokenizer, words=[document.words[word] for word in words], spaces=spaces)
