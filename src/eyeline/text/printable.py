"""Tokens as they can be drawn: one line, and nothing that XML cannot hold."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    """The text without what XML cannot hold or a line cannot show: control characters and halves of surrogate pairs.

    >>> printable("a\\x00b\\nc")
    'a�b�c'
    """
    return "".join("\ufffd" if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or char in "\ufffe\uffff" else char for char in text)
