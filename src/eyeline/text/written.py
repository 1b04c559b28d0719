"""Token ids that did not come from a text (what a model wrote, ids given as tensors) → TokenizedText, with words as in any other text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from eyeline.text.pieces import show_ids
from eyeline.text.segment import segment
from eyeline.text.tokenized import Span, TokenizedText
from eyeline.text.words import TokenWords, group, group_by_marks

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def describe(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> TokenizedText:
    """The tokens of these ids. Their words are those of the text that they decode to; where they do not spell it, the pieces' marks."""
    shown = tuple(show_ids(tokenizer, ids))
    added = {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id}
    special_ids = set(tokenizer.all_special_ids) - ({tokenizer.unk_token_id} - added)  # an unknown word is a word
    special = tuple(number in special_ids for number in ids)
    plain = [number for number, is_special in zip(ids, special, strict=True) if not is_special]
    plain_shown = [piece for piece, is_special in zip(shown, special, strict=True) if not is_special]
    text, spans = spans_of_ids(tokenizer, plain)
    words: TokenWords = group_by_marks(plain_shown) if spans is None else group(text, segment(text), spans, plain_shown)
    word_of, span_of = iter(words.of), iter(spans or ())
    return TokenizedText(
        tokens=shown,
        words=tuple(None if is_special else next(word_of) for is_special in special),
        word_texts=words.texts,
        segments=(0,) * len(shown),
        special=special,
        ids=tuple(ids),
        spans=() if spans is None else tuple((0, 0) if is_special else next(span_of) for is_special in special),
        sources=() if spans is None or not text.strip() else (text,),
    )


def spans_of_ids(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> tuple[str, list[Span] | None]:
    """The text that ids decode to, and [start, end) of each in it; None where the beginnings of the ids do not decode to its beginnings.

    A token that ends within a character (bytes) lies where that character does.
    """
    text = _decode(tokenizer, ids)
    spans: list[Span] = []
    waiting, end = 0, 0  # tokens whose character is not complete yet
    for n in range(1, len(ids) + 1):
        beginning = _decode(tokenizer, ids[:n]).rstrip("\ufffd")
        if not text.startswith(beginning):
            return text, None
        waiting += 1
        if len(beginning) > end or n == len(ids):
            spans += [(end, max(end, len(beginning)))] * waiting
            waiting, end = 0, max(end, len(beginning))
    return text, spans if end == len(text) else None


def written_token(tokenizer: PreTrainedTokenizerBase, number: int) -> str:
    """One token as it would be written, with its leading space; a part of a character as its bytes, `<0xE7 0x8C>`."""
    decoded = str(tokenizer.decode([number]))
    return show_ids(tokenizer, [number])[0] if "\ufffd" in decoded else decoded


def _decode(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> str:
    return str(tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))
