"""The words and the style of the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """A table that the report prints: which columns, and how a cell of each is written."""

    title: str
    meaning: str
    columns: Mapping[str, str]


#: Kind of run → what its part of a report of several is called.
PARTS = {
    "analyse": "Where heads look",
    "syntax": "What heads know of grammar",
    "coreference": "What heads know of reference",
    "probe": "What all heads know together",
    "space": "Queries and keys in one space",
    "compare": "Two models side by side",
}
#: Kind of run → the interactive page that its command writes into the folder, and what the report says of it.
PAGES = {
    "space": ("space.html", "Open the pictures", "All heads as small scatters, one head large, and the sentence of any point."),
    "compare": ("compare.html", "Open both spaces side by side", "The same sentence is selected in both."),
}
#: Tables that are printed in the report, by name.
SHOWN: dict[str, Shown] = {
    "syntax": Shown(
        "The best head for each relation",
        "A head predicts, for each word, the word that it attends to most (dependent to head), or the word that attends most to it (head to"
        " dependent); special tokens and the word itself do not count. The baseline is the best fixed offset: -1 is always the word before."
        " The best of so many heads, chosen on the data it is scored on, flatters: “held out” is chosen on one half of the sentences and"
        " scored on the other. “all” counts root, which attention never predicts, and punctuation.",
        {
            "relation": "",
            "count": "{:,}",
            "layer": "",
            "head": "",
            "direction": "",
            "accuracy": "{:.1f} %",
            "accuracy_held_out": "{:.1f} %",
            "baseline": "{:.1f} %",
            "offset": "{:+d}",
        },
    ),
    "coreference": Shown(
        "Antecedents found, in per cent",
        "Of the mentions with an antecedent in the same window, how many each method answers rightly; n of them in all.",
        {
            "method": "",
            "layer": "{:.0f}",
            "head": "{:.0f}",
            **dict.fromkeys(("all", "pronoun", "proper", "nominal"), "{:.1f}"),
            "n": "{:,}",
        },
    ),
    "probes": Shown(
        "What each probe finds",
        "The share of words whose head is found, without punctuation (uas), and the interval that holds it with 95 % confidence when the"
        " test sentences are drawn anew; n words were scored. Spread is the standard deviation over seeds.",
        {
            "probe": "",
            "uas": "{:.1f} %",
            "low": "{:.1f} %",
            "high": "{:.1f} %",
            "uas_with_punctuation": "{:.1f} %",
            "spread": "{:.2f}",
            "n": "{:,}",
        },
    ),
}
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
.mono, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-variant-numeric: tabular-nums }
table { border-collapse: collapse; margin: 8px 0 }
th { text-align: left; font-weight: 600 }
th, td { padding: 0 24px 0 0; border-bottom: 1px solid #d9dde3; height: 44px }
.part + .part { border-top: 1px solid #d9dde3; margin-top: 48px; padding-top: 32px }
.wide { overflow-x: auto }
.numbers td, .numbers th { height: 32px; white-space: nowrap; font-variant-numeric: tabular-nums }
nav { margin: 8px 0 }
.figure { width: 100%; overflow-x: auto }
.figure .plotly-graph-div { min-width: 720px }
pre { font-size: 12px; overflow: auto; max-height: 320px; border-top: 1px solid #d9dde3; border-bottom: 1px solid #d9dde3; padding: 8px 0 }
"""
