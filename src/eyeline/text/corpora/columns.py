"""Which columns of a table hold the text, and how a row becomes a document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from eyeline.errors import Advice, TextError, nearest
from eyeline.messages import Message
from eyeline.text.corpora.corpus import Item

#: The columns that hold a text (or its words) in most files, best first; and the second text of a pair.
USUAL = ("text", "sentence", "content", "document", "tokens", "words")
USUAL_PAIR = "pair"


@dataclass(frozen=True)
class TextColumns:
    """The column of the text and, of pairs, that of the second text; empty: not chosen."""

    text: str = ""
    pair: str = ""

    def __str__(self) -> str:
        return f"the columns {self.text!r} and {self.pair!r}" if self.pair else f"the column {self.text!r}"

    @property
    def names(self) -> list[str]:
        """The names of the columns that are read."""
        return [name for name in (self.text, self.pair) if name]


ANY_COLUMN = TextColumns()


def as_item(text: Any, pair: Any = None) -> Item | None:
    """A document from the values of a row; an empty one where there is nothing; None: values of another type.

    >>> as_item("It rained."), as_item(["It", "rained"]), as_item("Did it?", "It did."), as_item(None), as_item(5)
    ('It rained.', ['It', 'rained'], ('Did it?', 'It did.'), '', None)
    """
    if text is None:
        return ""
    if isinstance(text, str):
        return (text, pair) if isinstance(pair, str) and pair.strip() else text if pair is None or isinstance(pair, str) else None
    words = list(text) if isinstance(text, Sequence) else None
    return words if words is not None and all(isinstance(word, str) for word in words) else None


def choose(file: object, present: Iterable[str], texts: Iterable[str], chosen: TextColumns) -> TextColumns:
    """The columns to read: those that were chosen, else the usual ones, else the only column of text.

    present, texts    all columns of the file, and those that hold text or words
    """
    columns, readable = list(present), list(texts)
    for name in chosen.names:
        if name not in columns:
            raise TextError(f"{file}: no column {name!r}.", nearest(name, columns))
        if name not in readable:
            raise TextError(f"{file}: the column {name!r} holds no text.", f"Columns of text: {', '.join(readable) or 'none'}.")
    if chosen.text:
        return chosen
    usual = [name for name in USUAL if name in readable]
    if not usual and len(readable) != 1:
        if not readable:
            raise TextError(
                Message("refusal.no_text_column", file=str(file)), Message("refusal.its_columns", columns=", ".join(columns) or "–")
            )
        choices = ", ".join(readable)
        which = Advice(
            f"Choose one with column=…: {choices}.",
            f"Choose one with --column: {choices}.",
            Message("refusal.advice.column", choices=choices),
        )
        raise TextError(Message("refusal.column", file=str(file)), which)
    text = usual[0] if usual else readable[0]
    pair = chosen.pair or (USUAL_PAIR if text == "text" and USUAL_PAIR in readable else "")
    return TextColumns(text, pair)
