"""One or two texts through a tokeniser, special tokens added the model's ordinary way: ids, pieces, and where each comes from.

The tokeniser is never asked to truncate or pad: that changes its state, which breaks other threads that use it. `Pieces.kept` cuts
afterwards, which gives the same tokens, since special tokens only stand around the texts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from eyeline.errors import TextError
from eyeline.messages import Message
from eyeline.text.tokenized import Span, is_byte_level, show, show_bytes

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_CHANGING_ENGINE = Lock()


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
            Message("refusal.tokenizer_fails", tokenizer=type(tokenizer).__name__, text=repr(text[:40])),
            f"{type(error).__name__}: {' '.join(str(error).split())[:300]}",
        ) from error
    for number, source in enumerate([text] if pair is None else [text, pair]):
        if number not in pieces.texts:
            raise TextError(
                Message("refusal.no_tokens", tokenizer=type(tokenizer).__name__, text=repr(source[:40])),
                Message("refusal.known_characters"),
            )
    return pieces


def without_truncation(tokenizer: PreTrainedTokenizerBase) -> Any:
    """The engine of a fast tokeniser. Truncation or padding that was saved with it is switched off once, before any thread encodes."""
    backend: Any = tokenizer.backend_tokenizer
    with _CHANGING_ENGINE:
        if backend.truncation is not None:
            backend.no_truncation()
        if backend.padding is not None:
            backend.no_padding()
    return backend


def _read_fast(tokenizer: PreTrainedTokenizerBase, text: str, pair: str | None) -> Pieces:
    without_truncation(tokenizer)
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
        start = _find_ids(ids, own, start)
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


def _find_ids(ids: list[int], own: list[int], start: int) -> int:
    """Where the ids of one text begin among all ids."""
    for index in range(start, len(ids) - len(own) + 1):
        if ids[index : index + len(own)] == own:
            return index
    raise TextError(
        f"{len(own)} tokens of a text are not among the {len(ids)} that the tokeniser gives for the whole input.",
        "It encodes a text differently with special tokens than without. Use the fast version of this tokeniser.",
    )


# ---- Where the pieces of a tokeniser without offsets lie in the text
#
# Greedy and left to right over the characters that are not white space. Pieces are compared as they are, then without width and case (NFKC,
# casefold), then bare (accents and format characters off), because tokenisers normalise in these ways without saying so.


Normalise = Callable[[str], str]


def _same(character: str) -> str:
    return character


def _without_width_and_case(character: str) -> str:
    return unicodedata.normalize("NFKC", character).casefold()


def _bare(character: str) -> str:
    return "".join(
        c for c in unicodedata.normalize("NFD", _without_width_and_case(character)) if unicodedata.category(c) not in ("Mn", "Cc", "Cf")
    )


def align(text: str, pieces: Sequence[str], unknown: str | None = None) -> list[Span] | None:
    """[start, end) of each piece in the text; None where the pieces do not spell the text.

    A piece that is `unknown` gets the characters before the next piece that matches; a piece of white space alone gets none.

    >>> align("Déjà vu!", ["de", "##ja", "vu", "!"]), align("a 猫 b", ["▁a", "<unk>", "▁b"], "<unk>"), align("cat", ["dog"])
    ([(0, 2), (2, 4), (5, 7), (7, 8)], [(0, 1), (2, 3), (4, 5)], None)
    """
    if spells_bytes(text, pieces):
        return [(index, index + 1) for index, character in enumerate(text) for _ in character.encode()]
    for normalise in (_same, _without_width_and_case, _bare):
        spans = _align(text, pieces, unknown, normalise)
        if spans is not None:
            return spans
    return None


def _align(text: str, pieces: Sequence[str], unknown: str | None, normalise: Normalise) -> list[Span] | None:
    stream, origins = [], []  # the normalised characters, and where each comes from
    for index, character in enumerate(text):
        if not character.isspace():
            for part in normalise(character):
                if not part.isspace():
                    stream.append(part)
                    origins.append(index)
    letters = "".join(stream)
    origins.append(len(text))

    spans: list[Span] = []  # in normalised characters
    position, waiting = 0, 0  # unknown pieces that wait for the next match
    for piece in pieces:
        if piece == unknown and not letters.startswith(piece, position):
            waiting += 1
            spans.append((position, position))
            continue
        match = _find_letters(letters, position, piece, normalise, anywhere=waiting > 0)
        if match is None:
            return None
        if waiting:
            spans[len(spans) - waiting :] = _share(text, origins, (position, match[0]), waiting)
            waiting = 0
        spans.append(match)
        position = match[1]
    if waiting:
        spans[len(spans) - waiting :] = _share(text, origins, (position, len(letters)), waiting)
    elif position < len(letters):
        return None
    return [(origins[start], origins[end - 1] + 1) if end > start else (origins[start], origins[start]) for start, end in spans]


def _share(text: str, origins: list[int], gap: Span, unknown: int) -> list[Span]:
    """Divide a gap among the unknown pieces in it: if the counts match, each gets a stretch between spaces or a character;
    else each gets the whole gap."""
    start, end = gap
    spaced = [p for p in range(start + 1, end) if any(c.isspace() for c in text[origins[p - 1] + 1 : origins[p]])]
    single = [p for p in range(start + 1, end) if origins[p] != origins[p - 1]]
    for cuts in (spaced, single):
        if len(cuts) + 1 == unknown:
            return list(zip([start, *cuts], [*cuts, end], strict=True))
    return [gap] * unknown


def _find_letters(letters: str, position: int, piece: str, normalise: Normalise, *, anywhere: bool) -> Span | None:
    """The first reading of the piece (as it is, then without its marker) that lies at the position, or after it if `anywhere`."""
    for reading in _readings(piece):
        wanted = "".join(part for character in reading for part in normalise(character) if not part.isspace())
        start = letters.find(wanted, position) if anywhere else position if letters.startswith(wanted, position) else -1
        if start >= 0:
            return start, start + len(wanted)
    return None


def _readings(piece: str) -> list[str]:
    readings = [piece, piece.replace("▁", "")]
    readings += [piece.removeprefix("##"), piece.removesuffix("</w>"), piece.removesuffix("@@")]
    return list(dict.fromkeys(readings))


def spells_bytes(text: str, pieces: Sequence[str]) -> bool:
    """Whether each piece is one byte of the text, written as the character of that number (ByT5)."""
    return all(len(piece) == 1 and ord(piece) < 256 for piece in pieces) and "".join(pieces).encode("latin-1") == text.encode()
