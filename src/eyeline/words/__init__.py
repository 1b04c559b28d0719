"""The words of figures, views and reports, in English, Japanese and Korean: one folder per language, one TOML file per subject."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from eyeline.errors import TraceError

LANGUAGES = {"en": "English", "ja": "日本語", "ko": "한국어"}


@dataclass(frozen=True)
class Words:
    """The messages of one language: `words("figure.entropy.title")`; blanks are filled by name, `words("count.texts.many", n=3)`."""

    language: str = "en"

    def __post_init__(self) -> None:
        check_language(self.language)

    def __call__(self, key: str, **values: Any) -> str:
        text = self.messages[key]
        return text.format_map(values) if values else text

    @property
    def messages(self) -> Mapping[str, str]:
        return catalogue("eyeline.words", self.language)

    def part(self, prefix: str) -> dict[str, str]:
        """All messages under a prefix, without the prefix."""
        return {key.removeprefix(f"{prefix}."): text for key, text in self.messages.items() if key.startswith(f"{prefix}.")}

    def name(self, group: str, name: str) -> str:
        """What the user reads for a name in a table (`name("probe", "random init")`); the name itself if no message exists for it."""
        return self.messages.get(f"names.{group}.{key_of(name)}", name)

    def count(self, what: str, n: int) -> str:
        """A number with its noun: `1 text`, `1,234 texts`.

        >>> Words().count("texts", 1), Words().count("tokens", 1234)
        ('1 text', '1,234 tokens')
        """
        return self(f"count.{what}.{'one' if n == 1 else 'many'}", n=f"{n:,}")

    def listed(self, names: Iterable[str]) -> str:
        """Names one after the other, with the comma of the language.

        >>> Words().listed(["a", "b"]), Words("ja").listed(["a", "b"])
        ('a, b', 'a、b')
        """
        return ("、" if self.language == "ja" else ", ").join(names)

    def joined(self, parts: Iterable[str]) -> str:
        """Parts that may have commas in them, one after the other, with the semicolon of the language.

        >>> Words().joined(["a, b", "c"]), Words("ja").joined(["a、b", "c"])
        ('a, b; c', 'a、b；c')
        """
        return ("；" if self.language == "ja" else "; ").join(parts)

    def translated(self, notice: str) -> str:
        """An English notice in this language: the message of notice.toml whose English text matches it, or each of its lines.

        What matches no message stays as it is; a name before a colon is kept (`minilm: …`).
        """
        if self.language == "en":
            return notice
        if (known := self._notice(notice)) is not None:
            return known
        if "\n" in notice:
            return "\n".join(line[: len(line) - len(line.lstrip())] + self.translated(line.strip()) for line in notice.split("\n"))
        name, colon, rest = notice.partition(": ")
        after = self._notice(rest) if colon else None
        return notice if after is None else f"{name}{colon}{after}"

    def _notice(self, notice: str) -> str | None:
        for key, pattern in notice_patterns():
            if match := pattern.fullmatch(notice):
                return self(key, **{blank: self.name(blank, value) for blank, value in match.groupdict().items()})
        return None


def check_language(language: str) -> None:
    """Refuse a language that we have no words in."""
    if language not in LANGUAGES:
        raise TraceError(f"language={language!r}.", f"Choices: {', '.join(LANGUAGES)}.")


@lru_cache
def notice_patterns() -> list[tuple[str, re.Pattern[str]]]:
    """The English notices as patterns with a group for each blank (which is within one line and has no colon in it), the longest first."""
    english = {key: text for key, text in catalogue("eyeline.words", "en").items() if key.startswith("notice.")}
    return [
        (key, re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>(?:(?!: ).)+?)", re.escape(text))))
        for key, text in sorted(english.items(), key=lambda item: -len(item[1]))
    ]


def key_of(name: str) -> str:
    """The key of a name in a table: letters, digits and underscores only.

    >>> key_of("best head, held out"), key_of("attention-only")
    ('best_head_held_out', 'attention_only')
    """
    return name.replace(", ", "_").replace(" ", "_").replace("-", "_").replace(":", "_")


@lru_cache
def catalogue(package: str, language: str) -> Mapping[str, str]:
    """The messages in the TOML files of one language of a package, by dotted key: `file.table.name`."""
    messages: dict[str, str] = {}
    for file in sorted(files(package).joinpath(language).iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            messages |= flat(tomllib.loads(file.read_text(encoding="utf-8")), file.name.removesuffix(".toml"))
    return messages


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
