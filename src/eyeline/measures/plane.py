"""Points in a plane whose distances are like given ones: metric multidimensional scaling."""

from __future__ import annotations

import numpy as np

#: What stands for a distance of zero where it divides, as in scikit-learn.
INSTEAD_OF_ZERO = 1e-5


def metric_mds(distances: np.ndarray, seed: int, starts: int = 5, most_steps: int = 1000, least_gain: float = 1e-9) -> np.ndarray:
    """[item, item] → [item, 2]: the points with the smallest stress Σ_{i<j} (d[i, j] − δ[i, j])², d in the plane, δ as given.

    SMACOF (Guttman transform), the best of several random starts:

        x′[i] = 1/n · Σ_j δ[i, j] / d[i, j] · (x[i] − x[j])

    A start ends when a step lowers its stress by less than `least_gain` of Σ_{i<j} d². Steps and starts are those of scikit-learn's MDS,
    which takes two to three times as long: it computes every pair twice and checks its input at every step. Source: de Leeuw 1977.

    >>> corners = np.array([[0.0, 1.0, 2**0.5, 1.0], [1.0, 0.0, 1.0, 2**0.5], [2**0.5, 1.0, 0.0, 1.0], [1.0, 2**0.5, 1.0, 0.0]])
    >>> points = metric_mds(corners, seed=0)
    >>> np.linalg.norm(points[0] - points[2]).round(3)
    np.float64(1.414)
    """
    from scipy.spatial.distance import squareform

    pairs = squareform(distances, checks=False)  # [pair of items]
    draw = np.random.RandomState(seed)
    results = [_from_start(draw.uniform(size=len(distances) * 2).reshape(-1, 2), pairs, most_steps, least_gain) for _ in range(starts)]
    return min(results, key=lambda result: result[1])[0]


def _from_start(points: np.ndarray, pairs: np.ndarray, most_steps: int, least_gain: float) -> tuple[np.ndarray, float]:
    """The last points of one start, and their stress."""
    from scipy.spatial.distance import pdist, squareform

    in_plane, stress = pdist(points), np.inf  # [pair of items]
    for _ in range(most_steps):
        ratios = squareform(pairs / np.where(in_plane == 0, INSTEAD_OF_ZERO, in_plane), checks=False)  # [item, item]
        points = (ratios.sum(1)[:, None] * points - ratios @ points) / len(points)
        in_plane = pdist(points)
        last, stress = stress, float(np.square(in_plane - pairs).sum())  # a product of vectors would start threads for each step
        if last - stress < least_gain * float(np.square(in_plane).sum()):
            break
    return points, stress
