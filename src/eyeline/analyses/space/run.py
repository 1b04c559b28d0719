"""The space of queries and keys of a corpus: captured, put in a gauge, projected, and measured (`el.space`)."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eyeline.analyses.engines.choose import check_engine
from eyeline.analyses.engines.engine import Engine
from eyeline.analyses.prepare import unknown_tokens
from eyeline.analyses.progress import ReportProgress, ReportStep, Steps
from eyeline.analyses.provenance import corpus_facts, provenance
from eyeline.analyses.space.background import capture_background, is_wanted
from eyeline.analyses.space.capture import Captured, CapturedStack, capture_space
from eyeline.analyses.space.facts import mean_entropy, most_attended, stack_fidelity, whole_maps
from eyeline.analyses.space.fit import fitted
from eyeline.analyses.space.gauge import gauge_error, gauge_layer, pair_rows, shared_scale, some_pairs
from eyeline.analyses.space.gauge_table import gauge_rows
from eyeline.analyses.space.held_out import held_out_by, held_out_pca
from eyeline.analyses.space.notices import fidelity_interval, fidelity_notices, gauge_notices, shared_notices
from eyeline.analyses.space.options import check_options, check_seed
from eyeline.analyses.space.project_layer import AffineGauge, LayerPicture, project_layer, stacked_projections
from eyeline.analyses.space.shared import shared_picture
from eyeline.errors import TraceError
from eyeline.measures.space.fidelity import Fidelity
from eyeline.measures.space.project import METHODS
from eyeline.measures.space.search_gauge import Agreement
from eyeline.models.model import Model, check_model
from eyeline.results.facts import GaugeCheck, RunFacts, SpaceOptions, StackCheck
from eyeline.results.space.gauge_row import GaugeRow
from eyeline.results.space.shown_fidelity import HELD_OUT, is_cross_validated, is_measured_as_it_is
from eyeline.results.space.space import Space
from eyeline.results.space.stack import LinearProjections, SpaceStack
from eyeline.text.corpora.corpus import Corpus, Item

#: The steps that a projection reports for each stack, after the texts are read.
STEPS_OF_A_STACK = {"fitted": 2, "freed": 3, "pca": 0, "umap": 1, "tsne": 1}
#: How far attention recomputed from gauged vectors may differ from the model's.
GAUGE_WITHIN = 1e-5


def space(
    model: Model,
    corpus: Corpus | Sequence[Item],
    *,
    of: str = "queries-keys",
    project: str | None = None,
    gauge: str | None = None,
    dims: int = 2,
    shared_scale: bool = False,
    distance: str = "euclidean",
    correlate: str = "full",
    background: bool | None = None,
    layers: Iterable[int] | None = None,
    heads: Collection[int] | None = None,
    limit: int | None = None,
    max_tokens: int | None = None,
    seed: int = 0,
    engine: Engine | str = "local",
    progress: ReportProgress | None = None,
) -> Space:
    """The queries and keys of every head of a corpus in one picture, and how far each picture can be trusted.

    of            queries-keys; values: the value vectors of every head; shared: one space for all heads and layers, in which keys are the
                  vectors that enter each layer and queries are pulled back to them
    project       fitted (near means attends), freed (fitted, then each point of these texts moved by itself), pca, umap or tsne;
                  unless given: fitted; of values and shared pca
    gauge         lifted (distances in the order of attention), attentionviz (theirs), searched (their shift and scale
                  searched together) or none; unless given: ring for shared (queries around the keys), lifted for fitted
                  and freed, which need none, attentionviz else
    dims          2 or 3
    shared_scale  of attentionviz: one scale for all heads instead of one for each
    distance      of searched: euclidean or cosine, the distance that should follow the dot product
    correlate     of searched: full, or plane: the distance is that in the picture's PCA plane
    background    of fitted and freed: whether the built-in paragraphs are used in the fit; unless given: where the texts have fewer than
                  1,000 tokens. Fidelity is then that of projections fitted on the paragraphs alone; else it is cross-validated
    layers, heads which; all unless given
    limit, max_tokens, seed   as in `analyse`
    engine        where the texts go through the model: "local" (this process), "processes", "ray", or el.Ray(workers=8, …); the
                  numbers are the same. Pictures are made in this process
    progress      called after each batch of texts, then while heads are fitted or projected (`analyses.progress`)

    >>> import eyeline as el
    >>> texts = ["The cat sat on the mat.", "A dog ran home.", "It rained all day, and nobody came."]
    >>> space = el.space(el.load(), texts, layers=[0], heads=[0, 1])
    >>> space.only.queries.shape, space.project
    ((1, 2, 27, 2), 'fitted')
    """
    check_model(model)
    check_engine(engine)
    corpus = Corpus.of(corpus)
    chosen = check_options(of, project, gauge, dims, shared_scale, Agreement(distance, correlate, dims))
    how = chosen.project
    check_seed(seed)
    options = SpaceOptions(
        of, how, chosen.gauge, dims, shared_scale,
        None if layers is None else tuple(layers), None if heads is None else tuple(sorted(heads)), limit, max_tokens, seed, background,
        distance, correlate,
    )  # fmt: skip
    given = {"layers": options.layers, "heads": heads, "limit": limit, "max_tokens": max_tokens, "seed": seed, "engine": engine}
    steps = Steps(progress, 1 + (1 if of == "shared" else STEPS_OF_A_STACK[how]) * len(model.layout.stacks))
    report = steps.begin("texts")
    captured = capture_space(model, corpus, values=of == "values", shared=of == "shared", report=report, **given)  # type: ignore[arg-type]
    background_stack = None
    if how not in METHODS and is_wanted(captured, background):
        background_stack = capture_background(model, captured, layers=options.layers, heads=heads, required=background is True)
    return space_of(captured, provenance(model, corpus_facts(corpus), options), options, steps, background_stack)


def space_of(
    captured: Captured, facts: RunFacts, options: SpaceOptions, steps: Steps | None = None, background: CapturedStack | None = None
) -> Space:
    """A space from what was captured: so that one pass over a corpus serves several gauges and projections."""
    started = time.monotonic()
    steps = steps or Steps(None)
    measured = {name: _stack(stack, options, steps, background) for name, stack in captured.stacks.items()}
    stacks, checks = ({name: getattr(item, what) for name, item in measured.items()} for what in ("stack", "check"))
    interval = fidelity_interval([item.shown for item in measured.values() if item.shown is not None], options.seed)
    errors = [check.error for check in checks.values() if check is not None]
    facts = replace(
        facts,
        counts=dict(captured.counts),
        dropped=captured.folded.dropped,
        engine=captured.folded.engine,
        notices=(
            *facts.notices,
            *unknown_tokens(captured.counts),
            *fidelity_notices(captured, options, background, interval),
            *gauge_notices(stacks, options),
            *shared_notices(captured, stacks),
        ),
        seconds={"capture": round(captured.seconds, 3), "space": round(time.monotonic() - started, 3)},
        fidelity=interval,
        gauge_check=GaugeCheck(max(errors), GAUGE_WITHIN, max(errors) <= GAUGE_WITHIN, checks) if errors else None,
    )
    by = held_out_by(options, min(len(stack.weights) for stack in captured.stacks.values()), background=background is not None)
    gauges: list[GaugeRow] = []
    if options.of == "queries-keys" and options.project in METHODS:
        gauges = [row for stack in captured.stacks.values() for row in gauge_rows(stack, options.dims)]
    return Space(facts.model.name, options.of, options.project, options.gauge, options.dims, stacks, facts, by, tuple(gauges))


@dataclass(frozen=True)
class _MeasuredStack:
    """A stack of the space; shown: the fidelity that readers are shown, if any."""

    stack: SpaceStack
    check: StackCheck | None = None
    shown: Fidelity | None = None


def _stack(stack: CapturedStack, options: SpaceOptions, steps: Steps, background: CapturedStack | None) -> _MeasuredStack:
    if options.of == "values":
        return _MeasuredStack(_values(stack, options, steps))
    if options.of == "shared":
        return _MeasuredStack(_shared(stack, options, steps))
    n_points = len(stack.query_tokens) + len(stack.key_tokens)
    if n_points < 2 * (options.dims + 1):
        raise TraceError(f"{n_points // 2} tokens are too few for a picture in {options.dims} dimensions.", "Give more text.")
    pairs = some_pairs(stack, options.seed)
    agreement = Agreement(options.distance, options.correlate, options.dims)
    c = shared_scale(stack) if options.shared_scale and options.gauge == "attentionviz" else None
    shape = (len(stack.layers), len(stack.heads))
    unknown = ("scale", "correlation_before", "correlation_after", "top1_full", "top5_full", "kl", *HELD_OUT)
    facts = {name: np.full(shape, np.nan) for name in unknown}
    projected: list[LayerPicture] = []
    report = steps.begin(options.project) if STEPS_OF_A_STACK[options.project] and options.project in METHODS else None
    shown: list[dict[str, float]] = []
    error = 0.0
    for layer in range(len(stack.layers)):
        gauged = gauge_layer(stack, layer, options.gauge, c, agreement)
        error = max(error, gauge_error(stack, layer, gauged))
        facts["scale"][layer], facts["correlation_before"][layer], facts["correlation_after"][layer] = (
            gauged.scale,
            gauged.before,
            gauged.after,
        )
        full = stack_fidelity(stack, slice(layer, layer + 1), gauged.queries[None], gauged.keys[None], order=False)
        facts["top1_full"][layer], facts["top5_full"][layer] = full.top1[0], full.top5[0]
        shown += pair_rows(stack, layer, gauged, pairs)
        if options.project in METHODS:
            affine = AffineGauge.between(stack.vectors.keys[layer], gauged) if options.gauge != "lifted" else None
            projected.append(project_layer(gauged.queries, gauged.keys, options, affine, _of_layer(report, layer, *shape)))
    linear: LinearProjections | None = None
    held_out: Fidelity | None = None
    if options.project in METHODS:
        queries, keys = (np.stack([getattr(picture, side) for picture in projected]) for side in ("queries", "keys"))
        linear = stacked_projections(projected)
    else:
        pictures = fitted(stack, background, free=options.project == "freed", dims=options.dims, seed=options.seed, steps=steps)
        queries, keys, linear, facts["kl"] = pictures.queries, pictures.keys, pictures.linear, pictures.kl
        held_out = pictures.held_out
    seen = stack_fidelity(stack, slice(None), queries, keys)
    if options.project == "pca" and is_cross_validated(options.of, options.project, options.gauge):
        held_out = held_out_pca(stack, options)
    elif is_measured_as_it_is(options.of, options.project, options.gauge):
        held_out = seen
    if held_out is not None:
        facts |= dict(zip(HELD_OUT, (held_out.top1, held_out.top5, held_out.rank), strict=True))
    facts |= {
        "top1_projected": seen.top1,
        "top5_projected": seen.top5,
        "rank_correlation": seen.rank,
        "entropy": mean_entropy(stack),
    }
    check = StackCheck(error, stack.plain)
    columns = {name: np.array([row[name] for row in shown]) for name in shown[0]}
    whole = _space_stack(stack, _Points.of_pairs(stack, queries, keys), facts, linear, columns)
    return _MeasuredStack(whole, check, held_out)


def _shared(stack: CapturedStack, options: SpaceOptions, steps: Steps) -> SpaceStack:
    picture = shared_picture(
        stack, options.project, options.gauge, dims=options.dims, seed=options.seed, report=steps.begin(options.project)
    )
    seen = stack_fidelity(stack, slice(None), picture.queries, picture.keys)
    facts = picture.facts | {"top1_projected": seen.top1, "top5_projected": seen.top5, "rank_correlation": seen.rank}
    facts |= dict.fromkeys(HELD_OUT, np.full(seen.top1.shape, np.nan)) | {"entropy": mean_entropy(stack)}
    if is_measured_as_it_is(options.of, options.project, options.gauge):
        facts |= dict(zip(HELD_OUT, (seen.top1, seen.top5, seen.rank), strict=True))
    result = _space_stack(stack, _Points.of_pairs(stack, picture.queries, picture.keys), facts)
    return replace(result, query_norms=picture.query_norms, key_norms=picture.key_norms)


def _values(stack: CapturedStack, options: SpaceOptions, steps: Steps) -> SpaceStack:
    values = stack.vectors.values
    assert values is not None  # noqa: S101 - captured because `of` is values
    report = steps.begin(options.project) if STEPS_OF_A_STACK[options.project] else None
    pictures = []
    for layer, layer_values in enumerate(values):
        none = np.zeros((len(layer_values), 0, layer_values.shape[-1]))
        gauge, within = AffineGauge.none(len(layer_values), layer_values.shape[-1]), _of_layer(report, layer, *values.shape[:2])
        pictures.append(project_layer(none, layer_values.astype(np.float64), options, gauge, within))
    points = np.stack([picture.keys for picture in pictures])
    return _space_stack(stack, _Points(points, values), {"entropy": mean_entropy(stack)}, stacked_projections(pictures))


def _of_layer(report: ReportStep | None, layer: int, n_layers: int, n_heads: int) -> ReportStep | None:
    """Reports the heads of one layer among those of all."""
    if report is None:
        return None
    return lambda done, _of, tokens=0: report(layer * n_heads + done, n_layers * n_heads, tokens)


@dataclass(frozen=True)
class _Points:
    """Points of a picture, [layer, head, token, dims], and the vectors behind them. Where the points are values there are no queries."""

    keys: np.ndarray
    key_vectors: np.ndarray
    queries: np.ndarray | None = None
    query_vectors: np.ndarray | None = None

    @classmethod
    def of_pairs(cls, stack: CapturedStack, queries: np.ndarray, keys: np.ndarray) -> _Points:
        """The queries and keys of a stack in the picture."""
        return cls(keys, stack.vectors.keys, queries, stack.vectors.queries)


def _space_stack(
    stack: CapturedStack,
    points: _Points,
    facts: dict[str, np.ndarray],
    linear: LinearProjections | None = None,
    pairs: dict[str, np.ndarray] | None = None,
) -> SpaceStack:
    queries, vectors = points.queries, points.query_vectors
    top_keys, top_weights = most_attended(stack)
    return SpaceStack(
        name=stack.name,
        layers=stack.layers,
        heads=stack.heads,
        query_tokens=stack.query_tokens,
        key_tokens=stack.key_tokens,
        queries=None if queries is None else np.ascontiguousarray(queries, dtype=np.float32),
        keys=np.ascontiguousarray(points.keys, dtype=np.float32),
        query_norms=None if vectors is None else np.linalg.norm(vectors, axis=-1).astype(np.float32),
        key_norms=np.linalg.norm(points.key_vectors, axis=-1).astype(np.float32),
        top_keys=top_keys,
        top_weights=top_weights,
        maps=whole_maps(stack),
        facts=facts,
        linear=linear,
        vectors=stack.vectors,
        pairs=pairs or {},
    )
