"""The words of figures and reports, in English, Japanese and Korean: one folder per language, one TOML file per subject."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

LANGUAGES = {"en": "English", "ja": "日本語", "ko": "한국어"}


@dataclass(frozen=True)
class Words:
    """The messages of one language: `words("figure.entropy.title")`; blanks are filled by name, `words("count.texts.many", n=3)`."""

    language: str = "en"

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
        messages |= flat(value, name) if isinstance(value, Mapping) else {name: str(value).strip()}
    return messages
