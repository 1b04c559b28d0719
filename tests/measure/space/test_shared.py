"""One space for all heads and layers: the scores in it are the model's own, or it says how far they are not."""

from __future__ import annotations

import numpy as np
import pytest

import eyeline as el
from eyeline.errors import ModelError, TraceError
from eyeline.measure.space.capture import CapturedStack, capture_space
from eyeline.measure.space.shared import PulledBack, measure_rotation, shared_picture
from tests.models.families import open_family

TEXTS = ["the cat sat on the mat .", "a dog ran home and sat", "it purred , and the dog ran a very long way home !"]


def captured(name: str, heads: list[int] | None = None) -> CapturedStack:
    (stack,) = capture_space(open_family(name), el.corpora.Corpus.of(TEXTS), shared=True, heads=heads).stacks.values()
    return stack


@pytest.mark.parametrize("name", ["bert", "gpt2", "distilbert", "opt"])
def test_pulled_back_dot_products_are_the_recorded_ones(name: str) -> None:
    stack = captured(name)
    assert stack.shared is not None
    layers = PulledBack(stack, stack.shared)
    for index in range(len(stack.layers)):
        layer, bias, scale = layers.layer(index), stack.shared.biases[index], stack.vectors.scales[index]
        queries, keys = stack.vectors.queries[index], stack.vectors.keys[index]
        constant = 0 if bias is None else scale * np.einsum("hqd,hd->hq", queries, bias)[..., None]
        np.testing.assert_allclose(layer.queries @ layer.keys.T + constant, scale * queries @ keys.transpose(0, 2, 1), rtol=0, atol=1e-4)


def test_the_embedded_models_scores_are_exact_and_the_notice_says_so(minilm: el.Model) -> None:
    space = el.space(minilm, ["The cat sat on the mat.", "It purred all day."], of="shared", layers=[1, 4], heads=[0, 5])
    assert space.only.facts["score_error"].max() < 1e-4
    assert space.only.facts["score_correlation"].min() > 0.99999
    assert space.facts is not None
    assert "It is exact" in " ".join(space.facts.notices)
    assert list(space.run().table("space_shared").columns) == ["layer", "head", "score_correlation", "score_error"]


@pytest.mark.parametrize(("name", "lowest"), [("llama", 0.3), ("modernbert", 0.3), ("gpt-neox", 0.3), ("qwen3", 0.3)])
def test_rotary_models_are_measured_and_said_to_be_approximate(name: str, lowest: float) -> None:
    space = el.space(open_family(name), TEXTS, of="shared")
    correlation = space.only.facts["score_correlation"]
    assert lowest < correlation.mean() < 0.9999
    assert space.facts is not None
    notice = " ".join(space.facts.notices)
    assert "approximate" in notice
    assert f"{correlation.mean():.2f}" in notice


@pytest.mark.parametrize("name", ["llama", "gpt-neox"])
def test_rotation_is_read_off_the_keys(name: str) -> None:
    stack = captured(name)
    assert stack.shared is not None
    plain = PulledBack(stack, stack.shared).plain_keys(1)
    rotation = measure_rotation(plain, stack.vectors.keys[1].astype(float), stack.key_tokens.position)
    turned = (plain[..., rotation.first] + 1j * plain[..., rotation.second]) * rotation.turns[stack.key_tokens.position]
    np.testing.assert_allclose(turned.real, stack.vectors.keys[1][..., rotation.first], atol=1e-4)
    np.testing.assert_allclose(turned.imag, stack.vectors.keys[1][..., rotation.second], atol=1e-4)


def test_keys_of_a_layer_are_the_same_points_for_all_heads_and_all_share_one_projection() -> None:
    picture = shared_picture(captured("bert"), "pca", "none", dims=2, seed=0)
    assert picture.keys.shape[:2] == picture.queries.shape[:2] == (3, 4)
    np.testing.assert_array_equal(picture.keys[:, 0], picture.keys[:, 3])
    alone = shared_picture(captured("bert", heads=[2]), "pca", "none", dims=3, seed=0)
    assert alone.queries.shape[1] == 1
    assert alone.queries.shape[-1] == 3


def test_the_lifted_gauge_keeps_the_order_of_attention_in_every_head() -> None:
    picture = shared_picture(captured("bert"), "pca", "lifted", dims=2, seed=0)
    assert picture.facts["top1_full"].min() == 1.0


