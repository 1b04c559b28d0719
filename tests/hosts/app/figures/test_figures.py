"""The figures of a run on the page: a point names a head, and a head has its card."""

from __future__ import annotations

import json

import pytest

import eyeline as el
from eyeline.heads import HeadRef
from eyeline.hosts.app.corpus import run_view
from eyeline.hosts.app.messages import Say
from eyeline.plots.clickable_cells import head_from
from eyeline.plots.figures import figure
from eyeline.results.head_card import head_card, heads_of
from eyeline.sample.text import sample_text


@pytest.fixture(scope="module")
def run(minilm):
    texts = sample_text().split("\n\n")[:4]
    return el.analyse(minilm, texts, [el.statistics.AverageAttention(), el.statistics.Entropy(), el.statistics.HeadDistances()])


@pytest.mark.parametrize("name", ["average_attention", "entropy", "head_map"])
def test_a_dot_says_which_head_it_is(run, name):
    dots = next(trace for trace in el.figure(run, name).data if trace.mode == "markers")
    data = json.loads(dots.to_json())["customdata"][0]
    assert head_from(data) in heads_of(run)


def test_the_card_of_a_head_holds_its_numbers_role_and_nearest_heads(run):
    card = head_card(run, 0, 2)
    row = run.table("average_attention").where(layer=0, head=2, target="previous")
    assert card.shares["previous"] == row["mean"][0]
    assert card.does[0] == "previous"
    assert card.entropy == run.table("entropy").where(layer=0, head=2)["all"][0]
    far = [near.divergence for near in card.nearest]
    assert far == sorted(far)
    assert HeadRef("", 0, 2) not in [near.head for near in card.nearest]
    square = run.table("distances")
    near = card.nearest[0]
    assert near.divergence == square["L0·H2"][list(square.columns["head"]).index(str(near.head))]


def test_a_head_that_the_run_does_not_know_is_an_error(run):
    with pytest.raises(el.EyelineError, match="says nothing of L9·H9"):
        head_card(run, 9, 9)


def test_only_the_open_tab_is_drawn_and_nothing_is_drawn_twice(script, run, tmp_path, monkeypatch):
    drawn: list[str] = []

    def draw(run, name, style):
        drawn.append(name)
        return figure(run, name, style)

    monkeypatch.setattr("eyeline.hosts.app.figures.figures.figure", draw)
    at = script("runs")
    run.save(tmp_path / "workspace" / "runs" / "mine")
    at.run()
    assert drawn == ["average_attention"]
    at.selectbox(key="head-mine").select_index(5).run()  # what a click on a point does
    assert drawn == ["average_attention"]
    at.session_state["tabs-mine-en"] = Say("en")("figure.entropy.title")
    at.run()
    assert drawn == ["average_attention", "entropy"]


def test_the_card_is_sent_before_the_figures_which_take_longer_to_draw(script, run, tmp_path, monkeypatch):
    sent: list[str] = []
    card, show = run_view._card, run_view.figures.show
    monkeypatch.setattr(run_view, "_card", lambda *arguments: (sent.append("card"), card(*arguments)))
    monkeypatch.setattr(run_view.figures, "show", lambda *arguments, **options: (sent.append("figure"), show(*arguments, **options)))
    at = script("runs")
    run.save(tmp_path / "workspace" / "runs" / "mine")
    at.run()
    assert sent == ["card", "figure"]
