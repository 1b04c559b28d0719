"""A text, a pair or a list of words → TokenizedText, with any Hugging Face tokeniser."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from eyeline.errors import Advice, EyelineError, TextError
from eyeline.messages import Message
from eyeline.text.pieces import Pieces, read, without_truncation
from eyeline.text.tokenized import Span, TokenizedText, is_byte_level, show
from eyeline.text.words import (
    JOIN_ROUNDS,
    TokenWords,
    assign,
    first_spaces,
    group,
    group_by_marks,
    group_given,
    join,
    put_together,
    segment,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


# ---- One text or pair


LONGEST_UNKNOWN = 1000


def encode(
    tokenizer: PreTrainedTokenizerBase,
    text: str | None = None,
    pair: str | None = None,
    *,
    words: Sequence[str] | None = None,
    pair_words: Sequence[str] | None = None,
    spaces: Sequence[bool] | None = None,
    max_length: int | None = None,
    truncate: bool = False,
) -> TokenizedText:
    """Tokens, words and segments of a text or a pair, special tokens added the model's ordinary way.

    text, words            the first text: a string, or a list of words; word i of the result is then words[i]
    pair, pair_words       the second text, the same way
    spaces                 of `words`: whether a space follows each in the text; None: as its script is written
    max_length             the most tokens the model takes, special ones included; None: no limit
    truncate               cut a longer text (of a pair, the longer one first) instead of refusing it; special tokens stay

    Words of a plain text: see words.py. Fast tokenisers give offsets; the pieces of slow ones are aligned to the text, and
    where they do not spell it, words follow the pieces' marks (## ▁ @@ </w>) and `spans` is empty.
    """
    name = "text" if pair is None and pair_words is None else "first text"
    sides = [_side(tokenizer, text, words, name, ("text", "words"), spaces)]
    if pair is not None or pair_words is not None:
        sides.append(_side(tokenizer, pair, pair_words, "second text", ("pair", "pair_words")))
    alone = sides[0].pieces if len(sides) == 1 else None  # a pair is read together
    whole = alone or read(tokenizer, *(side.text for side in sides))
    check_unknown(tokenizer, whole.ids, whole.spans)
    pieces = _fit(whole, len(sides), max_length, truncate)

    word_of: list[int | None] = [None] * len(pieces.ids)
    word_texts: list[str] = []
    for number, side in enumerate(sides):
        positions = pieces.positions(number)
        cut = pieces is not whole and len(positions) < len(whole.positions(number))
        words_of_side = _words(side, pieces, number, cut)
        for position, word in zip(positions, words_of_side.of, strict=True):
            word_of[position] = len(word_texts) + word
        word_texts += words_of_side.texts
    spans = tuple(span for span in pieces.spans if span is not None)
    return TokenizedText(
        tokens=pieces.shown,
        words=tuple(word_of),
        word_texts=tuple(word_texts),
        segments=_segments(tokenizer, pieces),
        special=tuple(owner is None for owner in pieces.texts),
        ids=pieces.ids,
        spans=spans if len(spans) == len(pieces.ids) else (),
        sources=tuple(side.text for side in sides),
        types=pieces.types,
    )


@dataclass(frozen=True)
class _Side:
    """One text of the input; the rest only where it came as a list of words."""

    text: str
    given: tuple[str, ...] | None = None
    segments: tuple[Span, ...] = ()
    pieces: Pieces | None = None


def _side(
    tokenizer: PreTrainedTokenizerBase,
    text: str | None,
    words: Sequence[str] | None,
    name: str,
    arguments: tuple[str, str],
    spaces: Sequence[bool] | None = None,
) -> _Side:
    check_choice(text, words, name, arguments)
    if words is None:
        return _Side(check_text(text, name))
    given = check_words(words, name)
    joined = join(tokenizer, given, spaces)
    return _Side(joined.text, given, joined.segments, joined.pieces)


def _words(side: _Side, pieces: Pieces, number: int, cut: bool) -> TokenWords:
    if side.given is not None:
        return assign(side.text, side.segments, side.given, pieces, number, cut=cut)
    positions = pieces.positions(number)
    shown = [pieces.shown[position] for position in positions]
    spans = [span for position in positions if (span := pieces.spans[position]) is not None]
    if len(spans) < len(positions):
        return group_by_marks(shown)
    return group(side.text, segment(side.text), spans, shown, cut=cut)


def check_unknown(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int], spans: Sequence[Span | None]) -> None:
    """Refuse a long stretch of text that became one unknown token: its attention would show nothing."""
    for number, span in zip(ids, spans, strict=True):
        if span is not None and span[1] - span[0] > LONGEST_UNKNOWN and number == tokenizer.unk_token_id:
            raise TextError(
                Message("refusal.unknown_stretch", n=f"{span[1] - span[0]:,}", token=str(tokenizer.unk_token)),
                Message("refusal.put_spaces", most=str(LONGEST_UNKNOWN)),
            )


def _fit(pieces: Pieces, texts: int, max_length: int | None, truncate: bool) -> Pieces:
    """The pieces as they are, or cut at the end of the longer text until they fit."""
    length = len(pieces.ids)
    if max_length is None or length <= max_length:
        return pieces
    lengths = [len(pieces.positions(number)) for number in range(texts)]
    added = length - sum(lengths)
    if not truncate:
        raise TextError(
            Message("refusal.too_long", n=f"{length:,}", most=f"{max_length:,}"),
            Message(f"refusal.tokens.{'texts' if texts > 1 else 'text'}", n=" + ".join(f"{n:,}" for n in lengths), special=str(added)),
            Advice(
                f"Shorten the text, or pass truncate=True to keep the first {max_length:,} tokens.",
                f"Shorten the text, or add --truncate to keep the first {max_length:,} tokens.",
                Message("refusal.advice.shorten"),
            ),
        )
    room = max_length - added
    if room < texts:
        raise TextError(
            f"{max_length} tokens leave no room for the text beside {added} special tokens.",
            f"Give a max_length of at least {added + texts}.",
        )
    if texts == 1:
        allowed = [room]
    else:
        shorter = min(*lengths, room // 2)
        allowed = [shorter, room - shorter] if lengths[0] < lengths[1] else [room - shorter, shorter]
    dropped = {position for number, keep in enumerate(allowed) for position in pieces.positions(number)[keep:]}
    return pieces.kept(position for position in range(length) if position not in dropped)


def _segments(tokenizer: PreTrainedTokenizerBase, pieces: Pieces) -> tuple[int, ...]:
    """0 or 1 for each token. A special token belongs to the text it closes, or, if none is open, to the one it opens.

    Between two texts the first special token closes the first text ([SEP], </s>) unless it is a beginning (<s> of Llama); any further
    one (RoBERTa's second </s>) opens the second.
    """
    if 1 not in pieces.texts:
        return (0,) * len(pieces.texts)
    openers = {tokenizer.bos_token_id, tokenizer.cls_token_id} - {None, tokenizer.eos_token_id, tokenizer.sep_token_id}
    segments: list[int] = []
    last = max(pieces.positions(0))
    for position, owner in enumerate(pieces.texts):
        closes = position < last or (position == last + 1 and pieces.ids[position] not in openers)
        segments.append(owner if owner is not None else 0 if closes else 1)
    return tuple(segments)


# ---- Many texts at once, plain or as lists of words: the fast tokeniser reads them together
#
# The same tokens as `encode` gives one by one: the first text of some batches, fewer and fewer, is read both ways and compared. The
# words of a plain text are grouped only when they are first read.


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
        self.backend: Any = without_truncation(self.tokenizer)
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
            results.append(TokenizedText.without_words(_words_of, tokens.spans, **tokens.fields(text)))
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
    for _ in range(JOIN_ROUNDS):
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


def _words_of(read: TokenizedText) -> tuple[tuple[int | None, ...], tuple[str, ...]]:
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


# ---- Bad input, refused before the tokeniser sees it


_SURROGATE = re.compile("[\ud800-\udfff]")


#: What an argument is called → its key in the messages.
NAMED = {"text": "text", "second text": "pair"}


def check_text(text: Any, name: str) -> str:
    """A string with something in it besides white space, that can be written as UTF-8."""
    if not isinstance(text, str):
        hint = "Decode it first: data.decode('utf-8')." if isinstance(text, bytes) else "Pass a string."
        raise TextError(f"The {name} is {_kind(text)}, not a string.", f"value: {_short(text)}", hint)
    if not text:
        raise TextError(
            Message(f"refusal.empty.{NAMED[name]}") if name in NAMED else f"The {name} is empty.", Message("refusal.a_character")
        )
    if text.isspace():
        characters = " ".join(f"U+{ord(character):04X}" for character in text[:8]) + (" …" if len(text) > 8 else "")
        only = {"n": str(len(text)), "characters": characters}
        saw = f"The {name} is only white space ({only['n']} characters: {characters})."
        raise TextError(Message(f"refusal.white_space.{NAMED[name]}", **only) if name in NAMED else saw, Message("refusal.a_character"))
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


# ---- Texts that a tokeniser does not know: another alphabet, or capital letters in a model of small ones


_BYTES = re.compile(r"<0x[0-9A-F]{2}")

#: From this share of unknown tokens on, the notice is shown: the model can read little of the text.
NOTICE_FROM_SHARE = 0.5


def count_unknown(texts: Iterable[TokenizedText], tokenizer: PreTrainedTokenizerBase | None) -> tuple[int, int]:
    """How many tokens of the texts are unknown, and how many there are, special ones left out."""
    unknown_id = unknown_number(tokenizer)
    unknown = tokens = 0
    for text in texts:
        tokens += text.special.count(False) if text.ids else 0
        unknown += unknown_in(text, unknown_id)
    return unknown, tokens


def unknown_number(tokenizer: PreTrainedTokenizerBase | None) -> int | None:
    """The id of the unknown token. None: there is none. Many decoders name their end token so, though they know every byte."""
    number = getattr(tokenizer, "unk_token_id", None)
    return None if number is None or number == getattr(tokenizer, "eos_token_id", None) else int(number)


def unknown_in(text: TokenizedText, unknown_id: int | None) -> int:
    """How many tokens of a text are unknown, special ones left out."""
    if unknown_id is None or unknown_id not in text.ids:
        return 0
    return sum(number == unknown_id and not is_special for number, is_special in zip(text.ids, text.special, strict=True))


def byte_tokens(texts: Iterable[TokenizedText]) -> list[str]:
    """The tokens that are bytes of a character that the tokeniser has no token for, in the order of the texts.

    >>> byte_tokens([TokenizedText.from_tokens(["▁cat", "▁<0xE7>", "<0x8C 0xAB>"])])
    ['▁<0xE7>', '<0x8C 0xAB>']
    """
    return [token for text in texts for token in text.tokens if _BYTES.search(token)]


def unknown_notices(texts: Iterable[TokenizedText], tokenizer: PreTrainedTokenizerBase | None) -> tuple[Message, ...]:
    """The notice for these texts together: one sentence, or none."""
    notice = unknown_notice(*count_unknown(texts, tokenizer), tokenizer)
    return () if notice is None else (notice,)


def unknown_notice(unknown: int, tokens: int, tokenizer: PreTrainedTokenizerBase | None) -> Message | None:
    """A sentence where most tokens are unknown, else None."""
    if not tokens or unknown / tokens < NOTICE_FROM_SHARE:
        return None
    token = str(getattr(tokenizer, "unk_token", None))
    return Message("notice.unknown_alphabet", unknown=f"{unknown:,}", tokens=f"{tokens:,}", token=token)
