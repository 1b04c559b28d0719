"""The type of a cell of a notebook."""

from __future__ import annotations

#: Code, in which {language} stands for the language of the texts; or a text in each language.
Cell = str | dict[str, str]
