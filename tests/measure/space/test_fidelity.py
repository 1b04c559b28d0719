"""Whether near means attends, against an obvious loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyeline import EyelineError
from eyeline.mathematics import check_method, principal_axes, project
from eyeline.measure.space.fidelity import nearness, rank_correlation, rank_of_most_attended
from tests.reference.fidelity import mean_rank_correlation, share_of_nearest


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 12), m=st.integers(1, 12), dims=st.integers(1, 3), causal=st.booleans())
def test_shares_and_correlations_are_those_of_the_loop(seed, n, m, dims, causal):
    generator = np.random.default_rng(seed)
    queries, keys, weights = generator.normal(size=(n, dims)), generator.normal(size=(m, dims)), generator.dirichlet(np.ones(m), size=n)
    visible = np.tril(np.ones((n, m), dtype=bool)) if causal else None
    if visible is not None:
        weights = np.where(visible, weights, 0)
    near = nearness(queries, keys)
    ranks = rank_of_most_attended(near, weights, visible)
    valid = ranks >= 0
    for n_nearest in (1, 5):
        expected = share_of_nearest(queries, keys, weights, n_nearest, visible)
        if np.isnan(expected):
            assert not valid.any()
        else:
            assert (ranks[valid] < n_nearest).mean() == pytest.approx(expected)
    order = rank_correlation(near, weights, visible)
    if np.isfinite(order).any():
        assert np.nanmean(order) == pytest.approx(mean_rank_correlation(queries, keys, weights, visible))


def test_a_picture_whose_points_coincide_is_not_praised_for_it():
    weights = np.array([[0.1, 0.7, 0.2]])
    near = nearness(np.zeros((1, 2)), np.zeros((3, 2)))
    assert rank_of_most_attended(near, weights).tolist() == [2]
    assert np.isnan(rank_correlation(near, weights)).all()


def test_a_head_that_attends_to_all_alike_has_no_most_attended_key():
    near = nearness(np.ones((1, 2)), np.arange(6.0).reshape(3, 2))
    assert rank_of_most_attended(near, np.full((1, 3), 1 / 3)).tolist() == [-1]
    assert rank_of_most_attended(near[:, :1], np.ones((1, 1))).tolist() == [-1]


def test_any_of_several_keys_attended_most_may_be_the_nearest():
    near = np.array([[1.0, 3.0, 2.0]])
    assert rank_of_most_attended(near, np.array([[0.4, 0.4, 0.2]])).tolist() == [0]


def test_principal_axes_are_those_of_the_singular_values_and_have_a_sign():
    points = np.random.default_rng(0).normal(size=(50, 6)) * [9, 1, 5, 1, 1, 1]
    mean, axes = principal_axes(points, 2)
    _, _, expected = np.linalg.svd(points - points.mean(0))
    assert np.abs(np.sum(axes.T * expected[:2], axis=1)) == pytest.approx([1, 1])
    assert (np.take_along_axis(axes, np.abs(axes).argmax(0)[None], 0) > 0).all()
    assert project(points, "pca") == pytest.approx((points - mean) @ axes, abs=1e-4)


@pytest.mark.parametrize(("how", "n"), [("umap", 16), ("tsne", 91), ("pca", 2)])
def test_too_few_points_are_refused_in_words(how, n):
    with pytest.raises(EyelineError, match=f"{n} points are too few for {how}"):
        check_method(how, n)


def test_an_unknown_projection_names_the_nearest():
    with pytest.raises(EyelineError, match="Did you mean tsne"):
        check_method("tnse")


@pytest.mark.parametrize("how", ["pca", pytest.param("umap", marks=pytest.mark.slow), pytest.param("tsne", marks=pytest.mark.slow)])
def test_constant_points_are_projected_to_one_point(how):
    result = project(np.ones((100, 5)), how)
    assert result.shape == (100, 2)
    assert np.ptp(result, axis=0).max() < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(("how", "dims"), [("umap", 2), ("tsne", 2), ("tsne", 3)])
def test_the_same_seed_gives_the_same_picture_and_groups_stay_together(how, dims):
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 50)
    points = rng.normal(size=(100, 8)) + 30 * group[:, None]
    first, again = (project(points, how, dims=dims, seed=3) for _ in range(2))
    assert first.shape == (100, dims)
    assert (first == again).all()
    middle = np.stack([first[group == g].mean(0) for g in (0, 1)])
    nearer = np.linalg.norm(first[:, None] - middle, axis=-1).argmin(1)
    assert (nearer == group).all()
