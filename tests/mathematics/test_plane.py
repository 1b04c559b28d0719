"""Points in a plane by metric scaling: the same as scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest

from eyeline.mathematics import metric_mds


def distances_of(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - points[None], axis=-1)


@pytest.mark.parametrize(("n", "dims", "seed"), [(3, 2, 0), (12, 2, 1), (40, 5, 2), (72, 7, 3)])
def test_the_points_are_those_of_scikit_learn(n: int, dims: int, seed: int) -> None:
    from sklearn.manifold import MDS

    square = distances_of(np.random.default_rng(seed).normal(size=(n, dims)))
    theirs = MDS(
        n_components=2, metric_mds=True, metric="precomputed", n_init=5, init="random", max_iter=1000, eps=1e-9, random_state=seed, n_jobs=1
    ).fit_transform(square)
    np.testing.assert_allclose(metric_mds(square, seed), theirs, atol=1e-9)


def test_items_at_the_same_point_stay_finite() -> None:
    square = np.zeros((5, 5))
    square[4, :4] = square[:4, 4] = 1
    points = metric_mds(square, 0)
    assert np.isfinite(points).all()
    np.testing.assert_allclose(distances_of(points)[4, :4], 1, atol=0.02)
    assert np.isfinite(metric_mds(np.zeros((4, 4)), 0)).all()
