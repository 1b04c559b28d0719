"""A text as one side of an attention map sees it: tokens as they are shown, and the words and segments they belong to."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from eyeline.errors import TextError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Span = tuple[int, int]

#: From a text without words, the word of each token, and the words.
GroupWords = Callable[["TokenizedText"], tuple[tuple[int | None, ...], tuple[str, ...]]]


@dataclass(frozen=True)
class TokenizedText:
    """Tokens in order, and what each one is.

    tokens     what to show for each token: never half a character, never empty
    words      the index into `word_texts` that each token belongs to; None for special tokens
    word_texts the words themselves, in order
    segments   0 or 1: first or second text of a pair (special tokens belong to the text they close)
    special    whether the tokeniser added the token ([CLS], </s>, …)
    ids        the model's token ids; empty when there are none (arrays without a model, image patches)
    spans      [start, end) of each token in the characters of its source text; empty when unknown
    sources    the texts as they were given, one or two; empty when unknown
    types      the model's token type ids, where its tokeniser gives them; empty elsewhere
    parts      the names of the parts of a conversation or of a prompt (system, user 1 …); empty where it has none
    part_of    for each token the index of its part; empty where there are none
    """

    tokens: tuple[str, ...]
    words: tuple[int | None, ...]
    word_texts: tuple[str, ...]
    segments: tuple[int, ...]
    special: tuple[bool, ...]
    ids: tuple[int, ...] = ()
    spans: tuple[Span, ...] = field(default_factory=tuple)  # not (), which the class would have: see __getattr__
    sources: tuple[str, ...] = ()
    types: tuple[int, ...] = ()
    parts: tuple[str, ...] = ()
    part_of: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.tokens)
        if n == 0:
            raise TextError("No tokens.", "A tokenised text has at least one.")
        for name in ("tokens", "word_texts", "parts"):
            check_strings(getattr(self, name), name)
        for name in ("words", "segments", "special"):
            if len(getattr(self, name)) != n:
                raise TextError(f"{n} tokens, but {len(getattr(self, name))} {name}.", "Give one for each token.")
        for name in ("ids", "spans", "types", "part_of"):
            if len(getattr(self, name)) not in (0, n):
                raise TextError(f"{n} tokens, but {len(getattr(self, name))} {name}.", "Give one for each token, or none.")
        if any(word is not None and not 0 <= word < len(self.word_texts) for word in self.words):
            raise TextError(f"A token belongs to a word outside 0…{len(self.word_texts) - 1}.")
        if any(segment not in (0, 1) for segment in self.segments):
            raise TextError("Segments are 0 (first text) or 1 (second text).")
        if bool(self.parts) != bool(self.part_of) or any(not 0 <= part < len(self.parts) for part in self.part_of):
            raise TextError(f"{len(self.parts)} parts, but a token belongs to another.", "Give each token the index of its part.")

    def with_last(self, token: str) -> TokenizedText:
        """The same with one special token more, at the end. Without ids and positions in the source."""
        return TokenizedText(
            tokens=(*self.tokens, token),
            words=(*self.words, None),
            word_texts=self.word_texts,
            segments=(*self.segments, self.segments[-1]),
            special=(*self.special, True),
        )

    def __getattr__(self, name: str) -> Any:
        """Called for attributes that are not set yet: of a text that was read in a batch, spans and words are computed at first use."""
        find, group = self.__dict__.get("_find_spans"), self.__dict__.get("_group_words")
        if name in self.__dict__:  # another thread was first
            return self.__dict__[name]
        if name == "spans" and find is not None:
            self.__dict__["spans"] = find()
            self.__dict__.pop("_find_spans", None)
            return self.__dict__["spans"]
        if group is None or name not in ("words", "word_texts"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        words, texts = group(self)
        self.__dict__.update(words=words, word_texts=texts)
        self.__dict__.pop("_group_words", None)
        return self.__dict__[name]

    @classmethod
    def without_words(cls, group: GroupWords, spans: Callable[[], tuple[Span, ...]], **fields: Any) -> TokenizedText:
        """A text whose spans and words are computed by these functions when they are first read. The fields come from a tokeniser:
        unchecked."""
        return cls.from_tokeniser(**fields, _find_spans=spans, _group_words=group)

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to another process: everything, computed."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def from_tokeniser(cls, **fields: Any) -> TokenizedText:
        """A text whose fields come from a tokeniser: unchecked."""
        text = object.__new__(cls)
        text.__dict__.update(fields)
        return text

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def word_groups(self) -> tuple[tuple[int, ...], ...]:
        """Token positions of each unit of the word level, in reading order; a special token is a unit of its own."""
        groups: list[list[int]] = []
        group_of: dict[int, int] = {}
        for position, word in enumerate(self.words):
            if word is not None and word in group_of:
                groups[group_of[word]].append(position)
                continue
            if word is not None:
                group_of[word] = len(groups)
            groups.append([position])
        return tuple(map(tuple, groups))

    def only(self, positions: Iterable[int]) -> TokenizedText:
        """The same text with the tokens at these positions alone; its words and sources stay."""
        kept = list(positions)
        by_token = ("tokens", "words", "segments", "special", "ids", "spans", "types", "part_of")
        if "_group_words" in self.__dict__:  # of a long text, grouping takes most of the time, and perhaps nobody asks
            fields = {name: getattr(self, name) for name in by_token if name not in ("words", "spans")}
            chosen = {name: tuple([of_token[i] for i in kept]) if of_token else () for name, of_token in fields.items()}
            return TokenizedText.without_words(
                lambda _: (tuple([self.words[i] for i in kept]), self.word_texts),
                lambda: tuple([self.spans[i] for i in kept]) if self.spans else (),
                **chosen,
                sources=self.sources,
                parts=self.parts,
            )
        values = {name: getattr(self, name) for name in by_token}
        return replace(self, **{name: tuple(of_token[i] for i in kept) if of_token else () for name, of_token in values.items()})

    def at_word_level(self) -> TokenizedText:
        """The same text with one token per word; special tokens stay."""
        groups = self.word_groups
        kept = [self.words[group[0]] for group in groups]
        order = [word for word in kept if word is not None]
        renumbered = {word: number for number, word in enumerate(order)}
        return TokenizedText(
            tokens=tuple(self.tokens[g[0]] if w is None else self.word_texts[w] for g, w in zip(groups, kept, strict=True)),
            words=tuple(None if w is None else renumbered[w] for w in kept),
            word_texts=tuple(self.word_texts[w] for w in order),
            segments=tuple(self.segments[g[0]] for g in groups),
            special=tuple(self.special[g[0]] for g in groups),
            sources=self.sources,
            parts=self.parts,
            part_of=tuple(self.part_of[g[0]] for g in groups) if self.part_of else (),
        )

    def with_parts(self, parts: Sequence[str], part_of: Sequence[int]) -> TokenizedText:
        """The same text with these parts, and for each token the index of its part."""
        return replace(self, parts=tuple(parts), part_of=tuple(part_of))

    def in_part(self, name: str) -> list[int]:
        """The positions of the tokens of a part."""
        if name not in self.parts:
            raise TextError(f"This text has no part {name!r}.", f"It has: {', '.join(self.parts) or 'none'}.")
        return [position for position, part in enumerate(self.part_of) if self.parts[part] == name]

    @classmethod
    def from_tokens(cls, tokens: Sequence[str], *, special: Sequence[bool] = (), second_from: int | None = None) -> TokenizedText:
        """Plain tokens without a tokeniser; every token is a word. `second_from` is where the second text begins."""
        if isinstance(tokens, str | bytes) or not isinstance(tokens, Iterable):
            raise TextError(
                f"The tokens are a single {type(tokens).__name__}: {str(tokens)[:40]!r}.", "Give a list with a string for each token."
            )
        tokens = tuple(tokens)
        check_strings(tokens, "tokens")
        n = len(tokens)
        if second_from is not None and not 0 < second_from < n:
            raise TextError(f"The second text would begin at token {second_from} of {n}.", f"Give a position from 1 to {n - 1}.")
        return cls(
            tokens=tokens,
            words=tuple(range(n)),
            word_texts=tokens,
            segments=tuple(int(second_from is not None and i >= second_from) for i in range(n)),
            special=tuple(special) if special else (False,) * n,
        )

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready mapping; `from_json` reads it back."""
        return {name: list(getattr(self, name)) for name in self.__dataclass_fields__}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TokenizedText:
        fields = {name: tuple(data.get(name, ()) if name in ("parts", "part_of") else data[name]) for name in cls.__dataclass_fields__}
        fields["spans"] = tuple((int(start), int(end)) for start, end in fields["spans"])
        return cls(**fields)


