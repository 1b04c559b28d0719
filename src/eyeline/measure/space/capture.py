"""The queries, keys, values and attention of a corpus, kept: the data for the pictures of every head, and its numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
import torch

from eyeline.errors import Advice, ModelError, TextError, TraceError
from eyeline.heads import HeadRef
from eyeline.look.stack import Stack
from eyeline.mathematics import entropy
from eyeline.measure.engines.local import PartsOutcome, run_parts
from eyeline.measure.engines.processes import Engine
from eyeline.measure.engines.work import Part, ShardResult, Work, parts_of
from eyeline.measure.runs.progress import ReportWork
from eyeline.measure.space.fidelity import Fidelity, TextPicture, fidelity
from eyeline.measure.space.gauges import (
    Agreement,
    AllPairs,
    TextPairs,
    agreement_of,
    distances_of,
    find_scale,
    gauged,
    shift_keys,
)
from eyeline.measure.space.options import DISTANCES, WHERE
from eyeline.measure.space.stack import LEVELS, TOP, GaugeRow, SpaceTokens, StackHeads, Vectors
from eyeline.measure.statistics.prepare import Preparation, documents_of
from eyeline.messages import Message
from eyeline.models.attention import LayerAttention, Receive
from eyeline.models.inputs import Example
from eyeline.models.layout import Kept, check_layers
from eyeline.models.model import Model
from eyeline.models.projections import LayerKey, Projection, projections, watching_layer_inputs
from eyeline.models.tracing import Collector, in_batches
from eyeline.text.corpora.corpus import Corpus
from eyeline.text.tokenized import TokenizedText

#: The most bytes of attention that are kept.
MOST_MAP_BYTES = 6 << 30


@dataclass(frozen=True)
class CapturedStack(StackHeads):
    """One stack of every text. Head h of `vectors` is head `heads[h]` of the model; keys and values are as many as heads.

    weights   for each text [layer, head, query, key]
    visible   for each text [layer, query, key], True where a query may attend; None: everywhere
    shared    the inputs from which the keys are computed, where they were kept
    plain     whether attention is the softmax of scale · q·k over the visible keys, and nothing else
    """

    vectors: Vectors
    weights: tuple[np.ndarray, ...]
    visible: tuple[np.ndarray | None, ...]
    plain: bool
    shared: SharedInputs | None = None


@dataclass(frozen=True)
class Captured:
    """The result of one pass over a corpus; counts as in a run, seconds of the forward passes and of reading. outcome: where it ran"""

    stacks: dict[str, CapturedStack]
    counts: dict[str, int]
    seconds: float
    outcome: PartsOutcome = field(default_factory=PartsOutcome)


@dataclass(frozen=True)
class CapturedText:
    """One text: stack → what was recorded; inputs: what enters each layer, [key, hidden], where it was kept."""

    stacks: dict[str, Stack]
    inputs: dict[LayerKey, np.ndarray]


@dataclass(frozen=True)
class CaptureWork(Work[Part[Example], tuple[CapturedText, ...]]):
    """Records texts, for any engine. layers, heads: of each stack; keep: weights, queries …; shared: also the inputs of the keys."""

    layers: dict[str, tuple[int, ...]]
    heads: dict[str, tuple[int, ...]]
    keep: tuple[str, ...]
    shared: bool

    def open(self, model: Model) -> Callable[[Part[Example]], ShardResult[tuple[CapturedText, ...]]]:
        keeper = InputKeeper(model, self.layers) if self.shared else None

        def compute(part: Part[Example]) -> ShardResult[tuple[CapturedText, ...]]:
            collector = Collector(model.layout, Kept(self.keep, self.layers))
            inputs: list[dict[LayerKey, np.ndarray]] = [{} for _ in part.items]
            if keeper is None:
                model._passes.layers(part.items, collector.receive)
            else:
                inputs = keeper.stream(part.items, collector.receive)
            texts = tuple(
                CapturedText({name: _few_heads(stack, self.heads[name]) for name, stack in collector.stacks(row, example).items()}, entered)
                for row, (example, entered) in enumerate(zip(part.items, inputs, strict=True))
            )
            return ShardResult(texts, sum(len(example.source) for example in part.items))

        return compute


def capture_space(
    model: Model,
    corpus: Corpus,
    *,
    layers: Iterable[int] | None = None,
    heads: Collection[int] | None = None,
    limit: int | None = None,
    max_tokens: int | None = None,
    seed: int = 0,
    values: bool = False,
    shared: bool = False,
    engine: Engine | str = "local",
    report: ReportWork | None = None,
) -> Captured:
    """Run the texts through the model, batch by batch, and keep what the pictures need. shared: also the inputs of the keys."""
    if not model.gives.recorded:
        raise ModelError(
            Message("refusal.no_queries_and_keys", model=model.name, why=model.layout.why_weights_only),
            Message("refusal.can_be_analysed"),
        )
    chosen = check_layers(model.layout, layers)
    numbers = {stack: _check_heads(model, stack, chosen[stack], heads) for stack in chosen}
    preparation = Preparation(model, max_tokens)
    read: list[Example] = []
    tags: list[tuple[str, ...]] = []
    names: list[str] = []
    for document in documents_of(corpus, model, pairs=False, limit=limit, max_tokens=max_tokens, seed=seed):
        for example in preparation.read(document):
            read.append(example)
            tags.append(document.tags)
            names.append(f"document {preparation.counts['documents']} (line {document.line})")
    if not read:
        counts = preparation.counts
        raise TextError(
            Message("refusal.no_document", n=f"{counts['documents']:,}", corpus=corpus.name),
            Message(
                "refusal.why_no_document",
                n=f"{counts['too_long']:,}",
                most=str(preparation.longest),
                unreadable=f"{counts['unreadable']:,}",
            ),
        )
    _check_room(read, numbers, model, chosen)
    started = time.monotonic()
    inputs = InputKeeper(model, chosen) if shared else None  # refuses a model without a shared space
    captured: dict[int, CapturedText] = {}
    work = CaptureWork(chosen, numbers, ("weights", "queries", "keys", "values") if values else ("weights", "queries", "keys"), shared)
    parts = parts_of(read, in_batches(model.layout, read), names)
    outcome = run_parts(work, model, parts, lambda part, texts: captured.update(zip(part.indices, texts, strict=True)), engine, report)
    if not captured:
        raise TextError(f"Each of the {len(read):,} texts of {corpus.name} broke its worker.", *outcome.reasons)
    kept = sorted(captured)
    tags = [tags[index] for index in kept]
    ordered = [captured.pop(index) for index in kept]
    stacks = {name: _joined([text.stacks[name] for text in ordered], tags, numbers[name], values) for name in chosen}
    if inputs is not None:
        entered = [text.inputs for text in ordered]
        stacks = {
            name: replace(stack, shared=inputs.inputs_of(entered, name, stack.layers, numbers[name])) for name, stack in stacks.items()
        }
    for stack in stacks.values():
        _check_finite(stack, model)
    used: dict[str, int] = {**preparation.counts, **outcome.counts}
    if outcome.left_out:
        lost = [read[index] for index in outcome.left_out]
        used |= {"texts": len(kept), "tokens": used["tokens"] - sum(len(example.source) + len(example.target or ()) for example in lost)}
    return Captured(stacks, used, time.monotonic() - started, outcome)


def _check_heads(model: Model, stack: str, layers: Sequence[int], heads: Collection[int] | None) -> tuple[int, ...]:
    counts = {model.layout.heads_by_layer(stack)[layer] for layer in layers}
    if len(counts) > 1:
        raise ModelError(
            Message("refusal.heads_differ", model=model.name, stack=stack, counts=", ".join(map(str, sorted(counts)))),
            Advice("Choose layers with the same number of heads: layers=….", "Choose layers with the same number of heads: --layers."),
        )
    (count,) = counts
    if heads is None:
        return tuple(range(count))
    wrong = sorted({head for head in heads if not 0 <= head < count})
    if wrong or not heads:
        seen = f"Head {wrong[0]}" if wrong else "No head"
        raise TraceError(f"{seen} of a model with {count} heads.", f"Heads count from 0 to {count - 1}.")
    return tuple(sorted(set(heads)))


def _check_room(read: Sequence[Example], numbers: dict[str, tuple[int, ...]], model: Model, layers: dict[str, tuple[int, ...]]) -> None:
    needed = 0
    for stack, heads in numbers.items():
        pairs = sum(len(q) * len(k) for q, k in (example.of(stack) for example in read))
        needed += 4 * pairs * len(heads) * len(layers[stack])
    if needed > MOST_MAP_BYTES:
        raise TextError(
            Message("refusal.maps_memory", n=f"{len(read):,}", need=f"{needed / 1e9:.1f}", most=f"{MOST_MAP_BYTES / 1e9:.1f}"),
            Advice(
                "Take fewer or shorter texts: limit=…, max_tokens=…. Or fewer heads: layers=…, heads=….",
                "Take fewer or shorter texts: --limit, --max-tokens. Or fewer heads: --layers, --heads.",
                Message("refusal.advice.fewer_paragraphs"),
            ),
        )


def _few_heads(stack: Stack, heads: tuple[int, ...]) -> Stack:
    """The stack with these heads alone, each with keys and values of its own (where queries share keys, the shared ones)."""
    count = stack.n_heads
    if stack.n_key_heads == count and len(heads) == count:
        return stack
    shared = [head * stack.n_key_heads // count for head in heads]
    cut = {"weights": list(heads), "queries": list(heads), "keys": shared, "values": shared}
    by_layer = {f"{what}_by_layer": tuple(array[chosen] for array in getattr(stack, f"{what}_by_layer")) for what, chosen in cut.items()}
    return replace(stack, **by_layer)  # type: ignore[arg-type]


def _joined(texts: Sequence[Stack], tags: Sequence[tuple[str, ...]], heads: tuple[int, ...], values: bool) -> CapturedStack:
    first = texts[0]
    sizes = sorted({queries.shape[-1] for queries in first.queries_by_layer})
    if len(sizes) > 1:
        alike = [number for number, q in zip(first.layers, first.queries_by_layer, strict=True) if q.shape[-1] == sizes[0]]
        raise ModelError(
            f"The {first.name} has heads of several sizes ({', '.join(map(str, sizes))} numbers), which have no space in common.",
            f"Choose layers of one size: layers={alike}.",
        )
    queries = np.concatenate([np.stack(text.queries_by_layer) for text in texts], axis=2)  # [layer, head, query, dim]
    keys = np.concatenate([np.stack(text.keys_by_layer) for text in texts], axis=2)
    value_vectors = np.concatenate([np.stack(text.values_by_layer) for text in texts], axis=2) if values else None
    query_tokens = _tokens([text.query_text for text in texts], tags)
    key_tokens = query_tokens if first.name != "cross" else _tokens([text.key_text for text in texts], tags)
    biased = any(bias is not None for text in texts for bias in text.bias_by_layer)
    return CapturedStack(
        name=first.name,
        layers=first.layers,
        heads=heads,
        query_tokens=query_tokens,
        key_tokens=key_tokens,
        vectors=Vectors(queries, keys, first.scales, value_vectors),
        weights=tuple(np.stack(text.weights_by_layer) for text in texts),
        visible=tuple(_visible(text) for text in texts),
        plain=bool(first.plain) and not biased,
    )


def _visible(text: Stack) -> np.ndarray | None:
    masks = text.mask_by_layer
    if all(mask is None for mask in masks):
        return None
    everywhere = np.ones((len(text.query_text), len(text.key_text)), dtype=bool)
    return np.stack([everywhere if mask is None else mask for mask in masks])  # [layer, query, key]


def _tokens(texts: Sequence[TokenizedText], tags: Sequence[tuple[str, ...]]) -> SpaceTokens:
    """Tokens with the part of speech of their word, where every text has some."""
    if not all(tags):
        return SpaceTokens(tuple(texts))
    spread = tuple(
        tuple(given[word] if word is not None and word < len(given) else "" for word in text.words)
        for text, given in zip(texts, tags, strict=True)
    )
    return SpaceTokens(tuple(texts), spread)


def _check_finite(stack: CapturedStack, model: Model) -> None:
    """Refuse vectors that are not finite; the error names the first layer and head."""
    for what, array in (("queries", stack.vectors.queries), ("keys", stack.vectors.keys), ("values", stack.vectors.values)):
        if array is None or bool(np.isfinite(array).all()):
            continue
        layer, head, *_ = (int(index) for index in np.argwhere(~np.isfinite(array))[0])
        raise ModelError(
            Message(
                "refusal.vectors_not_finite",
                vectors=what,
                model=model.name,
                head=HeadRef(stack.name, stack.layers[layer], stack.heads[head]).full_label,
            ),
            Message("refusal.damaged"),
            Message("refusal.load_float32"),
        )


# ---- What the keys of every layer are computed from


@dataclass(frozen=True)
class SharedInputs:
    """The vectors that enter each layer of one stack, of all texts, and the projections to keys.

    keys = weight · inputs + bias, then rotated or normalised where the model does that

    inputs    [layer, key, hidden]: what enters each layer
    weights   of each layer [head, dim, hidden], one for each head that was chosen
    biases    of each layer [head, dim], or None
    rotary    whether any layer rotates keys by their position
    norm      whether any layer normalises keys
    """

    inputs: np.ndarray
    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray | None, ...]
    rotary: bool
    norm: bool


class InputKeeper:
    """Gives what enters the layers of a model, while batches of texts go through it."""

    def __init__(self, model: Model, layers: Mapping[str, Sequence[int]]) -> None:
        self._model = model
        self._known = projections(model)
        self._chosen = {(stack, layer) for stack in layers for layer in layers[stack]}
        for stack, layer in sorted(self._chosen):
            self._key(stack, layer)

    def _key(self, stack: str, layer: int) -> Projection:
        known = self._known[stack, layer]
        if known.key is None:
            raise ModelError(
                Message("refusal.no_shared_space", model=self._model.name, layer=str(layer), stack=stack, why=known.missing["key"]),
                Advice(
                    "Each head can have a space of its own: of='queries-keys'.",
                    "Each head can have a space of its own: leave out --shared.",
                    Message("refusal.advice.space_of_each_head"),
                ),
            )
        return known.key

    def stream(self, examples: Sequence[Example], receive: Receive) -> list[dict[LayerKey, np.ndarray]]:
        """One batch of texts through the model; gives what enters the chosen layers, for each text: [key, hidden]"""
        kept: list[dict[LayerKey, np.ndarray]] = [{} for _ in examples]
        with watching_layer_inputs(self._model, self._known, "key") as entered:

            def receive_and_keep(layer: LayerAttention) -> None:
                receive(layer)
                key, vectors = (layer.stack, layer.layer), entered(layer)
                if key in self._chosen and vectors is not None:
                    for position, inputs in enumerate(kept):
                        inputs[key] = _copied(vectors[position, : layer.n_keys[position]])

            self._model._passes.layers(examples, receive_and_keep)
        return kept

    def inputs_of(
        self, texts: Sequence[Mapping[LayerKey, np.ndarray]], stack: str, layers: Sequence[int], heads: Sequence[int]
    ) -> SharedInputs:
        """All texts of a stack, one after the other."""
        projections = [self._key(stack, layer) for layer in layers]
        counts = self._model.layout.heads_by_layer(stack)
        shared = [[head * len(part.weight) // counts[layer] for head in heads] for layer, part in zip(layers, projections, strict=True)]
        return SharedInputs(
            inputs=np.stack([np.concatenate([inputs[stack, layer] for inputs in texts]) for layer in layers]),
            weights=tuple(part.weight[chosen] for part, chosen in zip(projections, shared, strict=True)),
            biases=tuple(None if part.bias is None else part.bias[chosen] for part, chosen in zip(projections, shared, strict=True)),
            rotary=any(self._known[stack, layer].rotary for layer in layers),
            norm=any(part.norm for part in projections),
        )


def _copied(vectors: torch.Tensor) -> np.ndarray:
    array: np.ndarray = vectors.float().cpu().numpy().copy()
    return array


# ---- The numbers of every head, text after text


#: The most bytes of whole maps that are kept.
MAPS_ROOM = 256 << 20


def stack_fidelity(stack: CapturedStack, layers: slice, queries: np.ndarray, keys: np.ndarray, *, order: bool = True) -> Fidelity:
    """The fidelity of a picture of these layers: queries [layer, head, query, dims], keys [layer, head, key, dims] → [layer, head].

    For each query, only the keys of its own text that it may see count.
    """

    def pictures() -> Iterator[TextPicture]:
        for text, weights in enumerate(stack.weights):
            rows, columns = stack.rows(text)
            visible = stack.visible[text]
            seen = None if visible is None else visible[layers][:, None]  # [layer, 1, query, key]
            yield TextPicture(queries[:, :, rows], keys[:, :, columns], weights[layers], seen)

    return fidelity(pictures(), queries.shape[:2], order=order)


def mean_entropy(stack: CapturedStack) -> np.ndarray:
    """[layer, head]: the mean over queries, in nats."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nanmean(np.concatenate([entropy(weights) for weights in stack.weights], -1), -1))


