"""Where the pieces of a tokeniser without offsets lie in the text.

Greedy and left to right over the characters that are not white space. Pieces are compared as they are, then folded (width and case:
NFKC, casefold), then bare (accents and format characters off), because tokenisers normalise in these ways without saying so.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

from eyeline.text.tokenized import Span

Fold = Callable[[str], str]


def _same(character: str) -> str:
    return character


def _folded(character: str) -> str:
    return unicodedata.normalize("NFKC", character).casefold()


def _bare(character: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", _folded(character)) if unicodedata.category(c) not in ("Mn", "Cc", "Cf"))


def spells_bytes(text: str, pieces: Sequence[str]) -> bool:
    """Whether each piece is one byte of the text, written as the character of that number (ByT5)."""
    return all(len(piece) == 1 and ord(piece) < 256 for piece in pieces) and "".join(pieces).encode("latin-1") == text.encode()


def align(text: str, pieces: Sequence[str], unknown: str | None = None) -> list[Span] | None:
    """[start, end) of each piece in the text; None where the pieces do not spell the text.

    A piece that is `unknown` gets the characters before the next piece that matches; a piece of white space alone gets none.

    >>> align("Déjà vu!", ["de", "##ja", "vu", "!"]), align("a 猫 b", ["▁a", "<unk>", "▁b"], "<unk>"), align("cat", ["dog"])
    ([(0, 2), (2, 4), (5, 7), (7, 8)], [(0, 1), (2, 3), (4, 5)], None)
    """
    if spells_bytes(text, pieces):
        return [(index, index + 1) for index, character in enumerate(text) for _ in character.encode()]
    for fold in (_same, _folded, _bare):
        spans = _align(text, pieces, unknown, fold)
        if spans is not None:
            return spans
    return None


def _align(text: str, pieces: Sequence[str], unknown: str | None, fold: Fold) -> list[Span] | None:
    stream, origins = [], []  # the folded characters, and where each comes from
    for index, character in enumerate(text):
        if not character.isspace():
            for part in fold(character):
                if not part.isspace():
                    stream.append(part)
                    origins.append(index)
    letters = "".join(stream)
    origins.append(len(text))

    spans: list[Span] = []  # in folded characters
    position, waiting = 0, 0  # unknown pieces that wait for the next match
    for piece in pieces:
        if piece == unknown and not letters.startswith(piece, position):
            waiting += 1
            spans.append((position, position))
            continue
        match = _find(letters, position, piece, fold, anywhere=waiting > 0)
        if match is None:
            return None
        if waiting:
            spans[len(spans) - waiting :] = _share(text, origins, (position, match[0]), waiting)
            waiting = 0
        spans.append(match)
        position = match[1]
    if waiting:
        spans[len(spans) - waiting :] = _share(text, origins, (position, len(letters)), waiting)
    elif position < len(letters):
        return None
    return [(origins[start], origins[end - 1] + 1) if end > start else (origins[start], origins[start]) for start, end in spans]


def _share(text: str, origins: list[int], gap: Span, unknown: int) -> list[Span]:
    """Divide a gap among the unknown pieces in it: if the counts match, each gets a stretch between spaces or a character;
    else each gets the whole gap."""
    start, end = gap
    spaced = [p for p in range(start + 1, end) if any(c.isspace() for c in text[origins[p - 1] + 1 : origins[p]])]
    single = [p for p in range(start + 1, end) if origins[p] != origins[p - 1]]
    for cuts in (spaced, single):
        if len(cuts) + 1 == unknown:
            return list(zip([start, *cuts], [*cuts, end], strict=True))
    return [gap] * unknown


def _find(letters: str, position: int, piece: str, fold: Fold, *, anywhere: bool) -> Span | None:
    """The first reading of the piece (as it is, then without its marker) that lies at the position, or after it if `anywhere`."""
    for reading in _readings(piece):
        wanted = "".join(part for character in reading for part in fold(character) if not part.isspace())
        start = letters.find(wanted, position) if anywhere else position if letters.startswith(wanted, position) else -1
        if start >= 0:
            return start, start + len(wanted)
    return None


def _readings(piece: str) -> list[str]:
    readings = [piece, piece.replace("▁", "")]
    readings += [piece.removeprefix("##"), piece.removesuffix("</w>"), piece.removesuffix("@@")]
    return list(dict.fromkeys(readings))