def check_strings(texts: Iterable[Any], name: str) -> None:
    """Refuse tokens that are not strings."""
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise TextError(
                f"{name}[{index}] is {text!r}, of type {type(text).__name__}.",
                "A token is a string. From ids: tokenizer.convert_ids_to_tokens(ids).",
            )


def index_of(text: TokenizedText, texts: list[TokenizedText]) -> int:
    """The index of the text in the list; a text that is not there yet is added."""
    if text not in texts:
        texts.append(text)
    return texts.index(text)


# ---- What to show for each token: never half a character, never empty, never U+FFFD
#
# The tokeniser's own `##` and `▁` stay; byte-level `Ġ` becomes `▁` too, so that a leading space looks the same for every model. White
# space inside a token is made visible (▁ ⏎ ⇥ ␍ ␣). Bytes that are not a whole character are written `<0xE7 0x8C>`. Control characters
# stay as they are: what draws the token makes them visible (`printable`).


_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")

_VISIBLE = {" ": "▁", "\n": "⏎", "\t": "⇥", "\r": "␍", "\u2028": "⏎", "\u2029": "⏎", "\ufffd": "<U+FFFD>"}


@lru_cache(maxsize=1 << 16)
def show(piece: str, byte_level: bool) -> str:
    """One piece as text to show.

    >>> show("Ġcat", True), show("çĮ", True), show("Ċ", True), show("##ing", False), show("<0x0A>", False), show("<0xE7>", False)
    ('▁cat', '<0xE7 0x8C>', '⏎', '##ing', '⏎', '<0xE7>')
    """
    if byte_level and all(character in _byte_of() for character in piece):
        return _decode(bytes(_byte_of()[character] for character in piece))
    if (match := _BYTE_PIECE.fullmatch(piece)) is not None:
        return _decode(bytes([int(match[1], 16)]))
    return mark_spaces(piece)


