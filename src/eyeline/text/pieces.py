"""One or two texts through a tokeniser, special tokens added the model's ordinary way: ids, pieces, and where each comes from.

The tokeniser is never asked to truncate or pad: that changes its state, which breaks other threads that use it. `kept` cuts
afterwards, which gives the same tokens, since special tokens only stand around the texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from eyeline.errors import TextError
from eyeline.text.align import align, spells_bytes
from eyeline.text.display import is_byte_level, show, show_bytes
from eyeline.text.tokenized import Span

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_SETTLING = Lock()


@dataclass(frozen=True)
class Pieces:
    """What the tokeniser made of the texts.

    ids    the model's token ids
    shown  each token as text to show
    texts  the text each token comes from: 0, 1, or None for special tokens
    spans  [start, end) in the characters of that text; None where unknown, (0, 0) for special tokens
    types  the model's token type ids; empty where the tokeniser gives none
    """

    ids: tuple[int, ...]
    shown: tuple[str, ...]
    texts: tuple[int | None, ...]
    spans: tuple[Span | None, ...]
    types: tuple[int, ...] = ()

    def positions(self, text: int) -> list[int]:
        """The positions of the tokens of one text."""
        return [position for position, owner in enumerate(self.texts) if owner == text]

    def kept(self, positions: Iterable[int]) -> Pieces:
        """Only these positions."""
        chosen = list(positions)
        columns = (self.ids, self.shown, self.texts, self.spans, self.types)
        return Pieces(*(tuple(column[p] for p in chosen) if column else () for column in columns))  # type: ignore[arg-type]


def read(tokenizer: PreTrainedTokenizerBase, text: str, pair: str | None = None) -> Pieces:
    """Tokenise one text or a pair; each text must give at least one token."""
    try:
        pieces = _read_fast(tokenizer, text, pair) if tokenizer.is_fast else _read_slow(tokenizer, text, pair)
    except TextError:
        raise
    except Exception as error:  # any tokeniser's code runs here
        raise TextError(
            f"{type(tokenizer).__name__} cannot read {text[:40]!r}.", f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        ) from error
    for number, source in enumerate([text] if pair is None else [text, pair]):
        if number not in pieces.texts:
            raise TextError(
                f"{type(tokenizer).__name__} makes no tokens of {source[:40]!r}.",
                "It drops every character of this text. Give a text with characters that the model knows.",
            )
    return pieces


def settle(tokenizer: PreTrainedTokenizerBase) -> Any:
    """The engine of a fast tokeniser. Truncation or padding that was saved with it is switched off once, before any thread encodes."""
    backend: Any = tokenizer.backend_tokenizer
    with _SETTLING:
        if backend.truncation is not None:
            backend.no_truncation()
        if backend.padding is not None:
            backend.no_padding()
    return backend


def _read_fast(tokenizer: PreTrainedTokenizerBase, text: str, pair: str | None) -> Pieces:
    settle(tokenizer)
    encoded = tokenizer(text, pair, truncation=False, padding=False, return_offsets_mapping=True, verbose=False)
    encoding: Any = encoded.encodings[0]
    byte_level = is_byte_level(tokenizer)
    unknown, unknown_id = tokenizer.unk_token, tokenizer.unk_token_id  # read once: each access takes microseconds
    ids, texts = encoding.ids, encoding.sequence_ids
    return Pieces(
        ids=tuple(ids),
        # Unigram names an unknown token by its letters; the model sees <unk>
        shown=tuple(
            show(unknown if number == unknown_id else piece, byte_level) for number, piece in zip(ids, encoding.tokens, strict=True)
        ),
        texts=tuple(texts),
        spans=tuple((0, 0) if owner is None else span for owner, span in zip(texts, encoding.offsets, strict=True)),
        types=tuple(encoded.get("token_type_ids", ())),
    )


def _read_slow(tokenizer: PreTrainedTokenizerBase, text: str, pair: str | None) -> Pieces:
    encoded = tokenizer(text, pair, truncation=False, padding=False, verbose=False)
    ids: list[int] = list(encoded["input_ids"])
    texts: list[int | None] = [None] * len(ids)
    spans: list[Span | None] = [(0, 0)] * len(ids)
    shown = show_ids(tokenizer, ids)
    start = 0
    for number, source in enumerate([text] if pair is None else [text, pair]):
        own = list(tokenizer.encode(source, add_special_tokens=False, verbose=False))
        start = _find(ids, own, start)
        end = start + len(own)
        # tokenize() keeps the letters of unknown pieces; the ids have lost them
        letters = tokenizer.tokenize(source)
        pieces = letters if len(letters) == len(own) else list(tokenizer.convert_ids_to_tokens(own))
        texts[start:end] = [number] * len(own)
        aligned = align(source, pieces, tokenizer.unk_token)
        spans[start:end] = [None] * len(own) if aligned is None else aligned
        if spells_bytes(source, pieces):
            shown[start:end] = show_bytes(pieces)
        start = end
    return Pieces(tuple(ids), tuple(shown), tuple(texts), tuple(spans), tuple(encoded.get("token_type_ids", ())))


def show_ids(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> list[str]:
    """Each id as text to show."""
    byte_level = is_byte_level(tokenizer)
    return [show(str(piece), byte_level) for piece in tokenizer.convert_ids_to_tokens(list(ids))]


def _find(ids: list[int], own: list[int], start: int) -> int:
    """Where the ids of one text begin among all ids."""
    for index in range(start, len(ids) - len(own) + 1):
        if ids[index : index + len(own)] == own:
            return index
    raise TextError(
        f"{len(own)} tokens of a text are not among the {len(ids)} that the tokeniser gives for the whole input.",
        "It encodes a text differently with special tokens than without. Use the fast version of this tokeniser.",
    )
