"""Tokens → words: every token of a text in exactly one word.

`group` starts from the words of the plain text (segment.py) and merges those that one token spans; `group_given` keeps to a given
list and reports tokens that cross words; `group_by_marks` is for tokenisers that give no offsets and whose pieces do not spell the text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from eyeline.text.display import visible
from eyeline.text.tokenized import Span


@dataclass(frozen=True)
class TokenWords:
    """of     the word of each token, as an index into texts
    texts  the words, in order
    """

    of: tuple[int, ...]
    texts: tuple[str, ...]


def covered(text: str, segments: Sequence[Span], spans: Sequence[Span]) -> list[tuple[int, int] | None]:
    """First and last segment that each token's characters lie in; None for tokens of white space alone."""
    starts = [start for start, _ in segments]
    result: list[tuple[int, int] | None] = []
    for start, end in spans:
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
        if first >= 0 and start >= segments[first][1]:
            first += 1  # between two segments: characters that belong to none
        result.append((max(first, 0), last) if start < end and max(first, 0) <= last else None)
    return result


def group(text: str, segments: Sequence[Span], spans: Sequence[Span], shown: Sequence[str], *, cut: bool = False) -> TokenWords:
    """Words of an ordinary text. Segments that one token spans become one word; segments without tokens are left out.

    A single space as a token of its own (SentencePiece's ▁) belongs to the word that follows; other white space that has tokens (line
    breaks, indentation) is a word of its own, because models use it as one. `cut`: the tokens were truncated, and so is the last word.
    """
    ranges = covered(text, segments, spans)
    leader = list(range(len(segments)))  # the first segment of each merged run
    for reach in ranges:
        if reach is not None:
            leader[reach[0] + 1 : reach[1] + 1] = [-1] * (reach[1] - reach[0])
    for index in range(1, len(leader)):
        leader[index] = leader[index - 1] if leader[index] < 0 else index
    ends = {lead: segments[index][1] for index, lead in enumerate(leader)}
    if cut and (reached := [end for reach, (_, end) in zip(ranges, spans, strict=True) if reach is not None]):
        ends = {lead: min(end, max(reached)) for lead, end in ends.items()}

    leads = [None if reach is None else leader[reach[0]] for reach in ranges]
    of: list[int] = []
    texts: list[str] = []
    word_of: dict[int, int] = {}  # the word that each leader became
    for position, lead in enumerate(leads):
        following = leads[position + 1] if position + 1 < len(leads) else None
        if lead is None and (shown[position] == "▁" or (position > 0 and leads[position - 1] == following)):
            lead = following
        if lead is None:
            if not (position > 0 and leads[position - 1] is None and _overlap(spans[position - 1], spans[position])):
                texts.append(_white(text, spans[position], shown[position]))
            of.append(len(texts) - 1)
            continue
        if lead not in word_of:
            word_of[lead] = len(texts)
            texts.append(text[segments[lead][0] : ends[lead]])
        of.append(word_of[lead])
    return TokenWords(tuple(of), tuple(texts))


def _overlap(left: Span, right: Span) -> bool:
    """Bytes of one character: they have the same position."""
    return left == right or left[1] > right[0]


def _white(text: str, span: Span, shown: str) -> str:
    """White space as a word. Bytes become their character: the one before the span where offsets are trimmed (RoBERTa)."""
    start, end = span
    if "<0x" not in shown:
        return shown
    return visible(text[start:end] or text[max(0, start - 1) : start])


def group_given(text: str, segments: Sequence[Span], spans: Sequence[Span]) -> tuple[list[int], list[int]]:
    """For a list of words: the word of each token, and the borders (index of the word before) that some token crosses.

    A token of white space alone belongs to the word that follows, or to the last one.
    """
    simple = _each_within_a_word(text, segments, spans)
    if simple is not None:
        return simple, []
    ranges = covered(text, segments, spans)
    crossed = sorted({border for reach in ranges if reach is not None for border in range(*reach)})
    of: list[int] = []
    following = len(segments) - 1
    for reach in reversed(ranges):
        following = following if reach is None else reach[0]
        of.append(following)
    return of[::-1], crossed


def _each_within_a_word(text: str, segments: Sequence[Span], spans: Sequence[Span]) -> list[int] | None:
    """The word of each token where every token lies in one word, perhaps with the space before it; None: `covered` has to tell."""
    of: list[int] = []
    index = -1
    first = last = 0  # of the word at this index
    for start, end in spans:
        while start >= last:
            index += 1
            if index == len(segments):
                return None
            first, last = segments[index]
        if start == first - 1:
            start = first
        if not first <= start < end <= last or text[start].isspace():
            return None
        of.append(index)
    return of


def group_by_marks(shown: Sequence[str]) -> TokenWords:
    """Words from the tokeniser's marks alone: `##` and `@@` continue a word, `▁` begins one, `</w>` ends one; else a piece is a word."""
    hashes, spaces = any(p.startswith("##") for p in shown), any(p.startswith("▁") for p in shown)
    ends, continued = any(p.endswith("</w>") for p in shown), any(p.endswith("@@") for p in shown)
    of: list[int] = []
    texts: list[str] = []
    for position, piece in enumerate(shown):
        previous = shown[position - 1] if position else None
        joins = previous is not None and (
            (hashes and piece.startswith("##"))
            or (spaces and not piece.startswith("▁"))
            or (ends and not previous.endswith("</w>"))
            or (continued and previous.endswith("@@"))
        )
        bare = piece.removeprefix("##").removeprefix("▁").removesuffix("</w>").removesuffix("@@") or piece
        if joins:
            texts[-1] += bare
        else:
            texts.append(bare)
        of.append(len(texts) - 1)
    return TokenWords(tuple(of), tuple(texts))
