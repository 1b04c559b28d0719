"""The record of a figure: what a page must know to show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from eyeline.plots.style import Style
from eyeline.results.run import Run
from eyeline.words import Words

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True)
class Figure:
    """One figure of a run, declared in the module that draws it.

    name        of the figure; its messages are those under `figure.NAME` in eyeline/words
    table       the table that it draws; of an encoder-decoder model, the tables of its stacks
    formula     what is drawn, in symbols; `_x` and `_{xyz}` are subscripts. `symbols` explains the letters
    draw        (run, style, stack) → Plotly figure; the stack is empty for models with one stack
    clickable   what a reader can click to choose a head: single points, cells of a grid, or nothing
    """

    name: str
    table: str
    formula: str
    draw: Callable[[Run, Style, str], go.Figure]
    clickable: Literal["points", "cells", ""] = ""

    def title(self, words: Words, stack: str = "") -> str:
        """The title above the figure on a page.

        >>> Figure("head_map", "head_map", "", lambda *_: None).title(Words(), "cross")
        'Which heads are alike: cross attention'
        """
        title = words(f"figure.{self.name}.title")
        return f"{title}: {words.name('stack', stack)}" if stack else title

    def meaning(self, words: Words) -> str:
        """How to read it."""
        return words(f"figure.{self.name}.meaning")

    def symbols(self, words: Words) -> str:
        """What the letters of the formula stand for."""
        return words(f"figure.{self.name}.symbols")
