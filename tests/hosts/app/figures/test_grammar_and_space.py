"""The figures of grammar, reference and spaces on the page: clicked, translated, on dark."""

from __future__ import annotations

import json
import re

import plotly.graph_objects as go
import pytest

import eyeline as el
from eyeline.hosts.app.figures.figures import GRIDS, clicked, titled_bars, translated
from eyeline.hosts.app.figures.heatmap_clicks import clickable
from eyeline.hosts.app.grammar.relation import examples
from eyeline.hosts.app.messages import Say
from eyeline.plots.style import INK, in_dark
from tests.hosts.app.figures.test_figures import words

FIGURES = {
    "small-grammar": ("syntax", "coreference", "coreference_heads", "coreference_example", "probes", "probes_curve", "probe_weights"),
    "small-space": ("space", "space_pairs"),
    "small-compare": ("compare",),
}
EVERY = [(run, figure) for run, figures in FIGURES.items() for figure in figures]
#: English that stays: names of models, relations and words of the text itself, tags of Plotly's, and units.
KEPT = re.compile(r"<[^>]*>|%\{[^}]*\}|shallow|small|BERT-base|Penn Treebank|Clark|n = |synthetic-[\d-]+")


def listed(figure) -> list[str]:
    """Names of bars, of rows and columns, and ticks."""
    plain = json.loads(figure.to_json())
    axes = [axis.get("ticktext", []) for name, axis in plain["layout"].items() if name[1:5] == "axis"]
    sides = [trace[side] for trace in plain["data"] for side in ("x", "y") if isinstance(trace.get(side), list)]
    return [text for one in (*axes, *sides) for text in one if isinstance(text, str)]


def relations(run) -> set[str]:
    return {str(name) for name in run.table("syntax").columns["relation"]} if "syntax" in run.tables else set()


@pytest.mark.parametrize("language", ["ja", "ko"])
@pytest.mark.parametrize(("run", "name"), EVERY, ids=[name for _, name in EVERY])
def test_no_english_is_left_in_a_figure(kept_runs, run, name, language):
    opened = el.open_run(kept_runs / run)
    figure = el.figure(opened, name)
    figure = translated(clickable(figure) if name in GRIDS else figure, Say(language))
    figure.update_layout(title=None)
    told = set(opened.table("coreference_example").columns["word"]) if name == "coreference_example" else set()
    names = sorted(relations(opened) - {"all"}, key=len, reverse=True)
    pattern = re.compile("|".join([KEPT.pattern, *map(re.escape, names)]))
    left = [text for text in [*words(figure), *listed(figure)] if text not in told and re.search(r"[A-Za-z]{3,}", pattern.sub("", text))]
    assert not left


@pytest.mark.parametrize(("run", "name"), [one for one in EVERY if one[1] in GRIDS], ids=[name for _, name in EVERY if name in GRIDS])
def test_the_title_of_a_colour_bar_stands_a_line_above_its_numbers(kept_runs, run, name):
    figure = el.figure(el.open_run(kept_runs / run), name)
    titled_bars(figure)
    bars = [trace.colorbar for trace in figure.data if trace.type == "heatmap"] + [figure.layout.coloraxis.colorbar]
    titles = [bar.title for bar in bars if bar.title.text]
    assert titles
    assert all(title.side == "top" and title.text.endswith("<br>\u00a0") for title in titles)


def test_the_words_of_a_text_are_never_translated(kept_runs):
    """`and` and `head` are words of figures too."""
    run = el.open_run(kept_runs / "small-grammar")
    before = el.figure(run, "coreference_example")
    after = translated(el.figure(run, "coreference_example"), Say("ja"))
    assert [trace.text for trace in after.data if trace.mode == "text"] == [trace.text for trace in before.data if trace.mode == "text"]
    rows = [row for row in run.table("syntax_examples").rows() if row["relation"] == "det"]
    drawn = examples(Say("ko"), run, "det", rows)
    shown = [word for trace in drawn.data if trace.mode == "text" for word in trace.text]
    assert set(json.loads(str(rows[0]["words"]))) <= set(shown)
    assert Say("ko")("grammar.gold") in shown
    assert not drawn.layout.updatemenus


@pytest.mark.parametrize(("run", "name"), EVERY, ids=[name for _, name in EVERY])
def test_a_dark_figure_has_no_dark_ink(kept_runs, run, name):
    assert INK not in in_dark(el.figure(el.open_run(kept_runs / run), name)).to_json()


@pytest.mark.parametrize(("run", "name"), [pair for pair in EVERY if pair[1] in GRIDS], ids=GRIDS)
def test_every_cell_of_a_heatmap_says_which_head_it_is_and_what_it_holds(kept_runs, run, name):
    figure = clickable(el.figure(el.open_run(kept_runs / run), name))
    cells = sum(len(trace.x) * len(trace.y) for trace in figure.data if isinstance(trace, go.Heatmap))
    points = [trace for trace in figure.data if isinstance(trace, go.Scatter) and trace.customdata is not None]
    assert sum(len(trace.x) for trace in points) == cells
    for trace in points:
        layer, head, _ = trace.customdata[-1]
        assert clicked({"selection": {"points": [{"customdata": list(trace.customdata[-1])}]}}) == ("", layer, head)
        assert f"L{layer}·H{head}" in trace.text[-1]
    for menu in figure.layout.updatemenus:
        assert all(len(button.args[0]["visible"]) == len(figure.data) for button in menu.buttons)


def test_the_phrases_of_the_figures_are_those_that_figures_say(kept_runs):
    """A phrase that no figure says any more would leave that figure in English."""
    said = "\n".join(text for run, name in EVERY for text in words(clickable(el.figure(el.open_run(kept_runs / run), name))))
    for key in ("accuracy", "best_offset", "to_head", "layer_by_layer", "right", "mentions_to", "to_antecedent", "found_without", "paper",
                "with_punctuation", "training_sentences", "weight", "near_one", "near_five", "near_before", "share_queries", "dot",
                "change_entropy"):  # fmt: skip
        assert Say("en")(f"figure.grammar.{key}") in said, key
