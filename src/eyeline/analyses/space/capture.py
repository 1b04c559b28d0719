"""The queries, keys, values and attention of a corpus, kept: the data for the pictures of every head."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from eyeline.analyses.engines.engine import Engine
from eyeline.analyses.engines.fold import PartsFolded, fold_parts
from eyeline.analyses.engines.parts import Part, parts_of
from eyeline.analyses.engines.work import Folded, Work
from eyeline.analyses.prepare import Preparation, documents_of
from eyeline.analyses.progress import ReportWork
from eyeline.analyses.space.shared_inputs import InputKeeper, SharedInputs
from eyeline.capture.collect import Collector, Sides
from eyeline.capture.projections.record import LayerKey
from eyeline.capture.selection import check_layers
from eyeline.capture.stack import Stack
from eyeline.errors import Advice, ModelError, TextError, TraceError
from eyeline.models.model import Model
from eyeline.results.space.stack import Vectors
from eyeline.results.space.tokens import SpaceTokens
from eyeline.text.corpora.corpus import Corpus
from eyeline.text.tokenized import TokenizedText

#: The most bytes of attention that are kept.
MOST_MAP_BYTES = 6 << 30


@dataclass(frozen=True)
class CapturedStack:
    """One stack of every text. Head h of `vectors` is head `heads[h]` of the model; keys and values are as many as heads.

    weights   for each text [layer, head, query, key]
    visible   for each text [layer, query, key], True where a query may attend; None: everywhere
    shared    the inputs from which the keys are computed, where they were kept
    plain     whether attention is the softmax of scale · q·k over the visible keys, and nothing else
    """

    name: str
    layers: tuple[int, ...]
    heads: tuple[int, ...]
    query_tokens: SpaceTokens
    key_tokens: SpaceTokens
    vectors: Vectors
    weights: tuple[np.ndarray, ...]
    visible: tuple[np.ndarray | None, ...]
    plain: bool
    shared: SharedInputs | None = None

    def rows(self, text: int) -> tuple[slice, slice]:
        """The rows of this text among the queries and among the keys."""
        q, k = self.query_tokens.starts, self.key_tokens.starts
        return slice(int(q[text]), int(q[text + 1])), slice(int(k[text]), int(k[text + 1]))


@dataclass(frozen=True)
class Captured:
    """The result of one pass over a corpus; counts as in a run, seconds of the forward passes and of reading. folded: where it ran"""

    stacks: dict[str, CapturedStack]
    counts: dict[str, int]
    seconds: float
    folded: PartsFolded = field(default_factory=PartsFolded)


@dataclass(frozen=True)
class CapturedText:
    """One text: stack → what was recorded; inputs: what enters each layer, [key, hidden], where it was kept."""

    stacks: dict[str, Stack]
    inputs: dict[LayerKey, np.ndarray]


@dataclass(frozen=True)
class CaptureWork(Work[Part[Sides], tuple[CapturedText, ...]]):
    """Records texts, for any engine. layers, heads: of each stack; keep: weights, queries …; shared: also the inputs of the keys."""

    layers: dict[str, tuple[int, ...]]
    heads: dict[str, tuple[int, ...]]
    keep: tuple[str, ...]
    shared: bool

    def open(self, model: Model) -> Callable[[Part[Sides]], Folded[tuple[CapturedText, ...]]]:
        keeper = InputKeeper(model, self.layers) if self.shared else None

        def fold(part: Part[Sides]) -> Folded[tuple[CapturedText, ...]]:
            collector = Collector(model.layout, self.layers, self.keep)
            inputs: list[dict[LayerKey, np.ndarray]] = [{} for _ in part.items]
            if keeper is None:
                model.stream_layers(part.items, collector.receive)
            else:
                inputs = keeper.stream(part.items, collector.receive)
            texts = tuple(
                CapturedText({name: _few_heads(stack, self.heads[name]) for name, stack in collector.stacks(row, sides).items()}, entered)
                for row, (sides, entered) in enumerate(zip(part.items, inputs, strict=True))
            )
            return Folded(texts, sum(len(sides.source) for sides in part.items))

        return fold


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
            f"No queries and keys of {model.name}: {model.layout.why_weights_only}.", "Its attention can be analysed: eyeline analyse."
        )
    chosen = check_layers(model.layout, layers)
    numbers = {stack: _check_heads(model, stack, chosen[stack], heads) for stack in chosen}
    preparation = Preparation(model, max_tokens)
    read: list[Sides] = []
    tags: list[tuple[str, ...]] = []
    names: list[str] = []
    for document in documents_of(corpus, model, pairs=False, limit=limit, max_tokens=max_tokens, seed=seed):
        for sides in preparation.read(document):
            read.append(sides)
            tags.append(document.tags)
            names.append(f"document {preparation.counts['documents']} (line {document.line})")
    if not read:
        counts = preparation.counts
        raise TextError(
            f"None of the {counts['documents']:,} documents of {corpus.name} could be used.",
            f"{counts['too_long']:,} are longer than {preparation.longest} tokens, {counts['unreadable']:,} cannot be read.",
        )
    _check_room(read, numbers, model, chosen)
    started = time.monotonic()
    inputs = InputKeeper(model, chosen) if shared else None  # refuses a model without a shared space
    captured: dict[int, CapturedText] = {}
    work = CaptureWork(chosen, numbers, ("weights", "queries", "keys", "values") if values else ("weights", "queries", "keys"), shared)
    parts = parts_of(read, model.in_batches(read), names)
    folded = fold_parts(work, model, parts, lambda part, texts: captured.update(zip(part.indices, texts, strict=True)), engine, report)
    if not captured:
        raise TextError(f"Each of the {len(read):,} texts of {corpus.name} broke its worker.", *folded.reasons)
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
    used: dict[str, int] = {**preparation.counts, **folded.counts}
    if folded.left_out:
        lost = [read[index] for index in folded.left_out]
        used |= {"texts": len(kept), "tokens": used["tokens"] - sum(len(side.source) + len(side.target or ()) for side in lost)}
    return Captured(stacks, used, time.monotonic() - started, folded)


def _check_heads(model: Model, stack: str, layers: Sequence[int], heads: Collection[int] | None) -> tuple[int, ...]:
    counts = {model.layout.heads_by_layer(stack)[layer] for layer in layers}
    if len(counts) > 1:
        raise ModelError(
            f"The layers of the {stack} of {model.name} have different numbers of heads: {', '.join(map(str, sorted(counts)))}.",
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


def _check_room(read: Sequence[Sides], numbers: dict[str, tuple[int, ...]], model: Model, layers: dict[str, tuple[int, ...]]) -> None:
    needed = 0
    for stack, heads in numbers.items():
        pairs = sum(len(q) * len(k) for q, k in (side.of(stack) for side in read))
        needed += 4 * pairs * len(heads) * len(layers[stack])
    if needed > MOST_MAP_BYTES:
        raise TextError(
            f"The attention of these {len(read):,} texts takes {needed / 1e9:.1f} GB; at most {MOST_MAP_BYTES / 1e9:.1f} GB are kept.",
            Advice(
                "Take fewer or shorter texts: limit=…, max_tokens=…. Or fewer heads: layers=…, heads=….",
                "Take fewer or shorter texts: --limit, --max-tokens. Or fewer heads: --layers, --heads.",
                "Take fewer paragraphs.",
            ),
        )


def _few_heads(stack: Stack, heads: tuple[int, ...]) -> Stack:
    """The stack with these heads alone, each with keys and values of its own (where queries share keys, the shared ones)."""
    count = len(stack.weights_by_layer[0])
    if stack.n_key_heads == count and len(heads) == count:
        return stack
    shared = [head * stack.n_key_heads // count for head in heads]
    cut = {"weights": list(heads), "queries": list(heads), "keys": shared, "values": shared}
    by_layer = {f"{what}_by_layer": tuple(array[chosen] for array in getattr(stack, f"{what}_by_layer")) for what, chosen in cut.items()}
    return replace(stack, **by_layer)  # type: ignore[arg-type]


def _joined(texts: Sequence[Stack], tags: Sequence[tuple[str, ...]], heads: tuple[int, ...], values: bool) -> CapturedStack:
    first = texts[0]
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
            f"The {what} of {model.name} are not finite, first in {stack.name} layer {stack.layers[layer]}, head {stack.heads[head]}.",
            "Its weights are damaged, or its precision is too small for it. Load it in float32.",
        )
