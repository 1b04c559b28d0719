"""Where the value layouts of an attention graph other than PCA put each token: UMAP, or a linear reducer that is trained on the text."""

from __future__ import annotations

import numpy as np

from eyeline.measures.space.project import NEIGHBOURS, project
from eyeline.words import Words

REDUCERS = ("umap", "learned")
#: The least number of neighbours for UMAP.
FEWEST_NEIGHBOURS = 3


def reduced(values: np.ndarray, how: str, language: str = "en") -> tuple[np.ndarray, str]:
    """values: [token, dim] → [token, 2], and a line for the heading that names the method, in this language.

    umap      UMAP of the value vectors (umap-learn), seed 0; of a short text with fewer neighbours than usual
    learned   the linear projection whose distances are nearest to those between the values, trained from the principal components on
    """
    neighbours = max(FEWEST_NEIGHBOURS, min(NEIGHBOURS, len(values) - 2))
    points = np.asarray(project(values, "umap", neighbours=neighbours), dtype=np.float64) if how == "umap" else learned_plane(values)
    kept = distance_correlation(values, points)
    return points, Words(language)(f"figure.graph.{how}", neighbours=neighbours, kept=f"{kept:.2f}")


def learned_plane(values: np.ndarray) -> np.ndarray:
    """values W with W = argmin Σ_ij (|W x_i − W x_j| − |x_i − x_j|)², from the principal components, by L-BFGS."""
    from scipy.optimize import minimize

    centred = np.asarray(values, dtype=np.float64) - values.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    start = np.zeros((centred.shape[1], 2))
    start[:, : min(2, len(axes))] = axes[:2].T
    rows, columns = np.triu_indices(len(centred), 1)
    differences = centred[rows] - centred[columns]  # [pair, dim]
    distances = np.linalg.norm(differences, axis=1)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        projected = differences @ flat.reshape(-1, 2)
        lengths = np.linalg.norm(projected, axis=1)
        error = lengths - distances
        gradient = differences.T @ (projected * (2 * error / np.maximum(lengths, 1e-12))[:, None])
        return float(error @ error), gradient.ravel()

    best = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
    return np.asarray(centred @ best.reshape(-1, 2))


def distance_correlation(values: np.ndarray, points: np.ndarray) -> float:
    """The correlation between the distances of all pairs before and after; 0 where one of them does not vary."""
    rows, columns = np.triu_indices(len(values), 1)
    before, after = (np.linalg.norm(part[rows] - part[columns], axis=1) for part in (values, points))
    return float(np.corrcoef(before, after)[0, 1]) if len(rows) > 1 and before.std() and after.std() else 0.0
