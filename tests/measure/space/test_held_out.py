"""The fidelity of fitted pictures is measured on attention that the fit did not see."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import eyeline as el
from eyeline.measure.space import fit
from eyeline.measure.space import fit as space_fit
from eyeline.measure.space.fidelity import Fidelity
from eyeline.measure.space.fit import HeadText, fit_projections, held_out_fidelity
from eyeline.measure.space.result import summarise_fidelity
from eyeline.measure.space.run import fidelity_interval
from eyeline.show.cli.space import _summary
from eyeline.words import percent
from tests.laws.statistics import tiny_model
from tests.reference.fidelity import share_of_nearest

CAPYBARA = "the brown capybara is sleeping now"


@pytest.fixture(scope="module")
def capybara() -> el.Space:
    return el.space(el.load("minilm"), [CAPYBARA], layers=[0], heads=[0, 1])


def random_text(n: int, seed: int, n_heads: int = 2) -> HeadText:
    """Attention that no vector explains: whatever a fit learns of it is of no use elsewhere."""
    generator = torch.Generator().manual_seed(seed)
    queries, keys = (torch.randn(n_heads, n, 8, generator=generator) for _ in range(2))
    return HeadText(queries, keys, torch.softmax(4 * torch.randn(n_heads, n, n, generator=generator), -1))


def test_one_short_sentence_is_not_praised_for_what_the_fit_saw(capybara):
    facts = capybara.only.facts
    apart = el.space(el.load("minilm"), [CAPYBARA], layers=[0], heads=[0, 1], background=False)
    alone = apart.only.facts
    by_heart = alone["top1_projected"].mean()  # what was shown before: the fit knows these few tokens by heart
    assert facts["top1_held_out"].mean() < by_heart - 0.1
    assert alone["top1_held_out"].mean() < by_heart - 0.1
    assert _summary(summarise_fidelity(apart.table()), apart.held_out).startswith(
        f"the most attended key is the nearest for {percent(alone['top1_held_out'].mean(), 1)} of queries on unseen text"
    )


@pytest.mark.slow
def test_a_short_text_is_fitted_with_the_built_in_paragraphs_and_the_page_says_so(capybara, tmp_path):
    assert capybara.held_out == "background"
    notice = " ".join(capybara.facts.notices)
    assert "40 built-in paragraphs" in notice
    assert "unseen" in notice
    assert len(capybara.only.query_tokens.texts) == 1
    view = el.space_view(capybara)
    assert view.spec["spaces"][0]["held_out"] == "background"
    capybara.save(tmp_path / "space.safetensors")
    assert el.runs.open_space(tmp_path).held_out == "background"


def test_the_users_text_takes_no_part_in_the_fit_that_measures_it(monkeypatch):
    seen: list[list[int]] = []

    def remember(texts, *given, **options):
        seen.append([text.queries.shape[1] for text in texts])
        return fit_projections(texts, *given, **{**options, "steps": 5, "starts": 1})

    monkeypatch.setattr(space_fit, "fit_projections", remember)
    space = el.space(el.load("minilm"), [CAPYBARA], layers=[0], heads=[0])
    alone, together = seen
    assert together == [10, *alone]
    assert len(alone) == 40
    assert np.isfinite(space.only.facts["top1_held_out"]).all()


def test_a_fit_goes_on_from_where_another_ended():
    texts = [random_text(12, 1), random_text(9, 2)]
    first = fit_projections(texts, torch.ones(2), starts=2, steps=40)
    same = fit_projections(texts, torch.ones(2), steps=0, begin=first)
    for before, second in zip(first.project(texts[0]), same.project(texts[0]), strict=True):
        assert before == pytest.approx(second, abs=1e-4)


def test_cross_validated_fidelity_is_that_of_a_loop_over_texts():
    texts = [random_text(6 + i, i) for i in range(5)]
    measured = held_out_fidelity(texts, torch.ones(2), dims=2, seed=3)
    order = torch.randperm(5, generator=torch.Generator().manual_seed(3)).tolist()
    hits, total = np.zeros(2), 0
    for fold in range(3):
        out = order[fold::3]
        rest = [texts[i] for i in range(5) if i not in out]
        fitted = fit_projections(rest, torch.ones(2), dims=2, seed=3, starts=fit.HELD_OUT_STARTS, steps=fit.HELD_OUT_STEPS)
        for i in out:
            x, y = (side.numpy() for side in fitted.project(texts[i]))
            n = texts[i].queries.shape[1]
            hits += [n * share_of_nearest(x[head], y[head], texts[i].weights[head].numpy(), 1) for head in range(2)]
            total += n
    assert measured.top1 == pytest.approx(hits / total)


def test_random_attention_is_at_chance_level_when_held_out_and_far_above_it_when_not():
    text = random_text(12, 5, n_heads=6)
    fit = fit_projections([text], torch.ones(6), dims=2)
    x, y = (side.numpy() for side in fit.project(text))
    by_heart = np.mean([share_of_nearest(x[head], y[head], text.weights[head].numpy(), 1) for head in range(6)])
    unseen = held_out_fidelity([text], torch.ones(6), dims=2, seed=0).top1.mean()
    assert by_heart > 0.5
    assert unseen < 0.25


def test_one_text_without_background_is_cross_validated_over_its_tokens():
    space = el.space(tiny_model(), ["the cat sat on the mat . it purred , and sat ."])
    assert space.held_out == "queries"
    assert "tokens of the one text" in " ".join(space.facts.notices)
    assert np.isfinite(space.only.facts["top1_held_out"]).all()


@pytest.mark.slow
def test_paragraphs_that_the_user_gave_are_left_out_of_the_background():
    space = el.space(el.load("minilm"), el.corpora.sample_text().split("\n\n")[:2], layers=[0], heads=[0])
    assert "38 built-in paragraphs" in " ".join(space.facts.notices)


@pytest.mark.parametrize("gauge", ["none", "attentionviz", "searched"])
@pytest.mark.parametrize("n_texts", [1, 2])
def test_pictures_by_pca_are_cross_validated_like_fitted_ones(gauge, n_texts):
    texts = ["the cat sat on the mat . it purred , and sat .", "a dog ran home ."][:n_texts]
    space = el.space(tiny_model(), texts, project="pca", gauge=gauge, layers=[0, 1], heads=[0, 1])
    assert space.held_out == ("texts" if n_texts > 1 else "queries")
    assert "gauge and axes were found without it" in " ".join(space.facts.notices)
    assert np.isfinite(space.only.facts["top1_held_out"]).all()
    facts = el.space_view(space).spec["spaces"][0]["stacks"][0]["layers"][0]["facts"][0]
    assert facts["top1_held_out"] is not None
    assert "top1_projected" not in facts


def test_cross_validated_pca_is_that_of_a_loop_over_texts():
    model, texts = tiny_model(), ["the cat sat on the mat . it purred , and sat .", "a dog ran home .", "it sat , and the dog ran ."]
    space = el.space(model, texts, project="pca", gauge="attentionviz", layers=[1], heads=[0], seed=3)
    hits, total = 0.0, 0
    for out in range(3):  # three texts in three folds: each is left out alone
        rest = el.space(
            model, [text for i, text in enumerate(texts) if i != out], project="pca", gauge="attentionviz", layers=[1], heads=[0]
        )
        trace = model.trace(texts[out])
        placed, n = rest.transform(trace), len(trace.only.query_text)
        hits += n * share_of_nearest(placed.queries[0, 0], placed.keys[0, 0], trace.weights[1, 0], 1)
        total += n
    assert space.only.facts["top1_held_out"][0, 0] == pytest.approx(hits / total)


@pytest.mark.parametrize(
    ("project", "gauge", "shown"),
    [
        pytest.param("umap", "none", True, marks=pytest.mark.slow),
        ("pca", "lifted", True),
        pytest.param("umap", "searched", False, marks=pytest.mark.slow),
    ],
)
def test_a_picture_that_cannot_place_unseen_text_shows_fidelity_only_where_attention_had_no_part_in_it(project, gauge, shown, tmp_path):
    texts = ["the cat sat on the mat . it purred , and sat .", "a dog ran home ."]
    space = el.space(tiny_model(), texts, project=project, gauge=gauge, layers=[0], heads=[0])
    facts = el.space_view(space).spec["spaces"][0]["stacks"][0]["layers"][0]["facts"][0]
    assert space.held_out == ("picture" if shown else "")
    assert ("top1_projected" in facts) == shown
    assert "top1_held_out" not in facts
    notices = " ".join(space.facts.notices)
    assert ("that of this picture" if shown else "No fidelity is shown") in notices
    assert (summarise_fidelity(space.table()) is not None) == shown
    page = el.runs.write_report(space.save(tmp_path), "ja").read_text(encoding="utf-8")
    assert ("この図そのものの値" if shown else "忠実度は表示しません") in page


@pytest.mark.slow
def test_one_head_projected_anew_shows_a_held_out_fidelity_or_none():
    space = el.space(tiny_model(), ["the cat sat on the mat . it purred , and sat .", "a dog ran home ."], layers=[0], heads=[0])
    assert space.project_head(0, 0, "pca", gauge="searched").held_out == "texts"
    assert space.project_head(0, 0, "umap", gauge="none").held_out == "picture"
    seen = space.project_head(0, 0, "umap", gauge="searched")
    assert (seen.held_out, np.isnan(seen.top1)) == ("", True)


def test_a_background_that_a_model_cannot_read_is_refused_only_when_requested():
    with pytest.raises(el.EyelineError, match="tokens of the built-in paragraphs"):
        el.space(tiny_model(), ["the cat sat on the mat ."], background=True)


def test_the_mean_fidelity_says_on_how_many_tokens_it_rests_and_how_sure_it_is(capybara):
    sure, table = capybara.facts.fidelity, capybara.table()
    assert sure.tokens == len(capybara.only.query_tokens)
    assert sure.low <= np.nanmean(table["top1_held_out"].astype(float)) <= sure.high
    assert f"rests on {sure.tokens} tokens" in capybara.facts.notices[-1]


def test_more_tokens_make_the_interval_narrower():
    few, many = (Fidelity(*np.zeros((3, 1)), np.tile([1.0, 0.0], n), np.ones(2 * n)) for n in (5, 500))
    (narrow, wide) = (fidelity_interval([item], 0) for item in (many, few))
    assert wide.low < narrow.low < 0.5 < narrow.high < wide.high
    assert fidelity_interval([], 0) is None
