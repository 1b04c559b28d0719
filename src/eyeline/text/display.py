"""What to show for each token: never half a character, never empty, never U+FFFD.

The tokeniser's own `##` and `▁` stay; byte-level `Ġ` becomes `▁` too, so that a leading space looks the same for every model. White
space inside a token is made visible (▁ ⏎ ⇥ ␍ ␣). Bytes that are not a whole character are written `<0xE7 0x8C>`. Control characters stay
as they are: what draws the token makes them visible.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_VISIBLE = {" ": "▁", "\n": "⏎", "\t": "⇥", "\r": "␍", "\u2028": "⏎", "\u2029": "⏎", "\ufffd": "<U+FFFD>"}


@cache
def _byte_of() -> dict[str, int]:
    """GPT-2's printable stand-in for each byte, read backwards."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + number): byte for number, byte in enumerate(hidden)}


def is_byte_level(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether the pieces spell bytes with GPT-2's stand-in characters (Ġ for a space)."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return hasattr(tokenizer, "byte_decoder")
    parts = (backend.decoder, backend.pre_tokenizer)
    return any(part is not None and "ByteLevel" in repr(part) for part in parts)


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
    return visible(piece)


def show_bytes(pieces: list[str]) -> list[str]:
    """Pieces of tokenisers that spell every byte as the character of that number (ByT5)."""
    return [_decode(piece.encode("latin-1")) for piece in pieces]


def visible(text: str) -> str:
    """The same text with its white space drawn, as word level and token level both show it."""
    return "".join(_VISIBLE.get(c) or ("␣" if unicodedata.category(c) == "Zs" else c) for c in text) or "∅"


def _decode(data: bytes) -> str:
    """UTF-8 made visible, with the bytes that are not a whole character written out."""
    shown = [] if data else [visible("")]
    while data:
        try:
            shown.append(visible(data.decode("utf-8")))
            break
        except UnicodeDecodeError as error:
            if error.start:
                shown.append(visible(data[: error.start].decode("utf-8")))
            end = error.end
            while end < len(data) and data[end] & 0xC0 == 0x80:  # one mark for the whole run of stray continuation bytes
                end += 1
            shown.append("<" + " ".join(f"0x{byte:02X}" for byte in data[error.start : end]) + ">")
            data = data[end:]
    return "".join(shown)
