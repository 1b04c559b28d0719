"""Tokens as other libraries give them: strings, of which some were added by a tokeniser."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eyeline.errors import TraceError
from eyeline.text.tokenized import TokenizedText

#: Tokens that tokenisers add, as they are spelled: a list of strings does not say which they are.
SPECIAL = re.compile(r"\[(CLS|SEP|PAD|MASK|UNK|BOS|EOS)\]|</?(s|pad|mask|unk|bos|eos|cls|sep)>|<\|[^|]*\|>")


def looks_special(token: str) -> bool:
    """Whether a tokeniser spells the tokens that it adds in this way.

    >>> looks_special("[SEP]"), looks_special("<|endoftext|>"), looks_special("cat")
    (True, True, False)
    """
    return SPECIAL.fullmatch(token) is not None


def text_from(tokens: Sequence[str] | None, name: str, second_from: int | None = None) -> TokenizedText:
    """A text of these tokens; special ones are known by their spelling. `name` is the argument, for the error where it is missing."""
    if tokens is None:
        raise TraceError(f"No {name}.", f"Give them: {name}=tokenizer.convert_ids_to_tokens(input_ids[0])")
    text = TokenizedText.from_tokens(tokens)  # refuses what is not a list of strings
    return TokenizedText.from_tokens(text.tokens, special=[looks_special(token) for token in text.tokens], second_from=second_from)
