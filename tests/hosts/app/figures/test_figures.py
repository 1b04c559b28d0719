"""The figures of a run in the visitor's language, on light and on dark."""

from __future__ import annotations

import json
import re

import pytest

import eyeline as el
from eyeline.hosts.app.figures.figures import clicked, translated
from eyeline.hosts.app.messages import Say
from eyeline.plots.figures import available
from eyeline.plots.style import INK, in_dark
from eyeline.results.head_card import head_card, heads_of
from eyeline.sample.text import sample_text

#: English that stays: names, units in formulas, and what Plotly writes itself.
KEPT = re.compile(r"\[CLS\]|minilm|texts|L\d+·H\d+|<[^>]*>|%\{[^}]*\}|\|∂L/∂α\||\b(nats|br|extra|cls|sep)\b")


@pytest.fixture(scope="module")
def run(minilm):
    texts = sample_text().split("\n\n")[:4]
    return el.analyse(minilm, texts, [el.statistics.AverageAttention(), el.statistics.Entropy(), el.statistics.HeadDistances()])


def words(figure) -> list[str]:
    """Every text that a reader can see."""
    found: list[str] = []

    def walk(value, key=""):
        if isinstance(value, dict):
            for name, one in value.items():
                walk(one, name)
        elif isinstance(value, list):
            for one in value:
                walk(one, key)
        elif isinstance(value, str) and key in ("text", "name", "label", "hovertemplate"):
            found.append(value)

    walk(json.loads(figure.to_json()))
    return found


@pytest.mark.parametrize("language", ["ja", "ko"])
@pytest.mark.parametrize("name", ["average_attention", "entropy", "head_map", "distances"])
def test_no_english_is_left_in_a_figure(run, name, language):
    left = [text for text in words(translated(el.figure(run, name), Say(language))) if re.search(r"[A-Za-z]{3,}", KEPT.sub("", text))]
    assert not left


def test_every_phrase_of_the_figures_is_one_that_a_figure_says(run):
    """A phrase that no figure says any more would leave that figure in English."""
    said = "\n".join(text for name in available(run) for text in words(el.figure(run, name)))
    for key in ("where", "to_cls", "to_next", "share", "mean_of", "broadly", "from_all", "from_cls", "entropy", "even", "alike", "axes",
                "stress", "by_layer", "by_behaviour", "apart", "similar"):  # fmt: skip
        assert Say("en")(f"figure.{key}") in said, key


def test_english_figures_are_left_as_they_are(run):
    figure = el.figure(run, "entropy")
    assert translated(figure, Say("en")) is figure


def test_a_dark_figure_has_no_dark_ink(run):
    for name in available(run):
        assert INK not in in_dark(el.figure(run, name)).to_json()


@pytest.mark.parametrize("name", ["average_attention", "entropy", "head_map"])
def test_a_click_on_a_dot_says_which_head_it_is(run, name):
    dots = next(trace for trace in el.figure(run, name).data if trace.mode == "markers")
    data = json.loads(dots.to_json())["customdata"][0]
    assert clicked({"selection": {"points": [{"customdata": data}]}}) in heads_of(run)
    assert clicked({"selection": {"points": [{"customdata": {"0": 3, "1": 7, "2": ""}}]}}) == ("", 3, 7)
    assert clicked({"selection": {"points": []}}) is None


def test_the_card_of_a_head_holds_its_numbers_role_and_nearest_heads(run):
    card = head_card(run, 0, 2)
    row = run.table("average_attention").where(layer=0, head=2, target="previous")
    assert card.shares["previous"] == row["mean"][0]
    assert card.does[0] == "previous"
    assert card.entropy == run.table("entropy").where(layer=0, head=2)["all"][0]
    far = [distance for _, _, distance in card.nearest]
    assert far == sorted(far)
    assert (0, 2) not in [(layer, head) for layer, head, _ in card.nearest]
    square = run.table("distances")
    layer, head, distance = card.nearest[0]
    assert distance == square["L0·H2"][list(square.columns["head"]).index(f"L{layer}·H{head}")]


def test_a_head_that_the_run_does_not_know_is_an_error(run):
    with pytest.raises(el.EyelineError, match="says nothing of L9·H9"):
        head_card(run, 9, 9)
