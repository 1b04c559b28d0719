"""Pictures fitted to attention: the best two-dimensional attention head, for every head at once, in torch."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
import torch

from eyeline.measure.runs.progress import ReportStep, Steps
from eyeline.measure.space.capture import CapturedStack, text_pairs, vectors_of
from eyeline.measure.space.fidelity import FOLDS, Fidelity, HeldOutOptions, TextPicture, fidelity, folds, held_out_axes
from eyeline.measure.space.gauges import Agreement, AllPairs, find_scale, shift_keys
from eyeline.measure.space.options import SpaceOptions
from eyeline.measure.space.stack import LinearProjections, is_cross_validated, is_measured_as_it_is

#: Steps on all texts together after the fit on the built-in paragraphs.
STEPS_FROM_BACKGROUND = 150


@dataclass(frozen=True)
class FittedPictures:
    """Where the fitted projections put the queries and keys (freed: where they moved from there).

    queries, keys  [layer, head, query or key, dims]
    kl             [layer, head]: nats lost
    held_out       top1, top5, rank [layer, head], on attention that a fit did not see
    """

    queries: np.ndarray
    keys: np.ndarray
    linear: LinearProjections
    kl: np.ndarray
    held_out: Fidelity


def fitted(stack: CapturedStack, background: CapturedStack | None, *, free: bool, dims: int, seed: int, steps: Steps) -> FittedPictures:
    """The pictures of the stack's texts, fitted to them and to the background where there is one."""
    texts, shape = head_texts(stack), (len(stack.layers), len(stack.heads))
    background_texts = [] if background is None else head_texts(background)
    scales = torch.tensor(stack.vectors.scales).repeat_interleave(shape[1])
    begin, report = None, steps.begin("fitting")
    if background_texts:  # first the paragraphs alone: a fit that has not seen the texts, and a good start for all together
        begin = fit_projections(background_texts, scales, dims=dims, seed=seed, run=Parallel(report))
        run = Parallel(steps.begin("holding_out"))
        projections = fit_projections(
            [*texts, *background_texts], scales, dims=dims, seed=seed, steps=STEPS_FROM_BACKGROUND, begin=begin, run=run
        )
        held_out = fidelity(pictures_of(texts, begin), (len(scales),))
    else:
        projections = fit_projections(texts, scales, dims=dims, seed=seed, run=Parallel(report))
        held_out = held_out_fidelity(texts, scales, dims=dims, seed=seed, report=steps.begin("holding_out"))
    points = free_texts(texts, projections, run=Parallel(steps.begin("freeing"))) if free else list(map(projections.project, texts))
    rows = sum(text.queries.shape[1] for text in texts)
    kl = torch.stack([divergence(text, x, y).sum(-1) for text, (x, y) in zip(texts, points, strict=True)]).sum(0) / rows
    queries, keys = (torch.cat(side, 1).numpy() for side in zip(*points, strict=True))
    return FittedPictures(
        queries.reshape(*shape, *queries.shape[1:]),
        keys.reshape(*shape, *keys.shape[1:]),
        _linear(projections, shape),
        kl.numpy().reshape(shape),
        replace(held_out, **{name: getattr(held_out, name).reshape(shape) for name in ("top1", "top5", "rank")}),
    )


def head_texts(stack: CapturedStack) -> list[HeadText]:
    """The texts as input of the fit: layers and heads along one axis."""
    n = len(stack.layers) * len(stack.heads)
    queries, keys = (
        torch.from_numpy(vectors.reshape(n, *vectors.shape[2:])).float() for vectors in (stack.vectors.queries, stack.vectors.keys)
    )
    texts = []
    for text, weights in enumerate(stack.weights):
        rows, columns = stack.rows(text)
        visible = stack.visible[text]
        if visible is not None and (visible == visible[:1]).all():
            visible = visible[:1]
        elif visible is not None:
            visible = np.repeat(visible, len(stack.heads), axis=0)  # [layer · head, query, key]
        flat = torch.from_numpy(np.nan_to_num(weights)).float().reshape(n, *weights.shape[2:])
        if not stack.plain:  # where a sink takes a share, the rest is scaled to 1
            flat = flat / flat.sum(-1, keepdim=True).clamp_min(torch.finfo(flat.dtype).tiny)
        shown = None if visible is None else torch.from_numpy(visible)
        texts.append(HeadText(queries[:, rows].contiguous(), keys[:, columns].contiguous(), flat, shown))
    return texts


