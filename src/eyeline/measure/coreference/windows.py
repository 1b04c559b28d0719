"""Documents of marked mentions in windows that a model reads, cut between sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from eyeline.errors import Advice, TextError
from eyeline.messages import Message
from eyeline.text.corpora.mentions import MarkedDocument, Mention
from eyeline.text.encode import encode_word_lists
from eyeline.text.tokenized import TokenizedText

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

#: How many documents are tokenised together.
TOGETHER = 64
#: The words of a window by their indices in the document, and its tokens.
_Cut = tuple[tuple[int, ...], TokenizedText]


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


@dataclass(frozen=True)
class _Unit:
    """A sentence, or a piece of one that is too long for a window.

    words    the indices of its words in the document
    tokens   how many it has, without special ones
    text     of a whole sentence; None: of a piece, which is a window of its own
    """

    words: list[int]
    tokens: int
    text: TokenizedText | None


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
        """The windows of one document."""
        return self.of_all([document], [number])

    def of_all(self, documents: Sequence[MarkedDocument], numbers: Sequence[int] | None = None) -> list[Window]:
        """The windows of these documents, in order; their sentences are read together. numbers: of the documents in their corpus."""
        numbered = list(zip(range(len(documents)) if numbers is None else numbers, documents, strict=True))
        windows: list[Window] = []
        for start in range(0, len(numbered), TOGETHER):
            part = numbered[start : start + TOGETHER]
            for (number, document), cut in zip(part, self._cut([document for _, document in part]), strict=True):
                windows += self._with_mentions(document, number, cut)
        return windows

    def _with_mentions(self, document: MarkedDocument, number: int, cut: Iterable[_Cut]) -> list[Window]:
        windows = []
        for words, text in cut:
            inside = set(words)
            mentions = [m for m in document.mentions if all(word in inside for word in range(m.start, m.end + 1))]
            windows.append(Window(number, words, text, tuple(mentions)))
            if self.first:
                break
        self.counts.update(documents=1, windows=len(windows), tokens=sum(len(window.text) for window in windows))
        self.counts.update(mentions_marked=len(document.mentions))
        self.counts["mentions_outside"] += len(document.mentions) - sum(len(window.mentions) for window in windows)
        return windows

    def _cut(self, documents: Sequence[MarkedDocument]) -> Iterator[Iterable[_Cut]]:
        """The windows of each document."""
        if self.first:  # the rest of a document is not read
            for document in documents:
                sentences = (self._encode(document, words) for words in _sentences(document))
                yield (window for units in self._groups(document, sentences) for window in self._close(document, units))
            return
        pairs = [(document, words) for document in documents for words in _sentences(document)]
        texts = iter(self._encode_all(pairs))
        groups = [list(self._groups(document, islice(texts, len(document.sentences)))) for document in documents]
        several = [
            (document, _words(units)) for document, its in zip(documents, groups, strict=True) for units in its if _only(units) is None
        ]
        joined = iter(self._encode_all(several))
        for document, its in zip(documents, groups, strict=True):
            read = [(units, next(joined) if _only(units) is None else None) for units in its]
            yield [window for units, text in read for window in self._close(document, units, text)]

    def _groups(self, document: MarkedDocument, sentences: Iterable[TokenizedText | TextError]) -> Iterator[list[_Unit]]:
        """The units of each window, as the tokens of their sentences add up."""
        units: list[_Unit] = []
        size = 0
        for unit in self._units(document, sentences):
            alone = unit.text is None
            if units and (alone or size + unit.tokens > self.longest):
                yield units
                units, size = [], 0
            units.append(unit)
            size = size + unit.tokens if size else unit.tokens + self._added
            if alone:
                yield units
                units, size = [], 0
        if units:
            yield units

    def _units(self, document: MarkedDocument, sentences: Iterable[TokenizedText | TextError]) -> Iterator[_Unit]:
        """Sentences, and the pieces of long ones."""
        for words, text in zip(_sentences(document), sentences, strict=True):
            if isinstance(text, TextError):
                self._leave_out(document, words, text.message)
                continue
            self._added = sum(text.special)
            if len(text) <= self.longest:
                yield _Unit(words, len(text) - self._added, text)
                continue
            self.counts["long_sentences"] += 1
            sizes = Counter(word for word in text.words if word is not None)
            piece: list[int] = []
            filled = 0
            for index, word in enumerate(words):
                if piece and filled + sizes[index] > self.longest - self._added:
                    yield _Unit(piece, filled, None)
                    piece, filled = [], 0
                piece.append(word)
                filled += sizes[index]
            yield _Unit(piece, filled, None)

    def _close(self, document: MarkedDocument, units: Sequence[_Unit], text: TokenizedText | TextError | None = None) -> Iterator[_Cut]:
        """These units as a window, or as several where together they make more tokens than apart. text: of all, where it was read."""
        words = _words(units)
        text = _only(units) if text is None else text
        text = self._encode(document, words) if text is None else text
        if isinstance(text, TextError):
            raise text
        if len(text) <= self.longest:
            yield tuple(words), text
        elif len(units) > 1:
            yield from self._close(document, units[:-1])
            yield from self._close(document, units[-1:])
        elif len(words) > 1:
            yield from self._close(document, [_Unit(words[:-1], 0, None)])
            yield from self._close(document, [_Unit(words[-1:], 0, None)])
        else:
            self._leave_out(document, words, Message("refusal.long_word", n=f"{len(text):,}", most=f"{self.longest:,}"))

    def _leave_out(self, document: MarkedDocument, words: Sequence[int], why: Message) -> None:
        if self.strict:
            shown = " ".join(document.words[word] for word in words[:8])
            raise TextError(
                f"{document.id}: a sentence cannot be read: {shown} …",
                why,
                Advice("With strict=False it is left out.", "Without --strict it is left out."),
            )
        self.counts["unreadable_sentences"] += 1

    def _encode(self, document: MarkedDocument, words: Sequence[int]) -> TokenizedText | TextError:
        return self._encode_all([(document, words)])[0]

    def _encode_all(self, parts: Sequence[tuple[MarkedDocument, Sequence[int]]]) -> list[TokenizedText | TextError]:
        lists = [[document.words[word] for word in words] for document, words in parts]
        spaces = [[document.spaces[word] for word in words] if document.spaces else None for document, words in parts]
        return encode_word_lists(self.tokenizer, lists, spaces)


def _sentences(document: MarkedDocument) -> Iterator[list[int]]:
    """The indices of the words of each sentence."""
    start = 0
    for sentence in document.sentences:
        yield list(range(start, start + len(sentence)))
        start += len(sentence)


def _words(units: Sequence[_Unit]) -> list[int]:
    return [word for unit in units for word in unit.words]


def _only(units: Sequence[_Unit]) -> TokenizedText | None:
    """The text of a window of one whole sentence, which is known."""
    return units[0].text if len(units) == 1 else None