def most_attended(stack: CapturedStack) -> tuple[np.ndarray, np.ndarray]:
    """The TOP keys of each query as rows of the keys, strongest first, and their weights: [layer, head, query, TOP] both."""
    heads, n_query = (len(stack.layers), len(stack.heads)), len(stack.query_tokens)
    keys = np.full((*heads, n_query, TOP), -1, dtype=np.int32)
    kept = np.zeros((*heads, n_query, TOP), dtype=np.float32)
    for text, weights in enumerate(stack.weights):
        rows, columns = stack.rows(text)
        n = min(TOP, weights.shape[-1])
        few = np.argpartition(-weights, n - 1, -1)[..., :n]  # [layer, head, query, n]
        values = np.take_along_axis(weights, few, -1)
        order = np.argsort(-values, -1, kind="stable")
        values = np.take_along_axis(values, order, -1)
        kept[:, :, rows, :n] = values
        keys[:, :, rows, :n] = np.where(values > 0, np.take_along_axis(few, order, -1) + columns.start, -1)
    return keys, kept


def whole_maps(stack: CapturedStack) -> np.ndarray | None:
    """Every weight as round(√a · LEVELS), a byte each: [layer, head, Σ queries · keys]; None where that is too much to keep."""
    size = sum(weights.shape[2] * weights.shape[3] for weights in stack.weights)
    heads = (len(stack.layers), len(stack.heads))
    if size * heads[0] * heads[1] > MAPS_ROOM:
        return None
    maps = np.empty((*heads, size), dtype=np.uint8)
    start = 0
    for weights in stack.weights:
        end = start + weights.shape[2] * weights.shape[3]
        steps = np.rint(np.sqrt(np.clip(np.nan_to_num(weights), 0, 1)) * LEVELS)
        maps[:, :, start:end] = steps.astype(np.uint8).reshape(*heads, -1)
        start = end
    return maps


