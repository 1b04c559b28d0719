"""What the report shows beside the figures: pages it links to, tables it prints, and its style. Its words: eyeline/words/*/report.toml."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eyeline.heads import HeadRef
from eyeline.text.coreference.mention import GROUPS
from eyeline.words import Words

if TYPE_CHECKING:
    from eyeline.results.table import Cell

#: Kind of run → the interactive page that its command writes into the folder.
PAGES = {"space": "space.html", "compare": "compare.html"}
PERCENT = "{:.1f} %"
#: Tables that the report prints → their columns, and how a number of each is written. `head` is the label of the row's layer and head.
TABLES: dict[str, dict[str, str]] = {
    "syntax": {
        "relation": "", "count": "{:,}", "head": "", "direction": "", "accuracy": PERCENT, "accuracy_held_out": PERCENT,
        "baseline": PERCENT, "offset": "{:+d}", "baseline_any": PERCENT, "offset_any": "{:+d}",
    },
    "coreference": {"method": "", "head": "", **dict.fromkeys(GROUPS, "{:.1f}"), "n": "{:,}"},
    "probes": {
        "probe": "", "uas": PERCENT, "low": PERCENT, "high": PERCENT, "uas_with_punctuation": PERCENT, "spread": "{:.2f}", "n": "{:,}",
        "epochs": "",
    },
}  # fmt: skip


def column_title(words: Words, column: str) -> str:
    """The title of a column of a printed table."""
    return words.messages.get(f"report.column.{column}") or words.name("mention", column)


def cell_text(words: Words, column: str, row: dict[str, Cell], form: str) -> str:
    """A cell of a printed table; a dash for an unknown number."""
    from eyeline.plots.probes.probes import epochs_text, label_of  # with Plotly, which `eyeline --help` need not import

    value = row[column]
    if value == "" or value != value:
        return "—"
    if column == "epochs":
        return epochs_text(row)
    if column == "head":
        return str(HeadRef("", int(row["layer"]), int(row["head"])))
    if column == "probe":
        return label_of(words, str(value))
    if column in ("direction", "method", "relation"):
        return words.name(column, str(value))
    return form.format(value) if form else str(value)


STYLE = """
:root { color-scheme: light }
body { margin: 0; background: #ffffff; color: #1a1d23; font: 14px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif }
main { max-width: 1100px; margin: 0 auto; padding: 24px 16px 64px }
h1, h2 { font-size: 20px; line-height: 1.3; margin: 40px 0 8px }
h1 { margin-top: 0 }
p { max-width: 70ch; margin: 8px 0 }
a { color: #2563eb; display: inline-block; padding: 12px 0 }
.quiet { color: #5b6472 }
.notice { border-left: 3px solid #ba6412; padding-left: 12px; white-space: pre-line }
.formula { font-size: 12px; color: #5b6472; max-width: 90ch }
.formula span { font-size: 14px; color: #1a1d23; margin-right: 12px }
.mono, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-variant-numeric: tabular-nums }
table { border-collapse: collapse; margin: 8px 0 }
th { text-align: left; font-weight: 600 }
th, td a { white-space: nowrap }
:is(p, td):lang(ko) { word-break: keep-all; overflow-wrap: anywhere }
:is(p, td):lang(ja) { line-break: strict; word-break: auto-phrase }
th, td { padding: 0 24px 0 0; border-bottom: 1px solid #d9dde3; height: 44px }
.part + .part { border-top: 1px solid #d9dde3; margin-top: 48px; padding-top: 32px }
.wide { overflow-x: auto }
.numbers td, .numbers th { height: 32px; white-space: nowrap; font-variant-numeric: tabular-nums }
nav { margin: 8px 0 }
.figure { width: 100%; overflow-x: auto }
.figure .plotly-graph-div { min-width: 720px }
.figure.space_pairs .plotly-graph-div { min-width: 1060px }
pre { font-size: 12px; overflow: auto; max-height: 320px; border-top: 1px solid #d9dde3; border-bottom: 1px solid #d9dde3; padding: 8px 0 }
"""