def _linear(projections: PlaneProjections, shape: tuple[int, int]) -> LinearProjections:
    parts = (projections.query, projections.key, projections.offset)
    return LinearProjections(*(part.numpy().reshape(*shape, *part.shape[1:]) for part in parts))


# ---- The fit


#: First several starts for a few steps each, then the best of them to the end: the loss has many valleys.
STARTS, FIRST_STEPS, LAST_STEPS = 12, 60, 500

FIRST_RATE, LAST_RATE = 0.2, 0.1

#: One step uses texts of about this many tokens.
STEP_TOKENS = 400

#: Directions with less than this share of the largest variance are left out.
FLAT = 1e-4


def fit_projections(
    texts: Sequence[HeadText],
    scales: torch.Tensor,
    *,
    dims: int = 2,
    seed: int = 0,
    starts: int = STARTS,
    steps: int = LAST_STEPS,
    begin: PlaneProjections | None = None,
    run: RunParts = map,
) -> PlaneProjections:
    """The projections of every head: every query becomes x = q·W_q + c and every key y = k·W_k in the picture, such that

        mean_i KL( α_i ‖ softmax_j( −‖x_i − y_j‖² ) )        softmax over the keys of i's own text that it may see

    is least: near means attends. The projections are linear, so that they apply to unseen tokens too. Seeded; the number of threads does
    not matter.

    scales   [head], what q·k is multiplied with
    begin    projections of similar texts to start from, instead of the random starts
    run      how parts of the heads are computed
    """
    n_heads, _, dim = texts[0].queries.shape
    generator = torch.Generator().manual_seed(seed)
    directions = torch.randn(starts, n_heads, dim, dims, generator=generator)  # drawn for all heads, however they are split up

    def fit(heads: slice) -> PlaneProjections:
        fit = _Fit([text.of(heads) for text in texts], scales[heads], dims, seed)
        if begin is not None:
            return fit.continue_from(PlaneProjections(begin.query[heads], begin.key[heads], begin.offset[heads]), steps)
        return fit.run(directions[:, heads], steps)

    parts = list(run(fit, in_chunks(n_heads)))
    return PlaneProjections(*(torch.cat([getattr(part, name) for part in parts]) for name in ("query", "key", "offset")))


