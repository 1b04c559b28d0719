"""What a word is: plain text → words, before any tokeniser, and every token of a text in exactly one of them.

Spaces and punctuation divide words where a script uses them, a model where it does not.

One definition of a word for every tokeniser, so that word-level maps of two models can be laid side by side. Tokenisers' own
word ids differ between models (`don ' t`, `don 't`), are one single word for tokenisers without a pre-tokeniser, and take a
whole Japanese sentence as one word in byte-level ones; the figures are in docs/words.md (word F1 on the UD test sets):

                          English   Korean   Japanese
    this module            0.979     0.996     0.888
    BERT's word ids        0.906     0.986     0.326
    byte-level word ids    0.920     0.940     0.209
    UAX #29                0.946     0.982     0.479

- Japanese (a text with kana): TinySegmenter (T. Kudo), the most accurate of the small pure-Python ones.
- Chinese (Han without kana or Hangul), Thai, Lao, Khmer, Burmese: single characters, which `group` then merges wherever one token
  spans several. A word is never finer than what the model sees, and nothing is guessed.
- Everything else, Korean (with its Hanja) too: runs of letters and digits, with inner apostrophes and full stops
  (don't, U.S., 3.14, 10:30); URLs and mail addresses whole; runs of one punctuation mark (..., !!) whole; an emoji sequence whole.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

import regex

from eyeline.errors import TextError
from eyeline.text.pieces import Pieces, read, show_ids
from eyeline.text.tokenized import Span, TokenizedText, mark_spaces

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

KANA = r"\p{Hiragana}\p{Katakana}ーｰﾞﾟ"

JAPANESE = rf"\p{{Han}}{KANA}〆ヶ"

CLUSTERED = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"

LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}\p{{Cf}}_]--[{JAPANESE}{CLUSTERED}]]"

# Bounded repeats in the mail address: an unbounded one takes quadratic time on a-a-a-a-…
_WORD = regex.compile(
    rf"""
    (?P<han_or_kana>[{JAPANESE}][{JAPANESE}\p{{M}}\p{{Cf}}]*)
    | [A-Za-z0-9._%+-]{{1,64}}+@[A-Za-z0-9-]{{1,63}}(?:\.[A-Za-z0-9-]{{1,63}})+
    | (?:https?://|www\.)[[\x21-\x7e]--[<>"]]+(?<![.,;:!?')\]])
    | {LETTER}+(?:(?<!\p{{Hangul}})['’.](?!\p{{Hangul}}){LETTER}+|[,:]\p{{N}}{LETTER}*)*
    | (?P<mark>\p{{P}})(?P=mark)*
    | \X
    """,
    regex.V1 | regex.VERBOSE,
)

#: The same for text of ASCII alone, where the standard library's engine does it ten times faster. White space stands between words.
_ASCII_WORD = re.compile(
    r"""
    [A-Za-z0-9._%+-]{1,64}+@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+
    | (?:https?://|www\.)[!\x23-;=\x3f-\x7e]+(?<![.,;:!?')\]])
    | [A-Za-z0-9_]+(?:['.][A-Za-z0-9_]+|[,:][0-9][A-Za-z0-9_]*)*
    | ([!"\#%&'()*,\-./:;?@\[\\\]{}])\1*
    | [^ \t\n\r\f\v]
    """,
    re.VERBOSE,
)

_CHUNK = regex.compile(r"\S+")

_KANA = regex.compile(f"[{KANA}]")

_CHARACTER = regex.compile(r"\X")

_UNSPACED = regex.compile(
    rf"[{JAPANESE}{CLUSTERED}\p{{Block=CJK_Symbols_And_Punctuation}}[\p{{Block=Halfwidth_And_Fullwidth_Forms}}--\p{{Hangul}}]]", regex.V1
)

_HANGUL = regex.compile(r"\p{Hangul}")


class _Segmenter(Protocol):
    def tokenize(self, text: str) -> list[str]: ...


@cache
def _segmenter() -> _Segmenter:
    from tinysegmenter import TinySegmenter  # type: ignore[import-untyped]

    segmenter: _Segmenter = TinySegmenter()
    return segmenter


def segment(text: str) -> list[Span]:
    """The words of a text as [start, end) spans: in order, without overlap, covering every character that is not white space.

    >>> [text[a:b] for text in ["Don't panic, 3.14!", "猫が好き", "고양이가 좋다."] for a, b in segment(text)]
    ["Don't", 'panic', ',', '3.14', '!', '猫', 'が', '好き', '고양이가', '좋다', '.']
    """
    if text.isascii():
        return [match.span() for match in _ASCII_WORD.finditer(text)]
    language = "japanese" if _KANA.search(text) else "korean" if _HANGUL.search(text) else "chinese"
    return [span for chunk in _CHUNK.finditer(text) for span in _chunk_words(chunk[0], chunk.start(), language)]


def _chunk_words(chunk: str, offset: int, language: str) -> Iterator[Span]:
    """Words of a stretch without white space. The Japanese model sees the whole stretch: its context is worth a point of word F1."""
    if chunk.isascii():
        for match in _ASCII_WORD.finditer(chunk):
            yield offset + match.start(), offset + match.end()
        return
    ends: list[int] | None = None
    for match in _WORD.finditer(chunk):
        start, end = match.span()
        if match["han_or_kana"] is None or language == "korean":
            cuts = [end]
        elif language == "japanese":
            ends = _japanese_ends(chunk) if ends is None else ends
            cuts = [cut for cut in ends if start < cut < end and not _extends(chunk[cut])] + [end]
        else:
            cuts = [start + character.end() for character in _CHARACTER.finditer(match[0])]
        for cut in cuts:
            yield offset + start, offset + cut
            start = cut


def _japanese_ends(chunk: str) -> list[int]:
    """Where the words of the segmenter end."""
    ends, position = [], 0
    for word in _segmenter().tokenize(chunk):
        position += len(word)
        ends.append(position)
    return ends


def _extends(character: str) -> bool:
    """A combining or format character: it stays with what it follows."""
    return regex.match(r"[\p{M}\p{Cf}]", character) is not None


def written_together(left: str, right: str) -> bool:
    """Whether two words are written without a space between them: either touches the border with a script that uses none.

    >>> written_together("猫", "が"), written_together("50", "周年"), written_together("the", "cat"), written_together("漢字", "를")
    (True, True, False, False)
    """
    before, after = left[-1], right[0]
    if _HANGUL.match(before) or _HANGUL.match(after):
        return False
    return _UNSPACED.match(before) is not None or _UNSPACED.match(after) is not None


# ---- Tokens → words: every token of a text in exactly one word
#
# `group` starts from the words of `segment` and merges those that one token spans; `group_given` keeps to a given list and reports tokens
# that cross words; `group_by_marks` is for tokenisers that give no offsets and whose pieces do not spell the text.


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
    return mark_spaces(text[start:end] or text[max(0, start - 1) : start])


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


# ---- Lists of words (treebanks, coreference corpora) as a text that any tokeniser reads, with word borders kept
#
# `is_split_into_words` is not used: byte-level tokenisers refuse it, and those without a pre-tokeniser give wrong word ids. The
# words are joined into a text and its tokens assigned by their characters:
#
# - between two words stands a space, except where the script uses none (猫|が, 50|周年), or just where the caller says that the text has
#   one (a treebank's SpaceAfter=No): the model sees text as it is written;
# - where a token would then cross a border between two words, a space is put at that border, and the text tokenised again;
# - if a token crosses even a space, the list is refused: no map at word level would be right.


#: How often spaces are added before every border has one.
JOIN_ROUNDS = 3


@dataclass(frozen=True)
class Joined:
    """The text that a list of words makes.

    segments   where each word lies in it
    pieces     its tokens, where they were made on the way
    """

    text: str
    segments: tuple[Span, ...]
    pieces: Pieces | None = None


def join(tokenizer: PreTrainedTokenizerBase, words: Sequence[str], spaces: Sequence[bool] | None = None) -> Joined:
    """Words as a text. spaces: whether one follows each word (of the last it does not matter); None: see above."""
    every, spaced = set(range(len(words) - 1)), first_spaces(words, spaces)
    for _ in range(JOIN_ROUNDS):
        text, segments = put_together(words, spaced)
        if spaced == every:
            break
        pieces = read(tokenizer, text)
        crossed = set(group_given(text, segments, _spans(pieces, 0))[1]) - spaced
        if not crossed:
            return Joined(text, tuple(segments), pieces)
        spaced |= crossed
    text, segments = put_together(words, every)
    return Joined(text, tuple(segments))


def first_spaces(words: Sequence[str], spaces: Sequence[bool] | None) -> set[int]:
    """The borders (index of the word before) at which a space stands before any token is known to cross one."""
    borders = range(len(words) - 1)
    if spaces is None:
        return {border for border in borders if not written_together(words[border], words[border + 1])}
    if len(spaces) != len(words):
        raise TextError(f"{len(words)} words, but {len(spaces)} marks of whether a space follows.", "Give one for each word, or None.")
    return {border for border in borders if spaces[border]}


def assign(text: str, segments: Sequence[Span], words: Sequence[str], pieces: Pieces, number: int, *, cut: bool) -> TokenWords:
    """Each token's word; every word has a token, except those after the point where the text was cut."""
    of, crossed = group_given(text, segments, _spans(pieces, number))
    if crossed:
        left = crossed[0]
        raise TextError(
            f"One token covers words {left} and {left + 1}: {words[left]!r}, {words[left + 1]!r}.",
            "This tokeniser makes tokens across spaces, so word lists cannot be kept apart. Pass the text itself instead.",
        )
    reached = max(of) + 1 if cut else len(words)
    for index in sorted(set(range(reached)) - set(of)):
        raise TextError(
            f"Word {index} of {len(words)} has no token: the tokeniser drops {words[index]!r} entirely.",
            f"characters: {' '.join(f'U+{ord(c):04X}' for c in words[index][:8])}",
            "Leave the word out, or write it with characters that the model knows.",
        )
    return TokenWords(tuple(of), tuple(words[:reached]))


def put_together(words: Sequence[str], spaced: Collection[int]) -> tuple[str, list[Span]]:
    """The text of these words, with a space at these borders; and where each word lies in it."""
    parts: list[str] = []
    segments: list[Span] = []
    position = 0
    for index, word in enumerate(words):
        end = position + len(word)
        segments.append((position, end))
        parts.append(word)
        if index in spaced:
            parts.append(" ")
            end += 1
        position = end
    return "".join(parts), segments


def _spans(pieces: Pieces, number: int) -> list[Span]:
    positions = pieces.positions(number)
    spans = [span for position in positions if (span := pieces.spans[position]) is not None]
    if len(spans) < len(positions):
        raise TextError(
            "The pieces of this tokeniser do not spell the text, so the given words cannot be found in them.",
            f"tokens: {' '.join(pieces.shown[position] for position in positions[:8])} …",
            "Use the fast version of this tokeniser, or pass the text itself instead of a word list.",
        )
    return spans


# ---- Token ids that did not come from a text (what a model wrote, ids given as tensors) → TokenizedText, with words as in any other text


def describe(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> TokenizedText:
    """The tokens of these ids. Their words are those of the text that they decode to; where they do not spell it, the pieces' marks."""
    shown = tuple(show_ids(tokenizer, ids))
    added = {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id}
    special_ids = set(tokenizer.all_special_ids) - ({tokenizer.unk_token_id} - added)  # an unknown word is a word
    special = tuple(number in special_ids for number in ids)
    plain = [number for number, is_special in zip(ids, special, strict=True) if not is_special]
    plain_shown = [piece for piece, is_special in zip(shown, special, strict=True) if not is_special]
    text, spans = spans_of_ids(tokenizer, plain)
    words: TokenWords = group_by_marks(plain_shown) if spans is None else group(text, segment(text), spans, plain_shown)
    word_of, span_of = iter(words.of), iter(spans or ())
    return TokenizedText(
        tokens=shown,
        words=tuple(None if is_special else next(word_of) for is_special in special),
        word_texts=words.texts,
        segments=(0,) * len(shown),
        special=special,
        ids=tuple(ids),
        spans=() if spans is None else tuple((0, 0) if is_special else next(span_of) for is_special in special),
        sources=() if spans is None or not text.strip() else (text,),
    )


def spans_of_ids(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> tuple[str, list[Span] | None]:
    """The text that ids decode to, and [start, end) of each in it; None where the beginnings of the ids do not decode to its beginnings.

    A token that ends within a character (bytes) lies where that character does.
    """
    text = _decode(tokenizer, ids)
    spans: list[Span] = []
    waiting, end = 0, 0  # tokens whose character is not complete yet
    for n in range(1, len(ids) + 1):
        beginning = _decode(tokenizer, ids[:n]).rstrip("\ufffd")
        if not text.startswith(beginning):
            return text, None
        waiting += 1
        if len(beginning) > end or n == len(ids):
            spans += [(end, max(end, len(beginning)))] * waiting
            waiting, end = 0, max(end, len(beginning))
    return text, spans if end == len(text) else None


def written_token(tokenizer: PreTrainedTokenizerBase, number: int) -> str:
    """One token as it would be written, with its leading space; a part of a character as its bytes, `<0xE7 0x8C>`."""
    decoded = str(tokenizer.decode([number]))
    return show_ids(tokenizer, [number])[0] if "\ufffd" in decoded else decoded


def _decode(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> str:
    return str(tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))
