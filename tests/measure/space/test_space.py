"""The space of queries and keys of a corpus, from a model to files and questions: every family, every gauge, every refusal."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import eyeline as el
from eyeline.measure.space import fit as space_fit
from eyeline.measure.space.capture import capture_space
from eyeline.measure.space.fit import fit_projections
from eyeline.measure.space.gauges import lifted
from eyeline.measure.space.stack import FACTS
from tests.laws.statistics import tiny_model
from tests.models.families import open_family
from tests.reference.fidelity import share_of_nearest
from tests.tiers import slow_but

TEXTS = [
    "the cat sat on the mat . it purred , and sat .",
    "a dog ran a very long way home , and it sat .",
    "dog",
    "the cat and the dog ran home , and sat on the mat .",
    "it purred .",
]
PAIRS = list(zip(TEXTS[:3], TEXTS[2:], strict=True))


def texts_for(model: el.Model) -> list:
    """Encoder-decoders without a head write nothing themselves: they are given what they wrote."""
    return PAIRS if len(model.layout.stacks) > 1 else TEXTS


@pytest.fixture
def quick_fit(monkeypatch):
    """Where what is asked does not depend on how true the picture is."""
    monkeypatch.setattr(space_fit, "fit_projections", partial(fit_projections, starts=2, steps=20))


@pytest.fixture(scope="module")
def fitted() -> el.Space:
    return el.space(tiny_model(), TEXTS)


@pytest.mark.parametrize("gauge", slow_but(["attentionviz"], ["attentionviz", "lifted", "none"]))
@pytest.mark.parametrize(
    "name", slow_but(["bert", "llama"], ["bert", "modernbert", "gpt2", "llama", "mistral", "gemma2", "gpt-oss", "t5", "marian"])
)
def test_attention_recomputed_in_any_gauge_is_the_models(name, gauge):
    model = open_family(name)
    space = el.space(model, texts_for(model), project="pca", gauge=gauge)
    assert space.facts.gauge_check.holds, space.facts.gauge_check
    assert space.facts.gauge_check.largest_difference < 1e-5
    for stack in space.stacks.values():
        assert np.isfinite(stack.keys).all()
        assert set(stack.facts) == set(FACTS)


@pytest.mark.parametrize("name", slow_but(["bert"], ["bert", "llama", "marian"]))
def test_the_lifted_space_has_the_most_attended_key_nearest_before_projection(name):
    model = open_family(name)
    for stack in el.space(model, texts_for(model), project="pca", gauge="lifted").stacks.values():
        assert stack.facts["top1_full"].min() > 0.99


@pytest.mark.slow
def test_one_scale_for_all_heads_is_one_number_and_a_scale_of_its_own_suits_a_head_better():
    own = el.space(tiny_model(), TEXTS, project="pca", gauge="attentionviz").only.facts
    shared = el.space(tiny_model(), TEXTS, project="pca", gauge="attentionviz", shared_scale=True).only.facts
    assert len(np.unique(shared["scale"])) == 1
    assert len(np.unique(own["scale"])) == 12
    assert (own["correlation_after"] <= shared["correlation_after"] + 1e-6).all()


@pytest.mark.parametrize("shift", ["vector", "constant"])
def test_the_shift_and_scale_that_were_found_are_results(shift, tmp_path):
    space = el.space(tiny_model(), TEXTS, project="pca", gauge="searched", shift=shift, layers=[1])
    space.save(tmp_path / "space.safetensors")
    opened = el.open(tmp_path / "space.safetensors")
    stack, rows = opened.stacks["encoder"], list(opened.table().rows())
    assert stack.shifts.shape == stack.vectors.keys.shape[:2] + stack.vectors.keys.shape[-1:]
    np.testing.assert_allclose([row["shift"] for row in rows], np.linalg.norm(stack.shifts, axis=-1).ravel(), rtol=1e-5)
    moved = (stack.vectors.keys + stack.shifts[:, :, None]) / stack.facts["scale"][..., None, None]  # [layer, head, key, dim]
    for i, j in np.ndindex(*stack.shifts.shape[:2]):
        if shift == "constant":
            assert np.ptp(stack.shifts[i, j]) < 1e-5
        both = np.concatenate([stack.vectors.queries[i, j] * stack.facts["scale"][i, j], moved[i, j]])
        spread = np.linalg.svd(both - both.mean(0), compute_uv=False)[:2]
        points = np.concatenate([stack.queries[i, j], stack.keys[i, j]])
        np.testing.assert_allclose(np.linalg.svd(points - points.mean(0), compute_uv=False)[:2], spread, rtol=1e-3)  # drawn in this gauge


def test_the_table_has_the_columns_that_were_promised(fitted):
    table = fitted.table()
    assert list(table.columns) == [
        "layer", "head", "scale", "shift", "correlation_before", "correlation_after", "top1_full", "top5_full", "top1_projected",
        "top5_projected", "rank_correlation", "entropy", "kl", "top1_held_out", "top5_held_out", "rank_held_out",
    ]  # fmt: skip
    assert len(table) == 12


def test_fidelity_is_that_of_the_loop(fitted):
    captured = capture_space(tiny_model(), el.corpora.Corpus.from_texts(TEXTS)).stacks["encoder"]
    for layer, head in ((0, 1), (2, 3)):
        for name, n in (("top1_projected", 1), ("top5_projected", 5)):
            shares, sizes = [], []
            for text, weights in enumerate(captured.weights):
                rows, columns = captured.rows(text)
                shares.append(
                    share_of_nearest(
                        fitted.only.queries[layer, head, rows], fitted.only.keys[layer, head, columns], weights[layer, head], n
                    )
                )
                sizes.append(rows.stop - rows.start)
            assert fitted.only.facts[name][layer, head] == pytest.approx(np.average(shares, weights=sizes))


@pytest.mark.slow
def test_fitted_is_truer_than_attentionvizs_and_freed_is_truer_than_fitted(fitted):
    theirs = el.space(tiny_model(), TEXTS, project="pca").only.facts["top1_projected"].mean()
    freed = el.space(tiny_model(), TEXTS, project="freed").only.facts
    assert theirs < fitted.only.facts["top1_projected"].mean() < freed["top1_projected"].mean()
    assert fitted.only.facts["kl"].max() < 0.1 * fitted.only.facts["entropy"].min()


def test_saved_projections_place_new_text_and_put_known_text_where_it_was(fitted, tmp_path):
    fitted.save(tmp_path / "space.safetensors")
    again = el.runs.open_space(tmp_path / "space.safetensors")
    placed = again.transform(tiny_model().trace(TEXTS[1]))
    rows = slice(*fitted.only.query_tokens.starts[1:3])
    assert placed.queries == pytest.approx(fitted.only.queries[:, :, rows], abs=1e-4)
    assert placed.keys == pytest.approx(fitted.only.keys[:, :, rows], abs=1e-4)
    new = again.transform(tiny_model().trace("a very long mat ."))
    assert new.queries.shape == (3, 4, 7, 2)
    assert np.isfinite(new.queries).all()


def test_a_space_is_read_back_as_it_was(fitted, tmp_path):
    fitted.save(tmp_path / "space.safetensors", vectors=False)
    again = el.runs.open_space(tmp_path)
    assert again.facts == fitted.facts
    assert (again.only.queries == fitted.only.queries).all()
    assert (again.only.maps == fitted.only.maps).all()
    assert again.only.query_tokens.texts == fitted.only.query_tokens.texts
    assert again.table().to_csv() == fitted.table().to_csv()
    with pytest.raises(el.EyelineError, match="its vectors were not kept"):
        again.search(0, "key", layer=0, head=0)
    data = bytearray((tmp_path / "space.safetensors").read_bytes())
    data[-5] ^= 255
    (tmp_path / "space.safetensors").write_bytes(data)
    with pytest.raises(el.EyelineError, match="damaged"):
        el.runs.open_space(tmp_path)


@pytest.mark.parametrize("side", ["key", "query"])
def test_a_search_finds_the_strongest_scores_anywhere(fitted, side):
    stack = fitted.only
    result = fitted.search(3, side, layer=1, head=2, text=1, top=4)
    token = int(stack.key_tokens.starts[1]) + 3
    q, k = stack.vectors.queries[1, 2], stack.vectors.keys[1, 2] - stack.vectors.keys[1, 2].mean(0)
    scores = {i: stack.vectors.scales[1] * float(q[i] @ k[token] if side == "key" else q[token] @ k[i]) for i in range(len(q))}
    expected = sorted(scores, key=lambda i: -scores[i])[:4]
    assert [int(stack.key_tokens.starts[item.text]) + item.position for item in result] == expected
    assert [item.score for item in result] == pytest.approx([scores[i] for i in expected], rel=1e-5)
    assert [item.token for item in result] == [stack.key_tokens.strings[i] for i in expected]


def test_a_search_is_blind_to_what_all_keys_share(fitted):
    stack = fitted.only
    shifted = replace(stack, vectors=replace(stack.vectors, keys=stack.vectors.keys.astype(np.float64) + 7))
    moved = replace(fitted, stacks={"encoder": shifted})
    for side in ("key", "query"):
        first, second = (space.search(9, side, layer=2, head=0) for space in (fitted, moved))
        assert [(actual.text, actual.position) for actual in first] == [(actual.text, actual.position) for actual in second]


def test_in_the_lifted_space_the_nearest_keys_are_those_that_a_search_finds(fitted):
    stack = fitted.only
    queries, keys = lifted(stack.vectors.queries[2, 1].astype(float), stack.vectors.keys[2, 1].astype(float))
    nearest = np.argsort(np.square(keys - queries[20]).sum(-1), kind="stable")[:6]
    outcome = fitted.search(20, "query", layer=2, head=1, top=6)
    assert [int(stack.key_tokens.starts[entry.text]) + entry.position for entry in outcome] == nearest.tolist()


def test_one_head_is_projected_when_asked_and_kept(fitted):
    picture = fitted.project_head(1, 2, "pca", gauge="attentionviz")
    assert picture is fitted.project_head(1, 2, "pca", gauge="attentionviz")
    assert picture.queries.shape == (len(fitted.only.query_tokens), 2)
    table = el.space(tiny_model(), TEXTS, project="pca", gauge="lifted")
    again = table.project_head(1, 2, "pca", gauge="lifted")
    assert again.top1 == pytest.approx(table.only.facts["top1_projected"][1, 2], abs=1e-9)
    assert again.top5 == pytest.approx(table.only.facts["top5_projected"][1, 2], abs=1e-9)


def test_values_have_words_and_sentences_but_no_fidelity():
    space = el.space(tiny_model(), TEXTS, of="values")
    assert space.only.queries is None
    assert space.only.keys.shape == (3, 4, len(space.only.key_tokens), 2)
    assert space.only.key_tokens.words[1] == "the"
    assert np.isnan(space.table()["top1_projected"].astype(float)).all()
    with pytest.raises(el.EyelineError, match="Values cannot be fitted"):
        el.space(tiny_model(), TEXTS, of="values", project="fitted")


def test_heads_that_share_keys_have_pictures_of_their_own(quick_fit):
    space = el.space(open_family("llama"), TEXTS, project="fitted", heads=[0, 1, 3], layers=[1])
    assert space.only.keys.shape[:2] == (1, 3)
    keys = space.only.vectors.keys
    assert (keys[:, 0] == keys[:, 1]).all()  # two queries' heads look at one key head
    assert not (keys[:, 0] == keys[:, 2]).all()
    assert not (space.only.keys[:, 0] == space.only.keys[:, 1]).all()


def test_an_encoder_decoder_has_a_picture_for_each_of_its_stacks(quick_fit):
    space = el.space(open_family("marian"), [("the cat sat .", "a dog ran home ."), ("it purred", "and sat")], project="fitted", layers=[1])
    assert list(space.stacks) == ["encoder", "decoder", "cross"]
    assert space.stacks["cross"].queries.shape[2] == len(space.stacks["cross"].query_tokens)
    assert space.stacks["cross"].key_tokens.texts == space.stacks["encoder"].key_tokens.texts
    assert "stack" in space.table().columns
    with pytest.raises(el.EyelineError, match="Say which: encoder, decoder, cross"):
        space.only  # noqa: B018
    run = space.run()
    for stack in space.stacks:
        assert stack in el.figure(run, f"space_pairs_{stack}").layout.title.text


def test_dot_product_against_distance_is_drawn_without_webgl_and_says_each_correlation(fitted):
    figure = el.figure(fitted.run(), "space_pairs")
    assert {trace.type for trace in figure.data} == {"scatter"}
    facts = fitted.only.facts
    numbers = f"{facts['correlation_before'][0, 0]:.2f} → {facts['correlation_after'][0, 0]:.2f}".replace("-", "\N{MINUS SIGN}")
    expected = f"L0·H0<br>correlation<br>{numbers}"
    assert expected in [annotation.text for annotation in figure.layout.annotations]


@pytest.mark.slow
def test_parts_of_speech_come_with_a_treebank(tmp_path):
    el.treebanks.write_sample(tmp_path / "sample.conllu", 6, seed=1)
    space = el.space(el.load("minilm"), el.corpora.read_corpus(tmp_path / "sample.conllu"), layers=[0], project="pca")
    assert {"NOUN", "VERB", ""} <= set(space.only.key_tokens.tag)


def test_a_search_for_no_answers_is_refused(fitted):
    with pytest.raises(el.EyelineError, match="Ask for 1 or more"):
        fitted.search(3, "key", layer=1, head=0, top=0)