def test_every_query_stands_on_a_ring_around_the_keys_in_its_own_direction() -> None:
    picture = shared_picture(captured("bert"), "pca", "ring", dims=2, seed=0)
    radius = np.linalg.norm(picture.queries, axis=-1)
    assert radius.min() == pytest.approx(radius.max())
    assert radius.max() == pytest.approx(1.5 * np.linalg.norm(picture.keys, axis=-1).max())


def test_a_lifted_picture_keeps_the_order_of_scores_along_its_directions() -> None:
    picture = shared_picture(captured("bert"), "pca", "lifted", dims=3, seed=0)
    query, keys = picture.queries[1, 2, 4], picture.keys[1, 2]
    order = np.argsort(-(keys[:, :2] @ query[:2]))
    assert (np.diff(np.linalg.norm(keys[order] - query, axis=-1)) > -1e-9).all()


def test_heads_that_share_keys_have_their_own_queries() -> None:
    space = el.space(open_family("llama"), TEXTS, of="shared", heads=[1, 2])
    assert space.only.queries is not None
    assert not np.allclose(space.only.queries[:, 0], space.only.queries[:, 1])


def test_every_kind_of_attention_of_an_encoder_decoder_has_its_space() -> None:
    space = el.space(open_family("bart"), [("the cat sat", "a dog ran"), ("it purred .", "the mat")], of="shared")
    assert set(space.stacks) == {"encoder", "decoder", "cross"}
    assert all(stack.facts["score_error"].max() < 1e-3 for stack in space.stacks.values())


def test_models_without_a_linear_projection_to_keys_are_refused() -> None:
    with pytest.raises(ModelError, match="no linear module before the attention"):
        el.space(open_family("deepseek-v3"), TEXTS, of="shared")


def test_what_does_not_go_with_one_space_is_refused() -> None:
    model = open_family("bert")
    for given, why in (
        ({"project": "fitted"}, "a fit is of one head"),
        ({"gauge": "searched"}, "Choices: ring, lifted, attentionviz, none"),
    ):
        with pytest.raises(TraceError, match=why):
            el.space(model, TEXTS, of="shared", **given)


def test_all_heads_and_layers_stand_on_the_same_axes_in_the_view() -> None:
    space = el.space(open_family("bert"), TEXTS, of="shared")
    view = el.space_view(space)
    stack = view.spec["spaces"][0]["stacks"][0]
    points = np.stack([view.arrays[layer["points"]].decode() for layer in stack["layers"]]).astype(float)  # [layer, head, point, dims]
    assert space.only.queries is not None
    both = np.concatenate([space.only.queries, space.only.keys], axis=2)
    factor = np.ptp(points[..., 0]) / np.ptp(both[..., 0])
    shown, true = (np.linalg.norm(cloud[0, 0, 3] - cloud[2, 1, 5]) for cloud in (points, both))
    assert shown == pytest.approx(factor * true, rel=0.01)
    assert space.facts is not None
    assert view.spec["notices"] == list(space.facts.notices)


def test_a_shared_space_is_saved_and_opened_again(tmp_path) -> None:
    space = el.space(open_family("bert"), TEXTS, of="shared")
    space.save(tmp_path / "run")
    again = el.open(tmp_path / "run")
    assert again.of == "shared"
    np.testing.assert_array_equal(again.only.keys, space.only.keys)
    np.testing.assert_array_equal(again.only.facts["score_error"], space.only.facts["score_error"])


@pytest.mark.slow
@pytest.mark.parametrize("how", ["umap", "tsne"])
def test_all_heads_and_layers_are_projected_at_once_by_umap_and_tsne(how: str) -> None:
    space = el.space(open_family("bert"), TEXTS, of="shared", project=how)
    assert space.only.queries is not None
    assert np.isfinite(space.only.queries).all()
    np.testing.assert_array_equal(space.only.keys[:, 0], space.only.keys[:, 1])


def test_more_points_than_umap_takes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eyeline.measure.space.shared.MOST_POINTS", 100)
    with pytest.raises(TraceError, match="points of all heads and layers"):
        el.space(open_family("bert"), TEXTS, of="shared", project="umap")
