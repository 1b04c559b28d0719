"""A notice for texts that a tokeniser does not know: another alphabet, or capital letters in a model of small ones."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from eyeline.text.tokenized import TokenizedText
from eyeline.words import Words

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

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


def unknown_notices(texts: Iterable[TokenizedText], tokenizer: PreTrainedTokenizerBase | None) -> tuple[str, ...]:
    """The notice for these texts together: one sentence, or none."""
    notice = unknown_notice(*count_unknown(texts, tokenizer), tokenizer)
    return () if notice is None else (notice,)


def unknown_notice(unknown: int, tokens: int, tokenizer: PreTrainedTokenizerBase | None) -> str | None:
    """A sentence where most tokens are unknown, else None."""
    if not tokens or unknown / tokens < NOTICE_FROM_SHARE:
        return None
    token = getattr(tokenizer, "unk_token", None)
    return Words()("notice.unknown_alphabet", unknown=f"{unknown:,}", tokens=f"{tokens:,}", token=token)
