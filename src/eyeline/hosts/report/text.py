"""The words and the style of the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eyeline.plots.figures import in_stack


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
TITLES = {
    "average_attention": "Where heads look",
    "entropy": "How broadly they look",
    "importance": "How much it matters",
    "head_map": "Which heads are alike",
    "distances": "Distances between heads",
    "syntax": "Which head knows which relation",
    "syntax_examples": "Heads at work",
    "coreference": "Who finds what a mention refers back to",
    "coreference_heads": "Every head as a finder of antecedents",
    "coreference_example": "The best head on a text",
    "probes": "How much grammar all heads know together",
    "probes_curve": "How much the probes must see",
    "probe_weights": "Which heads the probes use",
    "space": "How far each picture can be trusted",
    "space_pairs": "Dot product against distance",
    "compare": "How far the two models lie apart",
}
MEANING = {
    "average_attention": (
        "Each dot is a head: the share of its attention that goes to that kind of token, averaged over the tokens of a text and then over"
        " texts. A head near 1 on the previous or next token does little else; much attention on separators often means that a head has"
        " nothing to do."
    ),
    "entropy": (
        "Entropy is 0 when a token attends to a single token and highest when it attends evenly to all it can see (the dashed line). Low"
        " heads point, high heads gather a summary of the whole text."
    ),
    "importance": (
        "How much the model's own loss would change with a small change of an attention weight, averaged over weights. Where this is near"
        " zero, attention to that target makes little difference, however much of it there is."
    ),
    "head_map": (
        "Heads that lie close together distribute their attention alike: distances are Jensen–Shannon divergences, laid out in two"
        " dimensions by metric multidimensional scaling. The axes have no meaning of their own, and a layout in two dimensions is never"
        " exact: the stress says how far it is off."
    ),
    "distances": (
        "The mean Jensen–Shannon divergence between the attention of every two heads: 0 is the same attention, 0.69 (ln 2) attention to"
        " entirely different tokens. Heads are ordered so that similar ones are neighbours; dark blocks are heads that look alike."
    ),
    "syntax": (
        "Every column is a head, every row a relation: how often the word that a dependent attends to most is its grammatical head, or"
        " that attends most to it, whichever of the two is better. A ring marks the best head of each relation."
    ),
    "syntax_examples": (
        "The sentences in which the best head of a relation puts most attention on its predictions. Over the words, in red, the"
        " relation as the treebank has it; under them the attention of that head between words, thicker the more of it. What goes to"
        " special tokens is not drawn. Where the two mirror each other, the head is right."
    ),
    "coreference": (
        "For each mention that refers back to an earlier one: how often a method names an antecedent, choosing among the head words of all"
        " mentions before it. A head names the one that the mention's head word attends to most. The best head was chosen on the very"
        " mentions it is scored on; held out, it is chosen on one half of the documents and scored on the other."
    ),
    "coreference_heads": (
        "The same for every head; the best of each panel is framed. The buttons choose whose attention is asked: the mention's, as the"
        " paper does, or the antecedent's."
    ),
    "coreference_example": (
        "An arc goes from the head word of each mention that has an antecedent here to the mention before it that it attends to most: red"
        " if that is an antecedent, the wider the more attention. The text was chosen because this head is right on it."
    ),
    "probes": (
        "A probe is a small classifier that finds the head of every word. Bars are the share of heads that it finds, over all words but"
        " punctuation; lines hold that share with 95 % confidence when the test sentences are drawn anew. What attention adds is the"
        " distance to the probes without it (distances + words) and to the same network before training (random init)."
    ),
    "probes_curve": (
        "The same share after fewer training sentences. A probe that is still rising would find more with more sentences; a probe that"
        " rises late learns the task itself rather than reading it off the maps."
    ),
    "probe_weights": (
        "Orange: attention of this head speaks for an arc, blue: against it. Of the probe with words the mean weight over the gold arcs is"
        " shown. Heads that do the same share their weight, so that a weak one is not a useless one."
    ),
    "space": (
        "How often the nearest key of a query in the picture is the key it attends to most, for every head. At 1 near means attends; near 0"
        " the picture of this head says little about its attention. The vectors themselves, before they are projected, are beside it."
    ),
    "space_pairs": (
        "Each dot is a query and a key of one text, larger the more attention there is between them. Where the dots fall along a line,"
        " distance says what the dot product says; above as the model has its vectors, below in the gauge, which changes no attention."
        " Over each head, how the two correlate before and after, weighted by attention: −1 is best."
    ),
    "compare": (
        "The mean Jensen–Shannon divergence between the attention of the same head in the two models: 0 is the same attention, 0.69 (ln 2)"
        " attention to entirely different tokens."
    ),
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


def title_of(figure: str) -> str:
    """What stands above a figure; of one stack of an encoder-decoder model, with its name.

    >>> title_of("head_map_cross")
    'Which heads are alike: cross'
    """
    plain, stack = in_stack(figure)
    return f"{TITLES[plain]}: {stack}" if stack else TITLES[plain]


def meaning_of(figure: str) -> str:
    return MEANING[in_stack(figure)[0]]
