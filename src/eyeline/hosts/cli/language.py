"""The language of reports, pages and pictures, as an option of every command that writes one."""

from __future__ import annotations

from typing import Annotated

import typer

from eyeline.words import LANGUAGES


def known_language(language: str) -> str:
    """The language, if we have words in it."""
    if language not in LANGUAGES:
        raise typer.BadParameter(f"{language!r}: choose one of {', '.join(LANGUAGES)}.")
    return language


Language = Annotated[str, typer.Option(help=f"Language of figures and report: {', '.join(LANGUAGES)}.", callback=known_language)]
PageLanguage = Annotated[str, typer.Option(help=f"Language of the page or the picture: {', '.join(LANGUAGES)}.", callback=known_language)]
