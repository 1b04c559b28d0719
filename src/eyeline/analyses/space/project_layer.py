"""The heads of one layer by PCA, UMAP or t-SNE; for PCA also the projections that put any other token into the same picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eyeline.analyses.progress import ReportStep
from eyeline.analyses.space.gauge import LayerGauge
from eyeline.measures.space.project import check_method, principal_axes, project
from eyeline.results.facts import SpaceOptions
from eyeline.results.space.stack import LinearProjections


@dataclass(frozen=True)
class AffineGauge:
    """A gauge that is a shift and a scale: queries · scale, (keys + shift) / scale. scale: [head], shift: [head, dim]"""

    scale: np.ndarray
    shift: np.ndarray

    @classmethod
    def none(cls, heads: int, dim: int) -> AffineGauge:
        return cls(np.ones(heads), np.zeros((heads, dim)))

    @classmethod
    def between(cls, keys: np.ndarray, gauged: LayerGauge) -> AffineGauge:
        """The gauge that was found, from the keys before and after it: [head, key, dim]."""
        return cls(gauged.scale, gauged.keys[:, 0] * gauged.scale[:, None] - keys[:, 0].astype(np.float64))


@dataclass(frozen=True)
class LayerPicture:
    """queries [head, query, dims], keys [head, key, dims]; the projections of each head [head, …] where the picture is linear."""

    queries: np.ndarray
    keys: np.ndarray
    projections: LinearProjections | None


def project_layer(
    queries: np.ndarray, keys: np.ndarray, options: SpaceOptions, gauge: AffineGauge | None, report: ReportStep | None
) -> LayerPicture:
    """Heads in their gauge, [head, query, dim] and [head, key, dim]. gauge: None where it is no shift and scale (lifted)."""
    how, dims, n_queries = options.project, options.dims, queries.shape[1]
    both = np.concatenate([queries, keys], -2)  # [head, point, dim]
    check_method(how, both.shape[-2])
    if how == "pca":
        mean, axes = principal_axes(both, dims)
        points = ((both - mean[:, None]) @ axes).astype(np.float32)
        projections = None if gauge is None else _projections_of_pca(gauge, mean, axes)
        return LayerPicture(points[:, :n_queries], points[:, n_queries:], projections)
    projected = []
    for head, vectors in enumerate(both):
        projected.append(project(vectors, how, dims=dims, seed=options.seed))
        if report is not None:
            report(head + 1, len(both))
    points = np.stack(projected)
    return LayerPicture(points[:, :n_queries], points[:, n_queries:], None)


def stacked_projections(pictures: Sequence[LayerPicture]) -> LinearProjections | None:
    """The projections of all layers, where every layer has some."""
    projections = [picture.projections for picture in pictures if picture.projections is not None]
    if len(projections) < len(pictures):
        return None
    return LinearProjections(
        *(np.stack([getattr(each, name) for each in projections]) for name in ("query", "key", "offset", "key_offset"))
    )


def _projections_of_pca(gauge: AffineGauge, mean: np.ndarray, axes: np.ndarray) -> LinearProjections:
    """x = (c·q − mean)·axes, y = ((k + shift)/c − mean)·axes"""
    scale = gauge.scale[:, None]
    middle = np.einsum("hd,hde->he", mean, axes)
    return LinearProjections(
        query=axes * scale[..., None],
        key=axes / scale[..., None],
        offset=-middle,
        key_offset=np.einsum("hd,hde->he", gauge.shift / scale, axes) - middle,
    )
