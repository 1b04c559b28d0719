"""Plain text → words, before any tokeniser: spaces and punctuation where a script uses them, a model where it does not.

One definition of a word for every tokeniser, so that word-level maps of two models can be laid side by side. Tokenisers' own
word ids differ between models (`don ' t`, `don 't`), are one single word for tokenisers without a pre-tokeniser, and take a
whole Japanese sentence as one word in byte-level ones; the figures are in docs/words.md (word F1 on the UD test sets):

                          English   Korean   Japanese
    this module            0.979     0.996     0.888
    BERT's word ids        0.906     0.986     0.326
    byte-level word ids    0.920     0.940     0.209
    UAX #29                0.946     0.982     0.479

- Japanese (a text with kana): TinySegmenter (T. Kudo), the most accurate of the small pure-Python ones.
- Chinese (Han without kana or Hangul), Thai, Lao, Khmer, Burmese: single characters, which `words.group` then merges wherever one token
  spans several. A word is never finer than what the model sees, and nothing is guessed.
- Everything else, Korean (with its Hanja) too: runs of letters and digits, with inner apostrophes and full stops
  (don't, U.S., 3.14, 10:30); URLs and mail addresses whole; runs of one punctuation mark (..., !!) whole; an emoji sequence whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Protocol

import regex

from eyeline.text.tokenized import Span

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
