"""Every word of the app: one folder a language, one file a page."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

LANGUAGES = {"en": "English", "ja": "日本語", "ko": "한국어"}


@dataclass(frozen=True)
class Say:
    """`say("look.title")` in one language; `say("learn.exercise.few", n=3)` fills in."""

    language: str

    def __call__(self, key: str, **values: Any) -> str:
        text = catalogue(self.language)[key]
        return text.format_map(values) if values else text

    def part(self, prefix: str) -> dict[str, str]:
        """All messages under a prefix, without it."""
        return {key.removeprefix(f"{prefix}."): text for key, text in catalogue(self.language).items() if key.startswith(f"{prefix}.")}


@lru_cache
def catalogue(language: str) -> Mapping[str, str]:
    """Messages by dotted key, `page.name`."""
    folder = files("eyeline.hosts.app.messages").joinpath(language)
    found: dict[str, str] = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            found |= flat(tomllib.loads(file.read_text(encoding="utf-8")), file.name.removesuffix(".toml"))
    return found


def flat(tree: Mapping[str, Any], prefix: str) -> dict[str, str]:
    """
    >>> flat({"a": {"b": "c"}}, "page")
    {'page.a.b': 'c'}
    """
    found: dict[str, str] = {}
    for key, value in tree.items():
        name = f"{prefix}.{key}"
        found |= flat(value, name) if isinstance(value, Mapping) else {name: str(value).strip()}
    return found


def language_of(locale: str | None) -> str:
    """The language for a browser's locale; English where we do not speak it.

    >>> [language_of(locale) for locale in ("ja-JP", "ko", "en-GB", "fr", None)]
    ['ja', 'ko', 'en', 'en', 'en']
    """
    found = (locale or "").lower().replace("_", "-").split("-")[0]
    return found if found in LANGUAGES else "en"