def is_byte_level(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether the pieces spell bytes with GPT-2's stand-in characters (Ġ for a space)."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return hasattr(tokenizer, "byte_decoder")
    parts = (backend.decoder, backend.pre_tokenizer)
    return any(part is not None and "ByteLevel" in repr(part) for part in parts)


@cache
def _byte_of() -> dict[str, int]:
    """GPT-2's printable stand-in for each byte, read backwards."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + number): byte for number, byte in enumerate(hidden)}


def show_bytes(pieces: list[str]) -> list[str]:
    """Pieces of tokenisers that spell every byte as the character of that number (ByT5)."""
    return [_decode(piece.encode("latin-1")) for piece in pieces]


def mark_spaces(text: str) -> str:
    """The same text with its white space drawn, as word level and token level both show it."""
    return "".join(_VISIBLE.get(c) or ("␣" if unicodedata.category(c) == "Zs" else c) for c in text) or "∅"


def _decode(data: bytes) -> str:
    """UTF-8 made visible, with the bytes that are not a whole character written out."""
    shown = [] if data else [mark_spaces("")]
    while data:
        try:
            shown.append(mark_spaces(data.decode("utf-8")))
            break
        except UnicodeDecodeError as error:
            if error.start:
                shown.append(mark_spaces(data[: error.start].decode("utf-8")))
            end = error.end
            while end < len(data) and data[end] & 0xC0 == 0x80:  # one mark for the whole run of stray continuation bytes
                end += 1
            shown.append("<" + " ".join(f"0x{byte:02X}" for byte in data[error.start : end]) + ">")
            data = data[end:]
    return "".join(shown)


# ---- Tokens as they can be drawn: one line, and nothing that XML cannot hold


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
