"""JSON lines: a document a line, a string or an object with `text` (and `pair`), `tokens`, `words` or `messages`, or the chosen column."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eyeline.errors import TextError, nearest
from eyeline.messages import Message
from eyeline.text.conversation import Conversation
from eyeline.text.corpora.columns import ANY_COLUMN, TextColumns, as_item
from eyeline.text.corpora.corpus import Document, Item
from eyeline.text.corpora.files import SourceFile, numbered_lines


def read_json_lines(path: Path | SourceFile, columns: TextColumns = ANY_COLUMN) -> Iterator[Document]:
    """The documents of a file. A chosen column is a field of the objects."""
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise TextError(
                Message("refusal.not_json", file=str(path), line=str(number), why=str(error)), Message("refusal.json_lines")
            ) from error
        try:
            item = _chosen(data, columns) if columns.text else _item(data)
        except TextError as error:
            raise TextError(f"{path}, line {number}: {error}") from error
        if item is None:
            shown = line if len(line) < 80 else line[:80] + "…"
            needed = _needed(data, columns) if columns.text else "Give a string, or an object with text, tokens, words or messages."
            raise TextError(Message("refusal.no_text_in_line", file=str(path), line=str(number), text=shown), needed)
        if isinstance(item, Conversation) or (item if isinstance(item, str) else "".join(item)).strip():
            yield Document(item, number)


def _chosen(data: Any, columns: TextColumns) -> Item | None:
    if not isinstance(data, dict) or columns.text not in data or (columns.pair and columns.pair not in data):
        return None
    return as_item(data[columns.text], data[columns.pair] if columns.pair else None)


def _needed(data: Any, columns: TextColumns) -> str:
    """What a line without these columns needs, with the columns that it has."""
    missing = [name for name in columns.names if isinstance(data, dict) and name not in data]
    return f"Each line needs {columns}." + (f" {nearest(missing[0], map(str, data))}" if missing and data else "")


def _item(data: Any) -> Item | None:
    if isinstance(data, str):
        return data
    if not isinstance(data, dict):
        return None
    text, pair = data.get("text"), data.get("pair")
    if isinstance(text, str):
        return (text, pair) if isinstance(pair, str) else text
    if "messages" in data:
        return Conversation.of(data["messages"], data.get("tools"))
    words = data.get("tokens", data.get("words"))
    return words if isinstance(words, list) and words and all(isinstance(word, str) for word in words) else None