# ---- The gauge of every head


#: How many pairs of a query and a key the figure shows, and in how many heads, spread over the model.
SHOWN_PAIRS, SHOWN_HEADS = 300, 9

#: Shift and scale are searched on the first texts, up to this many tokens.
SEARCH_TOKENS = 2_000


@dataclass(frozen=True)
class Pairs:
    """Some queries and keys of one text each, with the attention between them: what a figure shows.

    query, key  [pair]: rows of the stack's vectors
    weights     [layer, head, pair]
    """

    query: np.ndarray
    key: np.ndarray
    weights: np.ndarray

    def dots(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """q·k of each pair, from the vectors of a head: [row, dim] both → [pair]."""
        return np.asarray(np.einsum("pd,pd->p", queries[self.query], keys[self.key]))

    def distances(self, queries: np.ndarray, keys: np.ndarray, agreement: Agreement) -> np.ndarray:
        """The distance of each pair, from the vectors of a head: [row, dim] both → [pair]."""
        queries, keys = agreement.measured(queries, keys)
        q, k = (np.square(side).sum(-1) for side in (queries[self.query], keys[self.key]))
        return distances_of(agreement.distance, self.dots(queries, keys), q, k)


@dataclass(frozen=True)
class LayerGauge:
    """One layer in its gauge: queries and keys [head, row, dim], double precision; scale, before and after of each head [head]."""

    queries: np.ndarray
    keys: np.ndarray
    scale: np.ndarray
    before: np.ndarray
    after: np.ndarray


def some_pairs(stack: CapturedStack, seed: int) -> Pairs:
    """All keys of some queries, drawn with the seed; queries that see only one key are left out."""
    draw = np.random.default_rng(seed)
    query: list[np.ndarray] = []
    key: list[np.ndarray] = []
    weights: list[np.ndarray] = []
    size = 0
    for row in draw.permutation(len(stack.query_tokens)):
        text, position = int(stack.query_tokens.text[row]), int(stack.query_tokens.position[row])
        visible = stack.visible[text]
        seen = np.flatnonzero(visible[0, position]) if visible is not None else np.arange(stack.weights[text].shape[-1])
        if len(seen) < 2:
            continue
        query.append(np.full(len(seen), row))
        key.append(seen + int(stack.key_tokens.starts[text]))
        weights.append(stack.weights[text][:, :, position, seen])
        size += len(seen)
        if size >= SHOWN_PAIRS:
            break
    if not query:
        raise TraceError(Message("refusal.no_two_keys"), Message("refusal.two_tokens"))
    return Pairs(np.concatenate(query), np.concatenate(key), np.concatenate(weights, -1).astype(np.float64))


def text_pairs(stack: CapturedStack, layer: int) -> list[TextPairs]:
    """Every text with the attention of one layer, [head, query, key]; queries that see fewer than two keys count nothing."""
    texts = []
    for text, all_weights in enumerate(stack.weights):
        rows, columns = stack.rows(text)
        weights = np.nan_to_num(all_weights[layer])  # [head, query, key]
        visible = stack.visible[text]
        n_seen = visible[layer].sum(-1) if visible is not None else np.full(weights.shape[1], weights.shape[2])  # [query]
        if (n_seen < 2).any():
            weights = weights * (n_seen >= 2)[:, None]
        texts.append(TextPairs(rows, columns, weights))
    return texts


def shared_scale(stack: CapturedStack) -> float:
    """One c for every layer and head: the mean over heads of the correlation is nearest −1."""

    def mean(c: np.ndarray) -> np.ndarray:
        correlations = []
        for layer in range(len(stack.layers)):  # one layer at a time: the dot products of all of them would not fit
            queries, keys = vectors_of(stack, layer)
            correlations.append(AllPairs(queries, keys, text_pairs(stack, layer), (queries, shift_keys(queries, keys))).correlation(c))
        return np.asarray(np.nanmean(correlations) if np.isfinite(correlations).any() else np.nan)

    return float(find_scale(mean, ())[0])


def gauge_layer(
    stack: CapturedStack,
    layer: int,
    gauge: str,
    c: float | None = None,
    agreement: Agreement = Agreement(),  # noqa: B008 - frozen
) -> LayerGauge:
    """The layer at this index in the gauge; `c` where one scale was found for all.

    Before and after are correlations of the dot product as the model has it with the distance between its vectors, and between those in
    the gauge; of the searched gauge, with the distance that was searched for.
    """
    queries, keys = vectors_of(stack, layer)
    texts = text_pairs(stack, layer)
    scale = None if c is None else np.full(len(queries), c)
    if gauge == "searched":
        few = texts[: n_texts_within(stack, SEARCH_TOKENS)]
        new_queries, new_keys, scale = gauged(queries, keys, gauge, few, None, agreement)
        before, after = (agreement_by_head(queries, keys, *new, texts, agreement) for new in ((queries, keys), (new_queries, new_keys)))
        lost = agreement.cost(after) > agreement.cost(
            before
        )  # better on the texts that were searched, worse on all: such a head keeps its vectors
        new_queries[lost], new_keys[lost], scale[lost], after[lost] = queries[lost], keys[lost], 1.0, before[lost]
        return LayerGauge(new_queries, new_keys, scale, before, after)
    before = AllPairs(queries, keys, texts).correlation()
    new_queries, new_keys, scale = gauged(queries, keys, gauge, texts, scale)
    after = before if gauge == "none" else AllPairs(queries, keys, texts, (new_queries, new_keys)).correlation()
    return LayerGauge(new_queries, new_keys, scale, before, after)


def n_texts_within(stack: CapturedStack, tokens: int) -> int:
    """How many of the first texts fit into this many tokens together; at least one."""
    return max(1, int(np.searchsorted(stack.query_tokens.starts, tokens, side="right")) - 1)


def agreement_by_head(
    queries: np.ndarray, keys: np.ndarray, new_queries: np.ndarray, new_keys: np.ndarray, texts: list[TextPairs], agreement: Agreement
) -> np.ndarray:
    """[head]: `agreement_of` every head of a layer, [head, query, dim] and so on."""
    by_head = [[TextPairs(text.rows, text.columns, text.weights[head]) for text in texts] for head in range(len(queries))]
    heads = zip(queries, keys, new_queries, new_keys, by_head, strict=True)
    return np.array([agreement_of(*head, agreement) for head in heads])


def shown_heads(stack: CapturedStack) -> list[tuple[int, int]]:
    """The indices (layer, head) of the heads whose pairs the figure shows: evenly spread over layers and heads."""
    n_layers, n_heads = len(stack.layers), len(stack.heads)
    steps = np.unique(np.linspace(0, n_layers * n_heads - 1, min(SHOWN_HEADS, n_layers * n_heads)).round().astype(int))
    return [(int(step) // n_heads, int(step) % n_heads) for step in steps]


def pair_rows(stack: CapturedStack, layer: int, layer_gauge: LayerGauge, pairs: Pairs, agreement: Agreement) -> list[dict[str, float]]:
    """The model's own dot product, and the distance of its vectors and of those in the gauge, of some pairs of the shown heads of a layer.

    The distance is the one of `before` and `after`.
    """
    few = Pairs(pairs.query[:SHOWN_PAIRS], pairs.key[:SHOWN_PAIRS], pairs.weights[..., :SHOWN_PAIRS])
    own_queries, own_keys = vectors_of(stack, layer)
    rows: list[dict[str, float]] = []
    for shown_layer, head in shown_heads(stack):
        if shown_layer != layer:
            continue
        own, gauged = (own_queries[head], own_keys[head]), (layer_gauge.queries[head], layer_gauge.keys[head])
        dots = few.dots(*own)  # the model's own in both
        columns = {"layer": np.full(len(dots), stack.layers[layer]), "head": np.full(len(dots), stack.heads[head])}
        columns |= {"weight": few.weights[layer, head]}
        for name, vectors in (("before", own), ("after", gauged)):
            columns |= {f"dot_{name}": dots, f"distance_{name}": few.distances(*vectors, agreement)}
        rows += [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return rows


def gauge_error(stack: CapturedStack, layer: int, layer_gauge: LayerGauge) -> float:
    """The largest difference between the model's attention and attention recomputed from the gauged vectors.

    Where attention is more than a softmax of q·k (a position bias, a softcap), what is added to the model's own scores is kept.
    """
    worst, scale = 0.0, stack.vectors.scales[layer]
    for text, all_weights in enumerate(stack.weights):
        rows, columns = stack.rows(text)
        weights = all_weights[layer].astype(np.float64)  # [head, query, key]
        scores = scale * layer_gauge.queries[:, rows] @ np.swapaxes(layer_gauge.keys[:, columns], -1, -2)
        if not stack.plain:
            q, k = stack.vectors.queries[layer][:, rows], stack.vectors.keys[layer][:, columns]
            with np.errstate(divide="ignore"):
                scores += np.log(weights) - scale * q.astype(np.float64) @ np.swapaxes(k, -1, -2)
        visible = stack.visible[text]
        if visible is not None:
            scores = np.where(visible[layer], scores, -np.inf)
        highest = scores.max(-1, keepdims=True)
        e = np.exp(scores - np.where(np.isfinite(highest), highest, 0))
        total = e.sum(-1, keepdims=True)
        recomputed = np.divide(e, total, out=np.zeros_like(e), where=total > 0)
        if not stack.plain:
            recomputed *= weights.sum(-1, keepdims=True)  # less than 1 where a sink takes the rest
        seeing = total[..., 0] > 0
        worst = max(worst, float(np.abs(recomputed - weights)[seeing].max(initial=0)))
    return worst


def vectors_of(stack: CapturedStack, layer: int) -> tuple[np.ndarray, np.ndarray]:
    """Queries and keys of a layer in double precision: [head, query, dim], [head, key, dim]."""
    return stack.vectors.queries[layer].astype(np.float64), stack.vectors.keys[layer].astype(np.float64)


# ---- Every gauge compared with no gauge


#: The gauges that are compared, and on how many tokens of the first texts.
TRIED, TRIED_TOKENS = ("attentionviz", "searched", "lifted"), 500


def gauge_rows(stack: CapturedStack, dims: int) -> list[GaugeRow]:
    """A row for each gauge and distance, in all dimensions and in the PCA plane; the searched gauge is searched for each of them."""
    few = n_texts_within(stack, TRIED_TOKENS)
    correlations: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for layer, head in shown_heads(stack):
        queries, keys = (vectors[head] for vectors in vectors_of(stack, layer))
        texts = [TextPairs(text.rows, text.columns, text.weights[head]) for text in text_pairs(stack, layer)[:few]]
        end = max(text.rows.stop for text in texts), max(text.columns.stop for text in texts)
        queries, keys = queries[: end[0]], keys[: end[1]]
        for gauge, distance, where in product(TRIED, DISTANCES, WHERE):
            agreement = Agreement(distance, where, dims)
            new_queries, new_keys, _ = gauged(queries, keys, gauge, texts, None, agreement)
            before = agreement_of(queries, keys, queries, keys, texts, agreement)
            after = agreement_of(queries, keys, new_queries, new_keys, texts, agreement)
            correlations.setdefault((gauge, distance, where), []).append((before, after))
    tokens = int(stack.query_tokens.starts[few])
    return [replace(_row(stack.name, *key, np.array(numbers)), tokens=tokens) for key, numbers in correlations.items()]


def _row(stack: str, gauge: str, distance: str, where: str, numbers: np.ndarray) -> GaugeRow:
    """numbers: [head, (before, after)]; heads without a correlation are left out."""
    known = numbers[np.isfinite(numbers).all(1)]
    if not len(known):
        return GaugeRow(stack, gauge, distance, where, float("nan"), float("nan"), 0, 0)
    before, after = known.mean(0)
    return GaugeRow(stack, gauge, distance, where, float(before), float(after), len(known), int((known[:, 1] > known[:, 0] + 1e-9).sum()))
