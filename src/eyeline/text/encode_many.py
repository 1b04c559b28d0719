"""Many plain texts at once: the fast tokeniser reads them together, and words are grouped only when they are first read.

The same tokens as `encode` gives one by one: the first text of some batches, fewer and fewer, is read both ways and compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from eyeline.errors import EyelineError, TextError
from eyeline.text.checks import check_text
from eyeline.text.display import is_byte_level, show
from eyeline.text.encode import check_unknown, encode
from eyeline.text.pieces import settle
from eyeline.text.segment import segment
from eyeline.text.tokenized import Span, TokenizedText
from eyeline.text.words import group

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

#: How many characters of a long text are read both ways.
MOST_COMPARED = 10_000
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


def _alone(tokenizer: PreTrainedTokenizerBase, text: str) -> TokenizedText | TextError:
    try:
        return encode(tokenizer, text)
    except TextError as error:
        return error


def _read(tokenizer: PreTrainedTokenizerBase, texts: list[str]) -> list[TokenizedText | TextError]:
    backend: Any = settle(tokenizer)
    try:
        encodings = backend.encode_batch(texts, add_special_tokens=True)
    except Exception:  # noqa: BLE001 - any tokeniser's code runs here; read one by one, each text reports its own error
        return [_alone(tokenizer, text) for text in texts]
    byte_level, unknown, unknown_id = is_byte_level(tokenizer), tokenizer.unk_token, tokenizer.unk_token_id
    typed = "token_type_ids" in tokenizer.model_input_names
    pieces: dict[int, str] = {}  # how each id is shown
    results: list[TokenizedText | TextError] = []
    for text, encoding in zip(texts, encodings, strict=True):
        ids, owners = encoding.ids, encoding.sequence_ids
        if 0 not in owners:
            results.append(_alone(tokenizer, text))
            continue
        special = tuple([owner is None for owner in owners])
        try:
            shown = tuple(map(pieces.__getitem__, ids))
        except KeyError:  # some are new
            for number, piece in zip(ids, encoding.tokens, strict=True):
                pieces.setdefault(number, show(unknown if number == unknown_id else piece, byte_level))
            shown = tuple(map(pieces.__getitem__, ids))
        spans = tuple(encoding.offsets)
        try:
            if unknown_id in ids:
                check_unknown(tokenizer, ids, spans)
        except EyelineError:
            results.append(_alone(tokenizer, text))
            continue
        results.append(
            TokenizedText.without_words(
                partial(_words, text, shown, special, spans),
                tokens=shown,
                segments=(0,) * len(ids),
                special=special,
                ids=tuple(ids),
                spans=spans,
                sources=(text,),
                types=tuple(encoding.type_ids) if typed else (),
            )
        )
    return results


def _words(
    text: str, shown: tuple[str, ...], special: tuple[bool, ...], spans: tuple[Span, ...]
) -> tuple[tuple[int | None, ...], tuple[str, ...]]:
    own = [position for position, is_special in enumerate(special) if not is_special]
    words = group(text, segment(text), [spans[position] for position in own], [shown[position] for position in own], cut=False)
    of = iter(words.of)
    return tuple([None if is_special else next(of) for is_special in special]), words.texts


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