class _Fit:
    """One chunk of heads. Queries and keys are whitened first, so that one rate suits every direction."""

    def __init__(self, texts: list[HeadText], scales: torch.Tensor, dims: int, seed: int) -> None:
        self.dims, self.seed = dims, seed
        self.query_mean, self.query_white, query_root = _whitening([text.queries for text in texts])
        self.key_mean, self.key_white, key_root = _whitening([text.keys for text in texts])
        self.texts = [
            HeadText(
                torch.bmm(text.queries - self.query_mean, self.query_white),
                torch.bmm(text.keys - self.key_mean, self.key_white),
                text.weights,
                text.visible,
            )
            for text in texts
        ]
        # the score itself between whitened vectors, as matched pairs of directions: [head, dim, dim], [head, dim]
        self.query_root, self.key_root = query_root, key_root
        self.left, strengths, right = torch.linalg.svd(query_root @ key_root.mT * scales[:, None, None])
        self.right, self.roots = right.mT, (strengths / 2).sqrt()[:, None]

    def run(self, directions: torch.Tensor, steps: int) -> PlaneProjections:
        tried = []
        for number, direction in enumerate(directions):
            turn, _ = torch.linalg.qr(direction)  # [head, dim, dims]
            start = [self.left * self.roots @ turn, self.right * self.roots @ turn, turn.new_zeros(len(turn), self.dims)]
            tried.append(self._descend(start, FIRST_STEPS, FIRST_RATE, self.seed + number, 0.3) if len(directions) > 1 else start)
        losses = torch.stack([self._loss(parameters) for parameters in tried])  # [start, head]
        best = torch.nan_to_num(losses, nan=math.inf).argmin(0)
        every = torch.arange(len(best))
        chosen = [torch.stack(parts)[best, every] for parts in zip(*tried, strict=True)]
        return self._finish(chosen, steps)

    def continue_from(self, begin: PlaneProjections, steps: int) -> PlaneProjections:
        """From projections that were fitted before, here between whitened vectors."""
        offset = begin.offset + (self.query_mean @ begin.query)[:, 0] - (self.key_mean @ begin.key)[:, 0]
        return self._finish([self.query_root @ begin.query, self.key_root @ begin.key, offset], steps)

    def _finish(self, parameters: Tensors, steps: int) -> PlaneProjections:
        query, key, offset = self._descend(parameters, steps, LAST_RATE, self.seed, 0.0)
        query, key = self.query_white @ query, self.key_white @ key
        return PlaneProjections(query, key, offset - (self.query_mean @ query)[:, 0] + (self.key_mean @ key)[:, 0])

    def _descend(self, parameters: Tensors, steps: int, rate: float, seed: int, end: float) -> Tensors:
        """Adam on mini-batches of whole texts; the rate falls as a cosine to `end` of itself."""
        order = _batches([text.queries.shape[1] for text in self.texts], torch.Generator().manual_seed(seed))

        def gradients(_: int) -> Tensors:
            query, key, offset = parameters
            sums = [torch.zeros_like(parameter) for parameter in parameters]
            rows = 0.0
            for number in next(order):
                text = self.texts[number]
                x, y = torch.baddbmm(offset[:, None], text.queries, query), text.keys @ key
                gx, gy, seeing = gradients_of(text, x, y)
                for total, part in zip(sums, (text.queries.mT @ gx, text.keys.mT @ gy, gx.sum(1)), strict=True):
                    total += part
                rows += seeing
            return [total / max(rows, 1.0) for total in sums]

        adam(parameters, gradients, steps, rate, end)
        return parameters

    def _loss(self, parameters: Tensors) -> torch.Tensor:
        """Cross-entropy of every head: the divergence, less what does not depend on the projections."""
        projections = PlaneProjections(parameters[0], parameters[1], parameters[2])
        return torch.stack([divergence(text, *projections.project(text)).sum(-1) for text in self.texts]).sum(0)


def _batches(lengths: Sequence[int], generator: torch.Generator) -> Iterator[list[int]]:
    """Endless mini-batches of texts, about STEP_TOKENS tokens each, every text once before any comes again."""
    batch: list[int] = []
    size = 0
    while True:
        for number in torch.randperm(len(lengths), generator=generator).tolist():
            batch.append(number)
            size += lengths[number]
            if size >= STEP_TOKENS or len(batch) >= len(lengths):
                yield batch
                batch, size = [], 0


