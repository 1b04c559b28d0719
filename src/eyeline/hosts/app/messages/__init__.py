"""Every message of the app: one folder for each language, one file for each page. Names of things and words of figures: eyeline.words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from eyeline.words import LANGUAGES, Words
from eyeline.words import catalogue as messages_of

__all__ = ["LANGUAGES", "Say", "catalogue", "language_of"]


@dataclass(frozen=True)
class Say(Words):
    """The messages of the app, and those of figures and reports, in one language: `say("look.title")`."""

    @property
    def messages(self) -> Mapping[str, str]:
        return catalogue(self.language)


@lru_cache
def catalogue(language: str) -> Mapping[str, str]:
    """Messages by dotted key, `page.name`."""
    return {**messages_of("eyeline.words", language), **messages_of("eyeline.hosts.app.messages", language)}


def language_of(locale: str | None) -> str:
    """The language for a browser's locale; English where we have no messages in it.

    >>> [language_of(locale) for locale in ("ja-JP", "ko", "en-GB", "fr", None)]
    ['ja', 'ko', 'en', 'en', 'en']
    """
    language = (locale or "").lower().replace("_", "-").split("-")[0]
    return language if language in LANGUAGES else "en"
