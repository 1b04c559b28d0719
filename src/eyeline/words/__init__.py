"""All words that users read, in English, Japanese and Korean: one folder per language, one TOML file per subject or page of the app."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from eyeline.errors import TraceError
from eyeline.messages import Message, Value, blanks, catalogue, in_lines

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
        return catalogue(self.language)

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

    def of(self, message: str) -> str:
        """A message in this language; a plain string as it is, and so a message whose key or blanks are not those of this version.

        >>> from eyeline.messages import Message
        >>> print(Words("ja").of(Message("notice.unreadable_pieces", n="2")))
        長い文書の一部（2 か所）は文章として読めないため、除かれています。
        """
        if not isinstance(message, Message) or self.language == "en":
            return str(message)
        if not message.key:
            return self._value("lines", message.values["lines"]) if message.values else str(message)
        form = self.messages.get(message.key)
        values = {blank: self._value(blank, value) for blank, value in message.values.items()}
        return str(message) if form is None or not blanks(form) <= values.keys() else form.format_map(values)

    def _value(self, blank: str, value: Value) -> str:
        """What fills a blank: a message in this language, and of names in tables what the user reads for them."""
        if isinstance(value, tuple):
            return in_lines(tuple(map(self.of, value)))
        return self.of(value) if isinstance(value, Message) else self.name(blank, str(value))


def check_language(language: str) -> None:
    """Refuse a language that we have no words in."""
    if language not in LANGUAGES:
        raise TraceError(f"language={language!r}.", f"Choices: {', '.join(LANGUAGES)}.")


def language_of(locale: str | None) -> str:
    """The language for a browser's locale; English where we have no messages in it.

    >>> [language_of(locale) for locale in ("ja-JP", "ko", "en-GB", "fr", None)]
    ['ja', 'ko', 'en', 'en', 'en']
    """
    language = (locale or "").lower().replace("_", "-").split("-")[0]
    return language if language in LANGUAGES else "en"


def percent(share: float, decimals: int = 0) -> str:
    """A share from 0 to 1, as a reader sees it, in percent; a dash where it is not known.

    >>> percent(0.923), percent(0.0519, 1), percent(float("nan"))
    ('92 %', '5.2 %', '–')
    """
    return "–" if math.isnan(share) else f"{100 * share:.{decimals}f} %"


def key_of(name: str) -> str:
    """The key of a name in a table: letters, digits and underscores only.

    >>> key_of("best head, held out"), key_of("attention-only")
    ('best_head_held_out', 'attention_only')
    """
    return name.replace(", ", "_").replace(" ", "_").replace("-", "_").replace(":", "_")