def _whitening(parts: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Mean [head, 1, dim], W with cov(v·W) = 1 and R with W·R = 1, both [head, dim, dim]; flat directions are zero in W and R."""
    count = sum(part.shape[1] for part in parts)
    mean = torch.stack([part.sum(1) for part in parts]).sum(0)[:, None] / count
    moments = torch.stack([(part - mean).mT @ (part - mean) for part in parts]).sum(0) / count
    values, vectors = torch.linalg.eigh(moments)
    largest = values[:, -1:]
    kept = (values > FLAT * largest) & (largest > 0)
    root = values.clamp_min(torch.finfo(values.dtype).tiny).sqrt() * kept  # [head, dim]
    inverse = torch.where(kept, 1 / root.clamp_min(torch.finfo(values.dtype).tiny), torch.zeros_like(root))
    return mean, vectors * inverse[:, None], (vectors * root[:, None]).mT


# ---- Points that move on their own after the linear projection, to show the attention of these texts better


#: Steps, rate (of the points' spread) and pull of the freed points.
FREE_STEPS, FREE_RATE, PULL = 120, 0.1, 0.002

#: This share of the attention that the freed points are to show is put on each query's most attended key. The whole distribution is shown
#: a little less exactly, and the most attended key comes nearest more often.
FOCUS = 0.2


def free_texts(texts: Sequence[HeadText], projections: PlaneProjections, *, run: RunParts = map) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The points of every text, freed: each text by itself, since no query looks beyond its own."""
    n_heads = len(projections.offset)
    jobs = [(text, heads) for text in texts for heads in in_chunks(n_heads)]

    def free(job: tuple[HeadText, slice]) -> tuple[torch.Tensor, torch.Tensor]:
        text, heads = job[0].of(job[1]), job[1]
        part = PlaneProjections(projections.query[heads], projections.key[heads], projections.offset[heads])
        return free_points(text, *part.project(text))

    parts = list(run(free, jobs))
    each = len(jobs) // len(texts)
    return [
        (torch.cat([x for x, _ in parts[first : first + each]]), torch.cat([y for _, y in parts[first : first + each]]))
        for first in range(0, len(parts), each)
    ]


def free_points(text: HeadText, x: torch.Tensor, y: torch.Tensor, *, steps: int = FREE_STEPS) -> tuple[torch.Tensor, torch.Tensor]:
    """The points of one text, freed from the linear projections that put them at x [head, query, dims] and y [head, key, dims].

        Σ_i KL( α'_i ‖ softmax_j( −‖x_i − y_j‖² ) )  +  pull · (Σ ‖x − x⁰‖² + Σ ‖y − y⁰‖²) / spread²

    where α' is the attention with FOCUS of it put on the most attended key.
    """
    text = _focused(text)
    both = torch.cat([x, y], 1)
    spread = (both - both.mean(1, keepdim=True)).square().mean((1, 2), keepdim=True).sqrt().clamp_min(1e-6)  # [head, 1, 1]
    start = [x, y]
    points = [x.clone(), y.clone()]

    def gradients(_: int) -> Tensors:
        gx, gy, _rows = gradients_of(text, *points)
        return [g * spread + 2 * PULL * (p - p0) / spread for g, p, p0 in zip((gx, gy), points, start, strict=True)]

    adam(points, gradients, steps, FREE_RATE * spread)
    return points[0], points[1]


def _focused(text: HeadText) -> HeadText:
    top = text.weights.argmax(-1, keepdim=True)  # [head, query, 1]
    seen = text.weights.gather(-1, top) > 0
    weights = (text.weights * (1 - FOCUS)).scatter_add_(-1, top, FOCUS * seen.to(text.weights.dtype))
    return HeadText(text.queries, text.keys, weights, text.visible)


# ---- Fidelity on attention that was not used in the fit: only this predicts the fidelity on other text
# With the built-in paragraphs: fitted on them alone, measured on the user's texts (`fitted`). Otherwise cross-validated: over texts,
# each measured by projections that were fitted without it (by PCA: in a gauge and along axes found without it); of one text, over its
# queries.


#: The fits of cross-validation use fewer starts and take fewer steps: a lower bound, in less time.
HELD_OUT_STARTS, HELD_OUT_STEPS = 4, 300


def held_out_by(options: SpaceOptions, n_texts: int, *, background: bool) -> str:
    """How the fidelity shown is held out: by the background, over texts, over queries; picture: attention has no part in the picture,
    which is measured as it is; "": no fidelity is shown."""
    what = options.of, options.project, options.gauge
    if is_cross_validated(*what):
        return "background" if background else "texts" if n_texts > 1 else "queries"
    return "picture" if is_measured_as_it_is(*what) else ""


def held_out_fidelity(
    texts: Sequence[HeadText], scales: torch.Tensor, *, dims: int, seed: int, report: ReportStep | None = None
) -> Fidelity:
    """The fidelity of every head [head], cross-validated."""
    parts = list(_parts(texts, seed))

    def pictures() -> Iterator[TextPicture]:
        for fold, (seen, unseen) in enumerate(parts):

            def within(done: int, of: int | None, tokens: int = 0, fold: int = fold) -> None:
                if report is not None:
                    report(fold * (of or 0) + done, len(parts) * (of or 0), tokens)

            projections = fit_projections(
                seen, scales, dims=dims, seed=seed, starts=HELD_OUT_STARTS, steps=HELD_OUT_STEPS, run=Parallel(within)
            )
            yield from pictures_of(unseen, projections)

    return fidelity(pictures(), (len(scales),))


def pictures_of(texts: Sequence[HeadText], projections: PlaneProjections) -> Iterator[TextPicture]:
    """The texts where the projections put them."""
    for text in texts:
        x, y = projections.project(text)
        yield TextPicture(x.numpy(), y.numpy(), text.weights.numpy(), None if text.visible is None else text.visible.numpy())


def _parts(texts: Sequence[HeadText], seed: int) -> Iterator[tuple[list[HeadText], list[HeadText]]]:
    """What a fit sees, and what it is measured on."""
    generator = torch.Generator().manual_seed(seed)
    n_queries = texts[0].queries.shape[1]
    order = torch.randperm(len(texts) if len(texts) > 1 else n_queries, generator=generator)
    for fold in range(min(FOLDS, len(order))):
        out = set(order[fold::FOLDS].tolist())
        if len(texts) > 1:
            yield [text for i, text in enumerate(texts) if i not in out], [text for i, text in enumerate(texts) if i in out]
        elif len(out) < n_queries:
            kept = [i for i in range(n_queries) if i not in out]
            yield [_queries_of(texts[0], kept)], [_queries_of(texts[0], sorted(out))]


def _queries_of(text: HeadText, rows: list[int]) -> HeadText:
    """The text with these queries alone; all keys stay."""
    visible = None if text.visible is None else text.visible[:, rows]
    return HeadText(text.queries[:, rows], text.keys, text.weights[:, rows], visible)


def held_out_pca(stack: CapturedStack, options: SpaceOptions) -> Fidelity:
    """top1, top5, rank [layer, head] of a space by PCA in a gauge that is a shift and a scale."""
    agreement = Agreement.of(options)
    scales = _shared_scales(stack, options.seed) if options.shared_scale and options.gauge == "attentionviz" else None
    how = HeldOutOptions(options.gauge, agreement, options.dims, options.seed, scales)
    by_layer = []
    for layer in range(len(stack.layers)):
        visible = [None if text is None else text[layer][None] for text in stack.visible]  # [1, query, key]
        weights = [np.asarray(text[layer]) for text in stack.weights]
        pairs = text_pairs(stack, layer)
        by_layer.append(held_out_axes(*vectors_of(stack, layer), pairs, weights, visible, how))
    top1, top5, rank = (np.stack([getattr(each, name) for each in by_layer]) for name in ("top1", "top5", "rank"))
    hits, of = (np.sum([getattr(each, name) for each in by_layer], 0) for name in ("hits", "of"))
    return Fidelity(top1, top5, rank, hits, of)


def _shared_scales(stack: CapturedStack, seed: int) -> list[float]:
    """Of each fold, the one c of all layers and heads that its texts give."""
    every = [text_pairs(stack, layer) for layer in range(len(stack.layers))]
    by_layer = [list(folds(texts, seed)) for texts in every]
    scales = []
    for number in range(len(by_layer[0])):
        pairs = []
        for layer, parts in enumerate(by_layer):
            fold, (queries, keys) = parts[number], vectors_of(stack, layer)
            seen = queries[:, fold.rows], keys[:, fold.columns]
            pairs.append(AllPairs(*seen, fold.seen, (seen[0], shift_keys(*seen))))

        def mean(c: np.ndarray, pairs: list[AllPairs] = pairs) -> np.ndarray:
            correlations = [each.correlation(c) for each in pairs]
            return np.asarray(np.nanmean(correlations) if np.isfinite(correlations).any() else np.nan)

        scales.append(float(find_scale(mean, ())[0]))
    return scales


# ---- How far a picture is from the attention it shows, and the gradient of that
# A query lies at x, a key at y, and near means attends.


#: Heads that are worked on together: a text's maps of this many heads stay in a core's cache.
TOGETHER = 24

Tensors = list[torch.Tensor]


@dataclass(frozen=True)
class HeadText:
    """One text as every head sees it. queries [head, query, dim], keys [head, key, dim], weights [head, query, key];
    visible: [1 or head, query, key], True where a query may look; None: everywhere."""

    queries: torch.Tensor
    keys: torch.Tensor
    weights: torch.Tensor
    visible: torch.Tensor | None = None

    def of(self, heads: slice) -> HeadText:
        visible = self.visible if self.visible is None or len(self.visible) == 1 else self.visible[heads]
        return HeadText(self.queries[heads], self.keys[heads], self.weights[heads], visible)


@dataclass(frozen=True)
class PlaneProjections:
    """x = q · query + offset, y = k · key: query, key [head, dim, dims], offset [head, dims]."""

    query: torch.Tensor
    key: torch.Tensor
    offset: torch.Tensor

    def project(self, text: HeadText) -> tuple[torch.Tensor, torch.Tensor]:
        """[head, query, dims], [head, key, dims]"""
        return torch.baddbmm(self.offset[:, None], text.queries, self.query), text.keys @ self.key


def divergence(text: HeadText, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """KL( α_i ‖ softmax_j( −‖x_i − y_j‖² ) ) of every query, over the keys of its own text that it may see: [head, query], in nats."""
    logs = torch.log_softmax(logits_of(text, x, y), -1)
    weights = text.weights
    terms = weights * (weights.clamp_min(torch.finfo(weights.dtype).tiny).log() - logs)
    return terms.masked_fill(weights <= 0, 0).sum(-1)


def logits_of(text: HeadText, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """−‖x − y‖² + ‖x‖², which has the same softmax as −‖x − y‖²: [head, query, key]; hidden keys lowest."""
    logits = torch.baddbmm(-y.square().sum(-1)[:, None], x, y.mT, alpha=2)
    return logits if text.visible is None else logits.masked_fill_(~text.visible, torch.finfo(logits.dtype).min)


def gradients_of(text: HeadText, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, float]:
    """Of the sum over queries of the divergence, by x and by y, and how many queries see a key at all.

    g = softmax − α, whose rows sum to 0:  ∂x_i = 2 Σ_j g_ij y_j,   ∂y_j = 2 Σ_i g_ij (x_i − y_j).
    """
    g = torch.softmax(logits_of(text, x, y), -1).sub_(text.weights)  # [head, query, key]
    rows = float(x.shape[1])
    if text.visible is not None:
        seeing = text.visible.any(-1, keepdim=True)  # [1 or head, query, 1]
        g.mul_(seeing)
        rows = float(seeing.float().mean(0).sum())
    gx = 2 * torch.bmm(g, y)
    back = torch.bmm(torch.cat([x, torch.ones_like(x[..., :1])], -1).mT, g).mT  # [head, key, dims + 1]
    return gx, 2 * (back[..., :-1] - y * back[..., -1:]), rows


def adam(parameters: Tensors, gradients: Callable[[int], Tensors], steps: int, rate: float | torch.Tensor, end: float = 0.0) -> None:
    """Adam in place, ten steps of warming up, then a cosine down to `end` of the rate."""
    first, second = ([torch.zeros_like(parameter) for parameter in parameters] for _ in range(2))
    for step in range(steps):
        share = (end + (1 - end) * 0.5 * (1 + math.cos(math.pi * step / steps))) * min(1.0, (step + 1) / 10)
        for parameter, m, v, g in zip(parameters, first, second, gradients(step), strict=True):
            m.mul_(0.9).add_(g, alpha=0.1)
            v.mul_(0.99).addcmul_(g, g, value=0.01)
            parameter -= rate * share * (m / (1 - 0.9 ** (step + 1))) / ((v / (1 - 0.99 ** (step + 1))).sqrt() + 1e-8)


def in_chunks(n_heads: int) -> list[slice]:
    """Heads in equal parts of at most TOGETHER, an even number of parts where there are several."""
    parts = -(-n_heads // TOGETHER)
    size = -(-n_heads // (parts + parts % 2 if parts > 1 else parts))
    return [slice(first, min(first + size, n_heads)) for first in range(0, n_heads, size)]


# ---- Parts of the heads on several cores


J = TypeVar("J")

T = TypeVar("T")


class RunParts(Protocol):
    """Runs `work` on every job and gives the results in order, as the built-in `map` does."""

    def __call__(self, work: Callable[[J], T], jobs: Sequence[J], /) -> Iterator[T]: ...


class Parallel:
    """Runs the parts of a computation as `map` does, each on a core of its own, in order; torch's own threads would wait for each other
    after each of many small steps. report: called after each part."""

    def __init__(self, report: ReportStep | None = None) -> None:
        self.report = report

    def __call__(self, work: Callable[[J], T], jobs: Sequence[J]) -> Iterator[T]:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with ThreadPoolExecutor(max(1, min(threads, os.cpu_count() or 1))) as pool:
                for done, result in enumerate(pool.map(work, jobs), start=1):
                    yield result
                    if self.report is not None:
                        self.report(done, len(jobs))
        finally:
            torch.set_num_threads(threads)
