"""`el.space`: the space of queries and keys of a corpus, captured, put in a gauge, projected, and measured."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eyeline.errors import TraceError
from eyeline.heads import HeadRef
from eyeline.mathematics import METHODS, bootstrap_share, check_method, principal_axes, project
from eyeline.measure.engines.local import check_engine
from eyeline.measure.engines.processes import Engine
from eyeline.measure.runs.options import chosen
from eyeline.measure.runs.progress import ReportProgress, ReportStep, Steps
from eyeline.measure.space.capture import (
    Captured,
    CapturedStack,
    LayerGauge,
    capture_space,
    gauge_error,
    gauge_layer,
    gauge_rows,
    mean_entropy,
    most_attended,
    pair_rows,
    shared_scale,
    some_pairs,
    stack_fidelity,
    whole_maps,
)
from eyeline.measure.space.fidelity import Fidelity
from eyeline.measure.space.fit import fitted, held_out_by, held_out_pca
from eyeline.measure.space.gauges import Agreement
from eyeline.measure.space.options import FidelityFacts, GaugeCheck, SpaceFacts, SpaceOptions, StackCheck
from eyeline.measure.space.result import Space
from eyeline.measure.space.shared import shared_picture
from eyeline.measure.space.stack import (
    HELD_OUT,
    GaugeRow,
    LinearProjections,
    SpaceStack,
    is_cross_validated,
    is_measured_as_it_is,
    pairs_in_space,
)
from eyeline.measure.statistics.prepare import Preparation, corpus_facts, documents_of, provenance, unknown_tokens
from eyeline.messages import Message
from eyeline.models.model import Model, check_model
from eyeline.text.corpora.corpus import Corpus, Document, Item
from eyeline.text.corpora.sample import sample_text
from eyeline.text.named_pairs import PairsGiven, pairs_in_texts
from eyeline.text.tokenized import TokenizedText
from eyeline.words import Words, percent

#: The steps that a projection reports for each stack, after the texts are read.
STEPS_OF_A_STACK = {"fitted": 2, "freed": 3, "pca": 0, "umap": 1, "tsne": 1}

#: How far attention recomputed from gauged vectors may differ from the model's.
GAUGE_WITHIN = 1e-5


def space(
    model: Model,
    corpus: Corpus | Sequence[Item],
    *,
    # from SpaceOptions, as the docstring's lines on them: make generated
    of: str = "queries-keys",
    project: str | None = None,
    gauge: str | None = None,
    dims: int = 2,
    shared_scale: bool = False,
    distance: str = "euclidean",
    correlate: str = "full",
    shift: str = "vector",
    sign: str = "negative",
    background: bool | None = None,
    layers: Iterable[int] | None = None,
    heads: Iterable[int] | None = None,
    limit: int | None = None,
    max_tokens: int | None = None,
    seed: int = 0,
    engine: Engine | str = "local",
    progress: ReportProgress | None = None,
) -> Space:
    """The queries and keys of every head of a corpus in one picture, and how far each picture can be trusted.

    of            queries-keys; values: the value vectors of every head; shared: one space for all heads and layers, in which keys are the
                  vectors that enter each layer and queries are pulled back to them
    project       fitted (near means attends), freed (fitted, then each point of these texts moved by itself), pca, umap or tsne; unless
                  given: fitted; of values and shared pca
    gauge         lifted (distances in the order of attention), attentionviz (theirs), searched (their shift and scale searched together) or
                  none; unless given: ring for shared (queries around the keys), lifted for fitted and freed, which need none, attentionviz
                  else
    dims          2 or 3
    shared_scale  of attentionviz: one scale for all heads instead of one for each
    distance      of searched: euclidean or cosine, the distance that should follow the dot product
    correlate     of searched: full, or plane: the distance is that in the picture's PCA plane
    shift         of searched: vector, or constant: one number is added to every dimension of the keys
    sign          of searched: negative, the most negative correlation of dot product and distance; either: the strongest of either sign
    background    of fitted and freed: whether the built-in paragraphs are used in the fit; unless given: where the texts have fewer than
                  1,000 tokens. Fidelity is then that of projections fitted on the paragraphs alone; else it is cross-validated
    layers        only these layers, counted from 0
    heads         only these heads of each layer
    limit         this many documents, chosen at random with the seed
    max_tokens    longer documents are skipped and counted; the model's own limit always holds
    seed          for everything that is drawn at random
    layers, heads which; all unless given
    limit, max_tokens, seed   as in `analyse`
    engine        where the texts go through the model: "local" (this process), "processes", "ray", or el.Ray(workers=8, …); the
                  numbers are the same. Pictures are made in this process
    progress      called after each batch of texts, then while heads are fitted or projected, with a record of the step

    >>> import eyeline as el
    >>> texts = ["The cat sat on the mat.", "A dog ran home.", "It rained all day, and nobody came."]
    >>> space = el.space(el.load(), texts, layers=[0], heads=[0, 1])
    >>> space.only.queries.shape, space.project
    ((1, 2, 27, 2), 'fitted')
    """
    check_model(model)
    check_engine(engine)
    corpus = Corpus.of(corpus)
    options = chosen(SpaceOptions, locals())
    how = options.project
    given = {"layers": options.layers, "heads": options.heads, "limit": limit, "max_tokens": max_tokens, "seed": seed, "engine": engine}
    steps = Steps(progress, 1 + (1 if of == "shared" else STEPS_OF_A_STACK[how]) * len(model.layout.stacks))
    report = steps.begin("texts")
    captured = capture_space(model, corpus, values=of == "values", shared=of == "shared", report=report, **given)  # type: ignore[arg-type]
    background_stack = None
    if how not in METHODS and is_wanted(captured, background):
        background_stack = capture_background(model, captured, layers=options.layers, heads=options.heads, required=background is True)
    return space_of(captured, provenance(SpaceFacts, model, corpus_facts(corpus), options), options, steps, background_stack)


def space_of(
    captured: Captured, facts: SpaceFacts, options: SpaceOptions, steps: Steps | None = None, background: CapturedStack | None = None
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
        dropped=captured.outcome.dropped,
        engine=captured.outcome.engine,
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
        raise TraceError(Message("refusal.few_tokens", n=str(n_points // 2), dims=str(options.dims)), Message("refusal.more_text"))
    pairs = some_pairs(stack, options.seed)
    agreement = Agreement.of(options)
    c = shared_scale(stack) if options.shared_scale and options.gauge == "attentionviz" else None
    shape = (len(stack.layers), len(stack.heads))
    unknown = ("scale", "shift", "correlation_before", "correlation_after", "top1_full", "top5_full", "kl", *HELD_OUT)
    facts = {name: np.full(shape, np.nan) for name in unknown}
    shifts: list[np.ndarray] = []
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
        affine = AffineGauge.between(stack.vectors.keys[layer], gauged) if options.gauge != "lifted" else None
        if affine is not None:
            shifts.append(affine.shift.astype(np.float32))
            facts["shift"][layer] = np.linalg.norm(affine.shift, axis=-1)
        full = stack_fidelity(stack, slice(layer, layer + 1), gauged.queries[None], gauged.keys[None], order=False)
        facts["top1_full"][layer], facts["top5_full"][layer] = full.top1[0], full.top5[0]
        shown += pair_rows(stack, layer, gauged, pairs, agreement)
        if options.project in METHODS:
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
    whole = _space_stack(stack, _Points.of_pairs(stack, queries, keys), facts, linear)
    found = np.stack(shifts) if shifts else None  # [layer, head, dim]
    whole = replace(whole, shifts=found, pairs=columns, pairs_distance=(agreement.distance, agreement.where))
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
) -> SpaceStack:
    queries, vectors = points.queries, points.query_vectors
    top_keys, top_weights = most_attended(stack)
    return SpaceStack(
        **stack.same_heads,
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
    )


# ---- Pairs to be drawn in red


def check_red_pairs(
    models: Model | Sequence[Model],
    corpus: Corpus | Sequence[Item],
    red: PairsGiven,
    options: SpaceOptions,
) -> None:
    """Tokenise the texts of a run before anything is computed; a pair to be drawn in red that none of them holds is an error that
    names it."""
    pairs = pairs_in_space(options.of, red)
    for model in (models if isinstance(models, Sequence) else [models]) if pairs else ():
        documents = documents_of(
            Corpus.of(corpus), model, pairs=False, limit=options.limit, max_tokens=options.max_tokens, seed=options.seed
        )
        preparation = Preparation(model, options.max_tokens)
        texts = [example for document in documents for example in preparation.read(document)]
        both = [example.of(stack) for example in texts for stack in model.layout.stacks]
        for pair in pairs if texts else ():  # the run itself refuses a corpus without any text
            pairs_in_texts(pair, [queries for queries, _ in both], [keys for _, keys in both])


# ---- The heads of one layer by PCA, UMAP or t-SNE


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


# ---- The built-in paragraphs
# They are fitted together with a short text: a projection cannot be fitted well to few tokens.


#: With fewer tokens of their own, pictures are fitted together with the built-in paragraphs (measured: docs/how-to/space.md).
FEW_TOKENS = 1_000

#: With fewer tokens of paragraphs than this, no background is used.
LEAST_TOKENS = 300

#: Nor where the tokeniser knows less than this share of their tokens (they are English).
LEAST_KNOWN_SHARE = 0.9


def is_wanted(captured: Captured, background: bool | None) -> bool:
    """Whether the paragraphs are used: as given, else where the texts have few tokens and the model has one kind of attention."""
    if background is not None:
        return background
    return len(captured.stacks) == 1 and captured.counts["tokens"] < FEW_TOKENS


def capture_background(
    model: Model,
    captured: Captured,
    *,
    layers: Sequence[int] | None,
    heads: Collection[int] | None,
    required: bool,
) -> CapturedStack | None:
    """The paragraphs that the texts do not hold themselves, through the model; None where it can read too little of them.

    required: a background that cannot be captured is an error.
    """
    if len(captured.stacks) > 1:
        raise TraceError(f"{model.name} has several kinds of attention: the built-in paragraphs fit only one.", "Leave background out.")
    (stack,) = captured.stacks.values()
    own = {_plain(text) for text in stack.query_tokens.texts}
    preparation = Preparation(model)
    paragraphs: list[Item] = []
    n_tokens = 0
    for paragraph in sample_text().split("\n\n"):
        examples = preparation.read(Document(paragraph, 1))
        if len(examples) == 1 and not any(text in _plain(examples[0].source) for text in own):
            paragraphs.append(paragraph)
            n_tokens += len(examples[0].source)
    n_known = n_tokens - preparation.counts["unknown"]
    if n_known < max(LEAST_TOKENS, LEAST_KNOWN_SHARE * n_tokens):
        if required:
            raise TraceError(
                Message("refusal.unknown_paragraphs", model=model.name, known=f"{max(0, n_known):,}", n=f"{n_tokens:,}"),
                Message("refusal.few_to_fit"),
            )
        return None
    background = capture_space(model, Corpus.from_texts(paragraphs, "built-in paragraphs"), layers=layers, heads=heads)
    return next(iter(background.stacks.values()))


def _plain(text: TokenizedText) -> str:
    """The tokens that the tokeniser did not add, to see whether one text holds another."""
    return " ".join(token for token, special in zip(text.tokens, text.special, strict=True) if not special)


# ---- The notices beside the pictures


ENGLISH = Words()


def gauge_notices(stacks: Mapping[str, SpaceStack], options: SpaceOptions) -> list[Message]:
    """A notice for each stack whose gauge makes distance follow the dot product less closely than no gauge does."""
    notices = []
    for name, stack in stacks.items() if options.of == "queries-keys" and options.project in METHODS else ():
        before, after = stack.facts["correlation_before"], stack.facts["correlation_after"]
        known = np.isfinite(before) & np.isfinite(after)
        if known.any() and after[known].mean() > before[known].mean():
            means = {"before": f"{before[known].mean():.2f}", "after": f"{after[known].mean():.2f}"}
            counts = {"worse": int((after > before)[known].sum()), "heads": int(known.sum())}
            notices.append(Message("notice.space.gauge_worse", gauge=options.gauge, stack=name, **means, **counts))
    return notices


def fidelity_interval(shown: Sequence[Fidelity], seed: int) -> FidelityFacts | None:
    """The confidence interval of the mean over heads, from resampled tokens of all stacks; None where nothing was counted."""
    hits, of = (np.concatenate([getattr(item, name) for item in shown] or [np.zeros(0)]) for name in ("hits", "of"))
    if not of.sum():
        return None
    low, high = bootstrap_share(hits, of, seed=seed)
    return FidelityFacts(int((of > 0).sum()), round(low, 4), round(high, 4))


def fidelity_notices(
    captured: Captured, options: SpaceOptions, background: CapturedStack | None, interval: FidelityFacts | None
) -> list[Message]:
    """How the fidelity that is shown was measured or why none is shown, on how many tokens its mean rests, and how sure it is."""
    if options.of == "values":
        return []
    texts = min(len(stack.weights) for stack in captured.stacks.values())
    by = held_out_by(options, texts, background=background is not None)
    if background is not None:
        counts = {"paragraphs": str(len(background.weights)), "more": f"{len(background.query_tokens):,}"}
        notices = [Message("notice.space.background", tokens=f"{captured.counts['tokens']:,}", **counts)]
    elif by in ("texts", "queries"):
        how = "pca" if options.project == "pca" else "fitted"
        notices = [Message(f"notice.space.held_out.{how}_{by}", n=f"{texts:,}")]
    elif by == "picture":
        notices = [Message("notice.space.picture")]
    else:
        notices = [Message("notice.space.no_fidelity", gauge=options.gauge, project=options.project)]
    if interval is not None:
        shares = {"low": percent(interval.low), "high": percent(interval.high)}
        notices.append(Message("notice.space.interval", tokens=f"{interval.tokens:,}", **shares))
    return notices


def shared_notices(captured: Captured, stacks: Mapping[str, SpaceStack]) -> list[Message]:
    """How far the scores of a shared space are the model's own, and what was approximated."""
    notices = []
    for name, stack in captured.stacks.items():
        if stack.shared is None:
            continue
        correlation, error = stacks[name].facts["score_correlation"], stacks[name].facts["score_error"]
        if not stack.shared.rotary and not stack.shared.norm:
            notices.append(Message("notice.space.shared_exact", stack=name, error=f"{np.nanmax(error):.0e}"))
            continue
        worst = np.unravel_index(int(np.nanargmin(correlation)), correlation.shape)
        head = HeadRef("", stack.layers[worst[0]], stack.heads[worst[1]])
        why = "_".join(what for what in ("rotary", "norm") if getattr(stack.shared, what))
        shares = {"mean": f"{np.nanmean(correlation):.2f}", "lowest": f"{correlation[worst]:.2f}"}
        notices.append(Message(f"notice.space.approximate.{why}", stack=name, head=str(head), **shares))
    return notices
