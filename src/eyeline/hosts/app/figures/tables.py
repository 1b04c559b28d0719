"""Small tables on a page: plain HTML in the common look, aligned numbers, and bars for shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st

from eyeline.text.printable import printable


@dataclass(frozen=True)
class Column:
    """cells: as they are shown. kind: number, token or word. parts: 0 … 1 for each cell, drawn as a bar beside it."""

    title: str
    cells: Sequence[str]
    kind: str = "number"
    parts: Sequence[float] | None = None


def show(*columns: Column) -> None:
    """The table on the page."""
    st.html("".join(written(columns)))


def written(columns: Sequence[Column]) -> Iterator[str]:
    """Its HTML. Titles and cells are text, whatever they hold.

    >>> "".join(written([Column("a<b", ["<i>"], "token")])).split("<tbody>")[1]
    '<tr><td class="token">&lt;i&gt;</td></tr></tbody></table>'
    """
    yield '<table class="el-table"><thead><tr>'
    for column in columns:
        yield f'<th class="{_kind(column)}">{escape(printable(column.title))}</th>'
    yield "</tr></thead><tbody>"
    for row in range(len(columns[0].cells)):
        yield "<tr>"
        for column in columns:
            yield f'<td class="{_kind(column)}">{_bar(column, row)}{escape(printable(column.cells[row]))}</td>'
        yield "</tr>"
    yield "</tbody></table>"


def _kind(column: Column) -> str:
    return "bar" if column.parts else column.kind


def _bar(column: Column, row: int) -> str:
    if not column.parts:
        return ""
    return f'<span class="full"><span style="width:{100 * min(1.0, max(0.0, column.parts[row])):.1f}%"></span></span>'
