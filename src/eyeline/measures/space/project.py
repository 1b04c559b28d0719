"""From many dimensions to two or three: PCA, UMAP and t-SNE of the points of one head."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from eyeline.errors import TraceError, install_hint, nearest

#: How many neighbours of a point UMAP looks at by default; it needs two points more.
NEIGHBOURS = 15
#: Name → the module it needs, the package that has it, and the fewest points it makes sense of.
METHODS: dict[str, tuple[str, str, int]] = {
    "pca": ("numpy", "numpy", 3),
    "umap": ("umap", "umap-learn", NEIGHBOURS + 2),
    "tsne": ("openTSNE", "openTSNE", 92),
}
#: From this many points on, t-SNE's repulsion is interpolated on a grid instead of summed by a tree.
INTERPOLATED = 3_000


def check_method(how: str, n_points: int | None = None, neighbours: int = NEIGHBOURS) -> None:
    """Refuse an unknown projection, one whose package is missing, or too few points for it."""
    if how not in METHODS:
        raise TraceError(f"A projection named {how!r}.", nearest(how, METHODS))
    module, package, fewest = METHODS[how]
    if find_spec(module) is None:
        raise TraceError(f"The projection {how} needs {package}, which is not installed.", install_hint("embed"))
    if how == "umap":
        fewest = neighbours + 2
    if n_points is not None and n_points < fewest:
        raise TraceError(f"{n_points} points are too few for {how}.", f"It needs at least {fewest}. Give more text, or project by pca.")


def principal_axes(points: np.ndarray, dims: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and the directions of most variance of each set of points; the largest coefficient of a direction is positive.

    points: [..., point, dim] → [..., dim], [..., dim, dims]. Constant points give directions too, along which nothing varies.

    >>> principal_axes(np.array([[0.0, 1.0], [0.0, 3.0], [0.0, 5.0]]), 1)[1][:, 0]
    array([0., 1.])
    """
    mean = points.mean(-2)
    centred = points - mean[..., None, :]
    return mean, axes_of(np.swapaxes(centred, -1, -2) @ centred, dims)


def axes_of(covariance: np.ndarray, dims: int) -> np.ndarray:
    """The directions of most variance: [..., dim, dim] → [..., dim, dims]; the largest coefficient of each is positive."""
    _, vectors = np.linalg.eigh(covariance)
    axes = vectors[..., ::-1][..., :dims]  # [..., dim, dims]
    largest = np.take_along_axis(axes, np.abs(axes).argmax(-2)[..., None, :], -2)
    return np.asarray(axes * np.where(largest < 0, -1.0, 1.0))


def project(points: np.ndarray, how: str, *, dims: int = 2, seed: int = 0, neighbours: int = NEIGHBOURS) -> np.ndarray:
    """Points [point, dim] → [point, dims], float32: by pca, umap or tsne. The same seed gives the same picture.

    neighbours   of each point, for umap: few where there are few points
    """
    check_method(how, len(points), neighbours)
    if how != "pca" and not np.ptp(points, axis=0).any():
        return np.zeros((len(points), dims), dtype=np.float32)  # a dead head: all points coincide
    if how == "pca":
        mean, axes = principal_axes(np.asarray(points, dtype=np.float64), dims)
        return np.asarray((points - mean) @ axes, dtype=np.float32)
    return _umap(points, dims, seed, neighbours) if how == "umap" else _tsne(points, dims, seed)


def _umap(points: np.ndarray, dims: int, seed: int, neighbours: int) -> np.ndarray:
    import warnings

    import umap

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="n_jobs value")  # a seed means one thread, which is what we ask for
        fitted = umap.UMAP(n_components=dims, n_neighbors=neighbours, random_state=seed, n_jobs=1).fit_transform(points)
        return np.asarray(fitted, dtype=np.float32)


def _tsne(points: np.ndarray, dims: int, seed: int) -> np.ndarray:
    import openTSNE

    # the interpolating gradient supports at most two dimensions, and its grid costs too much for few points
    gradient = "fft" if dims < 3 and len(points) >= INTERPOLATED else "bh"
    tsne = openTSNE.TSNE(n_components=dims, random_state=seed, n_jobs=-1, negative_gradient_method=gradient)
    return np.asarray(tsne.fit(np.asarray(points, dtype=np.float64)), dtype=np.float32)
