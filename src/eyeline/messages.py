"""A message for users is a key and values; the words, in English, Japanese and Korean, are in eyeline/words/*/*.toml."""

from __future__ import annotations

import string
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias, cast

#: What fills a blank of a message. The lines of a tuple are shown one below the other.
Value: TypeAlias = "str | int | float | tuple[str, ...]"

WORDS = Path(__file__).with_name("words")


class Message(str):
    """A notice, a reason or a line of a refusal. It is a string, its English words, and keeps what they were made of.

    key      of a message in eyeline/words; empty: a text that has no key, shown as it is in every language
    values   fill the blanks of the message; they are data (names, numbers, other messages), never markup

    `Words(language).of(message)` has it in another language.

    >>> notice = Message("notice.truncated", dropped="3", tokens="515")
    >>> print(notice)
    3 of 515 tokens were cut off: the text is longer than the model takes.
    >>> notice.key, dict(notice.values)
    ('notice.truncated', {'dropped': '3', 'tokens': '515'})
    """

    key: str
    values: Mapping[str, Value]

    def __new__(cls, key: str, /, **values: Value) -> Message:
        return cls._restored(key, values, filled(words_of("en", key.partition(".")[0])[key], values))

    @classmethod
    def of(cls, text: str) -> Message:
        """The text itself where it is a message, else a message without a key."""
        return text if isinstance(text, Message) else cls._restored("", {}, text)

    @classmethod
    def lines(cls, *lines: str) -> Message:
        """One message of several lines; those after the first are indented."""
        return cls.of(lines[0]) if len(lines) == 1 else cls._restored("", {"lines": lines}, in_lines(lines))

    @classmethod
    def _restored(cls, key: str, values: Mapping[str, Value], words: str) -> Message:
        message = super().__new__(cls, words)
        message.key, message.values = key, MappingProxyType(dict(values))
        return message

    @property
    def first_line(self) -> Message:
        """A message of several lines without its details."""
        if not self.key and self.values:
            return Message.of(cast("tuple[str, ...]", self.values["lines"])[0])
        return self if self.key else Message.of((self.splitlines() or [""])[0])

    def replacing(self, old: str, new: str) -> Message:
        """The same message, with `new` for `old` in its values: the name of a file instead of its path."""

        def replaced(value: Any) -> Any:
            if isinstance(value, Message):
                return value.replacing(old, new)
            if isinstance(value, tuple):
                return tuple(map(replaced, value))
            return value.replace(old, new) if isinstance(value, str) else value

        return self._restored(self.key, {name: replaced(value) for name, value in self.values.items()}, self.replace(old, new))

    def to_json(self) -> Any:
        """Key, values and the English words; a text without a key alone."""
        if not self.key and not self.values:
            return str(self)
        return {"key": self.key, "values": {name: _to_json(value) for name, value in self.values.items()}, "words": str(self)}

    @classmethod
    def from_json(cls, data: Any) -> Message:
        """What `to_json` wrote, or a plain string: files of before held no keys. Anything else is a ValueError."""
        if isinstance(data, str):
            return cls.of(data)
        if not isinstance(data, Mapping):
            raise ValueError(f"a message is {type(data).__name__}, not a mapping")
        key, values, words = data.get("key"), data.get("values"), data.get("words")
        if not isinstance(key, str) or not isinstance(values, Mapping) or not isinstance(words, str):
            raise ValueError("a message without its key, values or words")
        filling = {str(name): _from_json(value) for name, value in values.items()}
        if not key and filling and not isinstance(filling.get("lines"), tuple):
            raise ValueError("a message without a key that is not made of lines")
        return cls._restored(key, filling, words)

    def __reduce__(self) -> tuple[Any, ...]:
        return Message._restored, (self.key, dict(self.values), str(self))


def _to_json(value: Value) -> Any:
    if isinstance(value, tuple):
        return [_to_json(line) for line in value]
    return value.to_json() if isinstance(value, Message) else value


def _from_json(data: Any) -> Value:
    if isinstance(data, list):
        return tuple(line if isinstance(line, str) else Message.from_json(line) for line in data)
    return data if isinstance(data, str | int | float) else Message.from_json(data)


# ---- From keys to words


def filled(form: str, values: Mapping[str, Value]) -> str:
    """A message with its blanks filled.

    >>> filled("{n} of {names}", {"n": 2, "names": "{a}"})
    '2 of {a}'
    """
    return form.format_map({name: in_lines(value) if isinstance(value, tuple) else value for name, value in values.items()})


def blanks(form: str) -> set[str]:
    """The names of a message's blanks.

    >>> sorted(blanks("{n} of {names}"))
    ['n', 'names']
    """
    return {name for _, name, _, _ in string.Formatter().parse(form) if name}


def in_lines(lines: tuple[str, ...]) -> str:
    """The lines as one text; those after the first are indented."""
    return "\n  ".join(lines)


@lru_cache
def words_of(language: str, file: str) -> Mapping[str, str]:
    """The messages of one TOML file of a language, by dotted key: `file.table.name`."""
    import tomllib  # only where words are needed: every module imports this one

    return flat(tomllib.loads((WORDS / language / f"{file}.toml").read_text(encoding="utf-8")), file)


@lru_cache
def catalogue(language: str) -> Mapping[str, str]:
    """All messages of one language."""
    return {key: text for file in sorted((WORDS / language).glob("*.toml")) for key, text in words_of(language, file.stem).items()}


def flat(tree: Mapping[str, Any], prefix: str) -> dict[str, str]:
    """
    >>> flat({"a": {"b": "c"}}, "page")
    {'page.a.b': 'c'}
    """
    messages: dict[str, str] = {}
    for key, value in tree.items():
        name = f"{prefix}.{key}"
        messages |= flat(value, name) if isinstance(value, Mapping) else {name: str(value).strip("\n")}
    return messages
