"""Many texts at once, plain or as lists of words: the fast tokeniser reads them together.

The same tokens as `encode` gives one by one: the first text of some batches, fewer and fewer, is read both ways and compared. The words
of a plain text are grouped only when they are first read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from eyeline.errors import EyelineError, TextError
from eyeline.text.checks import check_text, check_words
from eyeline.text.display import is_byte_level, show
from eyeline.text.encode import check_unknown, encode
from eyeline.text.given import ROUNDS, first_spaces, put_together
from eyeline.text.pieces import settle
from eyeline.text.segment import segment
from eyeline.text.tokenized import Span, TokenizedText
from eyeline.text.words import group, group_given

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

#: How many characters of a long text are read both ways.
MOST_COMPARED = 10_000
#: How many lists of words are read together.
LISTS = 1024
#: How many batches each tokeniser has read.
_BATCHES: WeakKeyDictionary[PreTrainedTokenizerBase, int] = WeakKeyDictionary()


def encode_many(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[TokenizedText | TextError]:
    """The tokens of each text, special ones added; in place of a text that cannot be read, the error."""
    if not getattr(tokenizer, "is_fast", False) or not texts:
        return [_alone(tokenizer, text) for text in texts]
    results: list[TokenizedText | TextError | None] = []
    for text in texts:
        try:
            check_text(text, "text")
            results.append(None)
        except TextError as error:
            results.append(error)
    wanted = [index for index, result in enumerate(results) if result is None]
    read = _read(tokenizer, [texts[index] for index in wanted])
    if read and _is_compared(tokenizer) and not _same(tokenizer, texts[wanted[0]], read[0]):
        return [_alone(tokenizer, text) for text in texts]  # this tokeniser's Python code changes what its engine gives
    for index, encoded in zip(wanted, read, strict=True):
        results[index] = encoded
    return [result for result in results if result is not None]


def encode_word_lists(
    tokenizer: PreTrainedTokenizerBase, lists: Sequence[Sequence[str]], spaces: Sequence[Sequence[bool] | None] | None = None
) -> list[TokenizedText | TextError]:
    """The tokens of each list of words, as `encode` gives them; in place of a list that cannot be read, the error.

    spaces   of each list: whether a space follows each word; None: as its script is written
    """
    follow = [None] * len(lists) if spaces is None else spaces
    both = list(zip(lists, follow, strict=True))
    if not getattr(tokenizer, "is_fast", False):
        return [_list_alone(tokenizer, *given) for given in both]
    results: list[TokenizedText | TextError] = []
    for start in range(0, len(both), LISTS):
        part = both[start : start + LISTS]
        read = _read_lists(tokenizer, part)
        first = next((index for index, text in enumerate(read) if text is not None), None)
        if first is not None and _is_compared(tokenizer) and read[first] != _list_alone(tokenizer, *part[first]):
            read = [None] * len(part)
        results += [_list_alone(tokenizer, *given) if text is None else text for given, text in zip(part, read, strict=True)]
    return results


def _alone(tokenizer: PreTrainedTokenizerBase, text: str) -> TokenizedText | TextError:
    try:
        return encode(tokenizer, text)
    except TextError as error:
        return error


def _list_alone(tokenizer: PreTrainedTokenizerBase, words: Sequence[str], spaces: Sequence[bool] | None) -> TokenizedText | TextError:
    try:
        return encode(tokenizer, words=words, spaces=spaces)
    except TextError as error:
        return error


@dataclass(frozen=True)
class _Tokens:
    """What a fast tokeniser makes of one text."""

    ids: tuple[int, ...]
    shown: tuple[str, ...]
    special: tuple[bool, ...]
    types: tuple[int, ...]
    encoding: Any

    def spans(self) -> tuple[Span, ...]:
        """Where each token lies in the text: a pair of numbers for each, which takes longer than all the rest."""
        return tuple(self.encoding.offsets)

    def fields(self, text: str) -> dict[str, Any]:
        """The fields of a TokenizedText, except the words."""
        return {
            "tokens": self.shown,
            "segments": (0,) * len(self.ids),
            "special": self.special,
            "ids": self.ids,
            "sources": (text,),
            "types": self.types,
        }


@dataclass
class _Engine:
    """The engine of a fast tokeniser, and what is asked of the tokeniser once and not for each text. pieces: how each id is shown"""

    tokenizer: PreTrainedTokenizerBase
    pieces: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.backend: Any = settle(self.tokenizer)
        self.byte_level = is_byte_level(self.tokenizer)
        self.unknown, self.unknown_id = self.tokenizer.unk_token, self.tokenizer.unk_token_id
        self.typed = "token_type_ids" in self.tokenizer.model_input_names

    def read(self, texts: list[str]) -> Iterator[_Tokens | None]:
        """The tokens of each text; None: it has to be read alone, which gives the tokens or the error."""
        try:
            encodings = self.backend.encode_batch(texts, add_special_tokens=True)
        except Exception:  # noqa: BLE001 - any tokeniser's code runs here; read alone, each text reports its own error
            return iter([None] * len(texts))
        return map(self._tokens, encodings)

    def _tokens(self, encoding: Any) -> _Tokens | None:
        ids, owners = encoding.ids, encoding.sequence_ids
        if 0 not in owners:
            return None
        try:
            shown = tuple(map(self.pieces.__getitem__, ids))
        except KeyError:  # some are new
            for number, piece in zip(ids, encoding.tokens, strict=True):
                self.pieces.setdefault(number, show(self.unknown if number == self.unknown_id else piece, self.byte_level))
            shown = tuple(map(self.pieces.__getitem__, ids))
        try:
            if self.unknown_id in ids:
                check_unknown(self.tokenizer, ids, encoding.offsets)
        except EyelineError:
            return None
        special = tuple([owner is None for owner in owners])
        return _Tokens(tuple(ids), shown, special, tuple(encoding.type_ids) if self.typed else (), encoding)


def _read(tokenizer: PreTrainedTokenizerBase, texts: list[str]) -> list[TokenizedText | TextError]:
    results: list[TokenizedText | TextError] = []
    for text, tokens in zip(texts, _Engine(tokenizer).read(texts), strict=True):
        if tokens is None:
            results.append(_alone(tokenizer, text))
        else:
            results.append(TokenizedText.without_words(_words, tokens.spans, **tokens.fields(text)))
    return results


def _read_lists(
    tokenizer: PreTrainedTokenizerBase, lists: Sequence[tuple[Sequence[str], Sequence[bool] | None]]
) -> list[TokenizedText | None]:
    """None: the list has to be read alone, which gives the tokens or the error."""
    results: list[TokenizedText | None] = [None] * len(lists)
    spaced: dict[int, set[int]] = {}  # of each list still to be read: the borders between words that have a space
    for index, (words, spaces) in enumerate(lists):
        try:
            spaced[index] = first_spaces(check_words(words, "text"), spaces)
        except TextError:
            continue
    engine = _Engine(tokenizer)
    for _ in range(ROUNDS):
        texts = {index: put_together(lists[index][0], borders) for index, borders in spaced.items()}
        again: dict[int, set[int]] = {}
        for index, tokens in zip(texts, engine.read([text for text, _ in texts.values()]), strict=True):
            if tokens is None:
                continue
            (text, segments), words = texts[index], lists[index][0]
            spans = tokens.spans()
            own = [span for span, added in zip(spans, tokens.special, strict=True) if not added]
            of, crossed = group_given(text, segments, own)
            if crossed:
                new = set(crossed) - spaced[index]
                if new:
                    again[index] = spaced[index] | new
            elif len(set(of)) == len(words):
                word_of = iter(of)
                word_of_token = tuple([None if added else next(word_of) for added in tokens.special])
                results[index] = TokenizedText.from_tokeniser(
                    words=word_of_token, word_texts=tuple(words), spans=spans, **tokens.fields(text)
                )
        spaced = again
        if not spaced:
            break
    return results


def _words(read: TokenizedText) -> tuple[tuple[int | None, ...], tuple[str, ...]]:
    (text,) = read.sources
    own = [position for position, is_special in enumerate(read.special) if not is_special]
    spans, shown = [read.spans[position] for position in own], [read.tokens[position] for position in own]
    words = group(text, segment(text), spans, shown, cut=False)
    of = iter(words.of)
    return tuple([None if is_special else next(of) for is_special in read.special]), words.texts


def _is_compared(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether the first text of this batch is read both ways: in the 1st, 2nd, 4th, 8th … batch of a tokeniser."""
    number = _BATCHES[tokenizer] = _BATCHES.get(tokenizer, 0) + 1
    return number.bit_count() == 1


def _same(tokenizer: PreTrainedTokenizerBase, text: str, read: TokenizedText | TextError) -> bool:
    if len(text) > MOST_COMPARED:  # its beginning is enough
        text = text[:MOST_COMPARED]
        (read,) = _read(tokenizer, [text])
    alone = _alone(tokenizer, text)
    if isinstance(alone, TextError) or isinstance(read, TextError):
        return isinstance(alone, TextError) and isinstance(read, TextError)
    return alone == read
