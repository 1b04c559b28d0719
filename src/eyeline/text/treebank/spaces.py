"""Where a treebank's sentence has spaces between its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def spaces_of(forms: Sequence[str], parsed: Any) -> tuple[bool, ...] | None:
    """From the sentence's text where its words lie in it, else from SpaceAfter=No; None where the file says neither."""
    text = parsed.metadata.get("text") or ""
    position = 0
    spaces: list[bool] = []
    for form in forms:
        start = text.find(form, position)
        if start < 0 or text[position:start].strip():
            break
        if spaces:
            spaces[-1] = start > position
        spaces.append(True)
        position = start + len(form)
    else:
        return tuple(spaces)
    together = {token["id"] for token in parsed if (token["misc"] or {}).get("SpaceAfter") == "No"}
    marks = [number not in together for number in range(1, len(forms) + 1)]
    for token in parsed:  # the parts of don't are written together, those of im (in dem) are not; its own mark is that of its last part
        if isinstance(token["id"], tuple) and token["id"][1] == "-":
            first, _, last = token["id"]
            if not 1 <= first <= last <= len(forms):  # a range of words that are not there
                continue
            joined = "".join(forms[first - 1 : last]) == token["form"]
            marks[first - 1 : last - 1] = [not joined] * (last - first)
            marks[last - 1] = token["id"] not in together
    return tuple(marks) if not all(marks) else None
