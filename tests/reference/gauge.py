"""The correlation of dot product and distance over all pairs, written out slowly: one long list of pairs."""

from __future__ import annotations

import math

import numpy as np


def weighted_correlation(x: list[float], y: list[float], weights: list[float]) -> float:
    """Pearson's correlation, each pair counted with its weight."""
    total = sum(weights)
    mean_x = sum(w * a for w, a in zip(weights, x, strict=True)) / total
    mean_y = sum(w * b for w, b in zip(weights, y, strict=True)) / total
    xy = sum(w * (a - mean_x) * (b - mean_y) for w, a, b in zip(weights, x, y, strict=True))
    xx = sum(w * (a - mean_x) ** 2 for w, a in zip(weights, x, strict=True))
    yy = sum(w * (b - mean_y) ** 2 for w, b in zip(weights, y, strict=True))
    return xy / math.sqrt(xx * yy)


def distance_correlation(texts: list[tuple[np.ndarray, np.ndarray, np.ndarray]], c: float = 1.0) -> float:
    """texts: queries [query, dim], keys [key, dim] and attention [query, key] of each text, for one head."""
    x, y, w = [], [], []
    for queries, keys, weights in texts:
        for i, query in enumerate(queries):
            for j, key in enumerate(keys):
                x.append(float(query @ key))
                y.append(float(np.linalg.norm(c * query - key / c)))
                w.append(float(weights[i, j]))
    return weighted_correlation(x, y, w)


def plane_of(points: np.ndarray, dims: int) -> np.ndarray:
    """The directions of greatest variance of these points, one after the other by power iteration: [dims, dim]."""
    left = points - points.mean(0)
    directions = []
    for _ in range(dims):
        direction = np.linspace(1, 2, points.shape[1])
        for _ in range(5000):
            direction = left.T @ (left @ direction)
            direction = direction / math.sqrt(float(direction @ direction))
        directions.append(direction)
        left = left - np.outer(left @ direction, direction)
    return np.array(directions)


def pair_distance(query: np.ndarray, key: np.ndarray, distance: str) -> float:
    """The Euclidean or the cosine distance of two vectors, coordinate by coordinate."""
    if distance == "euclidean":
        return math.sqrt(sum((float(a) - float(b)) ** 2 for a, b in zip(query, key, strict=True)))
    product, first, second = (
        sum(float(a) * float(b) for a, b in zip(*sides, strict=True)) for sides in ((query, key), (query, query), (key, key))
    )
    return 1 - product / math.sqrt(first * second)
