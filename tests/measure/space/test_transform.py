"""New text in a finished space: by PCA and of values too, a text of the space lands on its own points."""

from __future__ import annotations

import numpy as np
import pytest

import eyeline as el
from eyeline.errors import TraceError
from eyeline.mathematics import place_by_umap
from tests.models.families import open_family

TEXTS = ["the cat sat on the mat .", "a dog ran home and sat", "it purred , and the dog ran a very long way home !"]


def space_and_trace(name: str, **options: object) -> tuple[el.Space, el.Trace]:
    model = open_family(name)
    return el.space(model, TEXTS, **options), model.trace(TEXTS[1])


@pytest.mark.parametrize("gauge", ["attentionviz", "searched", "none"])
@pytest.mark.parametrize("name", ["bert", "llama"])
def test_a_text_of_a_pca_space_lands_on_its_own_points(name: str, gauge: str) -> None:
    space, trace = space_and_trace(name, project="pca", gauge=gauge, layers=[0, 2], heads=[1, 3])
    placed = space.transform(trace)
    rows = slice(*space.only.query_tokens.starts[1:3])
    assert space.only.queries is not None
    np.testing.assert_allclose(placed.queries, space.only.queries[:, :, rows], rtol=0, atol=1e-3)
    np.testing.assert_allclose(placed.keys, space.only.keys[:, :, rows], rtol=0, atol=1e-3)
    n = len(trace.only.query_text)
    assert repr(placed).endswith(f", 2 x 2 heads, {n} queries and {n} keys>")  # and not all of its numbers


def test_a_text_of_a_space_of_values_lands_on_its_own_points(tmp_path) -> None:
    space, trace = space_and_trace("llama", of="values")
    space.save(tmp_path / "space.safetensors")
    for each in (space, el.open(tmp_path / "space.safetensors")):
        placed = each.transform(trace)
        rows = slice(*each.only.key_tokens.starts[1:3])
        np.testing.assert_allclose(placed.keys, each.only.keys[:, :, rows], rtol=0, atol=1e-3)
        assert placed.queries.shape[2] == 0


@pytest.mark.slow
def test_new_points_are_placed_where_umap_learn_places_them() -> None:
    import umap

    generator = np.random.default_rng(0)
    points, new = (generator.normal(size=(n, 6)) + generator.integers(0, 2, (n, 1)) * 6 for n in (80, 7))
    reducer = umap.UMAP(n_components=2, n_neighbors=15, random_state=3, n_jobs=1).fit(points)
    np.testing.assert_allclose(place_by_umap(points, reducer.embedding_, new, seed=3), reducer.transform(new), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"gauge": "attentionviz"}, {"of": "values"}], ids=str)
def test_a_text_of_a_umap_space_lands_near_its_own_points(options: dict[str, str], tmp_path) -> None:
    space, trace = space_and_trace("bert", project="umap", layers=[1], heads=[2], **options)
    space.save(tmp_path / "space.safetensors")
    rows = slice(*space.only.key_tokens.starts[1:3])
    own, every = space.only.keys[0, 0, rows], space.only.keys[0, 0]
    first, second = (each.transform(trace) for each in (space, el.open(tmp_path / "space.safetensors")))
    np.testing.assert_array_equal(first.keys, second.keys)  # the saved space places it where the space itself does
    apart = np.linalg.norm(own[:, None] - every[None], axis=-1)
    assert np.median(np.linalg.norm(first.keys[0, 0] - own, axis=-1)) < np.median(apart)
    assert first.queries.shape[2] == (0 if "of" in options else len(trace.only.query_text))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"project": "umap", "gauge": "lifted"}, "depends on all keys"),
        ({"project": "pca", "gauge": "lifted"}, "the gauge lifted is not linear"),
        ({"of": "shared"}, "what enters each layer"),
    ],
)
def test_spaces_without_a_linear_projection_say_why(options: dict[str, str], why: str) -> None:
    space, trace = space_and_trace("bert", **options)
    with pytest.raises(TraceError, match=why):
        space.transform(trace)
