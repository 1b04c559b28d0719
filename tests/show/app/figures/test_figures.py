"""The figures of a run on the page: a point names a head, and a head has its card."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import eyeline as el
from eyeline.figures import FIGURES, figure
from eyeline.measure.corpus.catalogue import STATISTICS, statistics_named
from eyeline.measure.heads.profile import heads_of, profile_of
from eyeline.measure.runs.figure import head_from
from eyeline.show.app import corpus_run
from eyeline.show.app.jobs.corpus import FIRST, analyses
from eyeline.words import Words
from tests.laws.statistics import tiny_model

#: The figures of the Corpus page.
CORPUS = (
    "average_attention", "importance", "causes", "causes_sharpness", "pruning", "faithfulness", "patching", "circuit", "entropy",
    "head_map", "distances",
)  # fmt: skip


@pytest.fixture(scope="module")
def run(minilm):
    texts = el.corpora.sample_text().split("\n\n")[:4]
    return el.analyse(minilm, texts, [el.statistics.AverageAttention(), el.statistics.Entropy(), el.statistics.HeadDistances()])


@pytest.mark.parametrize("name", ["average_attention", "entropy", "head_map"])
def test_a_dot_says_which_head_it_is(run, name):
    dots = next(trace for trace in el.figure(run, name).data if trace.mode == "markers")
    data = json.loads(dots.to_json())["customdata"][0]
    assert head_from(data) in heads_of(run)


def test_the_card_of_a_head_holds_its_numbers_role_and_nearest_heads(run):
    card = profile_of(run, el.HeadRef("", 0, 2))
    row = run.table("average_attention").where(layer=0, head=2, target="previous")
    assert card.shares["previous"] == row["mean"][0]
    assert card.role.name == "previous"
    assert card.entropy == run.table("entropy").where(layer=0, head=2)["all"][0]
    far = [near.divergence for near in card.nearest]
    assert far == sorted(far)
    assert el.HeadRef("", 0, 2) not in [near.head for near in card.nearest]
    square = run.table("distances")
    near = card.nearest[0]
    assert near.divergence == square["L0·H2"][list(square.columns["head"]).index(str(near.head))]


def test_analyses_and_figures_are_in_the_order_that_users_know(run):
    assert analyses() == ("average_attention", "entropy", "position_alone", "distances", "importance", "max_logit", "head_scores", "causes")
    assert analyses()[:4] == FIRST
    tables = {record.table: run.table("entropy") for name, record in FIGURES.items() if name in CORPUS}
    assert corpus_run.in_order(el.Run(run.facts, tables)) == list(CORPUS)


def test_a_statistic_and_a_figure_that_are_only_in_their_tables_are_on_the_page(monkeypatch):
    class LargestWeight(el.statistics.Entropy):
        name = "largest_weight"

    class OfHeads(LargestWeight):
        name = "of_heads"

        def __init__(self, heads):
            super().__init__()

    for kind in (LargestWeight, OfHeads):
        monkeypatch.setitem(STATISTICS, kind.name, kind)
    monkeypatch.setitem(FIGURES, "largest", replace(FIGURES["entropy"], name="largest", table="largest_weight"))
    assert "largest_weight" in analyses()
    assert "of_heads" not in analyses(), "it cannot be made from its name alone"
    run = el.analyse(tiny_model(), ["the cat sat"], statistics_named(["entropy", "largest_weight"]))
    assert corpus_run.in_order(run) == ["largest", "entropy"]


def test_a_head_that_the_run_does_not_know_is_an_error(run):
    with pytest.raises(el.EyelineError, match="says nothing of L9·H9"):
        profile_of(run, el.HeadRef("", 9, 9))


def test_only_the_open_tab_is_drawn_and_nothing_is_drawn_twice(script, run, tmp_path, monkeypatch):
    drawn: list[str] = []

    def draw(run, name, style):
        drawn.append(name)
        return figure(run, name, style)

    monkeypatch.setattr("eyeline.show.app.kit.figures.figure", draw)
    at = script("runs")
    run.save(tmp_path / "workspace" / "runs" / "mine")
    at.run()
    assert drawn == ["average_attention"]
    at.selectbox(key="head-mine").select_index(5).run()  # what a click on a point does
    assert drawn == ["average_attention"]
    at.session_state["tabs-mine-en"] = Words("en")("figure.entropy.title")
    at.run()
    assert drawn == ["average_attention", "entropy"]


def test_the_card_is_sent_before_the_figures_which_take_longer_to_draw(script, run, tmp_path, monkeypatch):
    sent: list[str] = []
    card, show = corpus_run._card, corpus_run.figures.show
    monkeypatch.setattr(corpus_run, "_card", lambda *arguments: (sent.append("card"), card(*arguments)))
    monkeypatch.setattr(corpus_run.figures, "show", lambda *arguments, **options: (sent.append("figure"), show(*arguments, **options)))
    at = script("runs")
    run.save(tmp_path / "workspace" / "runs" / "mine")
    at.run()
    assert sent == ["card", "figure"]
