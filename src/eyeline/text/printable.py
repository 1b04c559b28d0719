"""Tokens as they can be drawn: one line, and nothing that XML cannot hold."""

from __future__ import annotations

import unicodedata

#: Categories of Unicode: control characters, halves of surrogate pairs, ends of lines and paragraphs.
UNPRINTABLE = ("Cc", "Cs", "Zl", "Zp")


def printable(text: str) -> str:
    """The text without what XML cannot hold, a line cannot show or a PDF cannot draw: control characters, halves of surrogate pairs, byte
    order marks. A text of nothing but zero-width characters is made visible.

    >>> printable("a\\x00b\\nc"), printable("\\u200b"), printable("a\\u200db") == "a\\u200db"
    ('a�b�c', '�', True)
    """
    unseen = UNPRINTABLE if any(unicodedata.category(char) != "Cf" for char in text) else (*UNPRINTABLE, "Cf")
    return "".join("\ufffd" if unicodedata.category(char) in unseen or char in "\ufeff\ufffe\uffff" else char for char in text)


def columns(text: str) -> int:
    """The columns that a text takes in a font of fixed width: East Asian characters and emoji take two.

    >>> columns("cat"), columns("猫")
    (3, 2)
    """
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
