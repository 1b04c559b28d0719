"""JSON lines: a document for each line, a string or an object with `text` (and `pair`), `tokens` or `words`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eyeline.errors import TextError
from eyeline.text.corpora.corpus import Document, Item
from eyeline.text.corpora.lines import numbered_lines


def read_json_lines(path: Path) -> Iterator[Document]:
    """The documents of a file with one JSON object a line."""
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise TextError(f"{path}, line {number}: not JSON ({error}).", "Each line is a JSON string or object.") from error
        item = _item(data)
        if item is None:
            shown = line if len(line) < 80 else line[:80] + "…"
            raise TextError(f"{path}, line {number}: no text in {shown}", "Give a string, or an object with text, tokens or words.")
        if (item if isinstance(item, str) else "".join(item)).strip():
            yield Document(item, number)


def _item(data: Any) -> Item | None:
    if isinstance(data, str):
        return data
    if not isinstance(data, dict):
        return None
    text, pair = data.get("text"), data.get("pair")
    if isinstance(text, str):
        return (text, pair) if isinstance(pair, str) else text
    words = data.get("tokens", data.get("words"))
    return words if isinstance(words, list) and words and all(isinstance(word, str) for word in words) else None
