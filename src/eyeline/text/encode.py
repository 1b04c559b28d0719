"""A text, a pair or a list of words → TokenizedText, with any Hugging Face tokeniser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eyeline.errors import Advice, TextError
from eyeline.text.checks import check_choice, check_text, check_words
from eyeline.text.given import assign, join
from eyeline.text.pieces import Pieces, read
from eyeline.text.segment import segment
from eyeline.text.tokenized import Span, TokenizedText
from eyeline.text.words import TokenWords, group, group_by_marks

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


LONGEST_UNKNOWN = 1000


@dataclass(frozen=True)
class _Side:
    """One text of the input; the rest only where it came as a list of words."""

    text: str
    given: tuple[str, ...] | None = None
    segments: tuple[Span, ...] = ()
    pieces: Pieces | None = None


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

    Words of a plain text: see segment.py and words.py. Fast tokenisers give offsets; the pieces of slow ones are aligned to the text, and
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
                f"{span[1] - span[0]:,} characters without a space became one unknown token ({tokenizer.unk_token}).",
                f"This tokeniser gives up on words of more than about {LONGEST_UNKNOWN} characters. Put spaces between them.",
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
            f"{length:,} tokens, but the model takes {max_length:,}.",
            f"tokens: {' + '.join(f'{n:,}' for n in lengths)} of the text{'s' if texts > 1 else ''}, {added} special",
            Advice(
                f"Shorten the text, or pass truncate=True to keep the first {max_length:,} tokens.",
                f"Shorten the text, or add --truncate to keep the first {max_length:,} tokens.",
                "Shorten the text.",
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
