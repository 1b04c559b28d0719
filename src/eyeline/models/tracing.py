"""From texts to traces, in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import torch

from eyeline.errors import TraceError
from eyeline.look.interventions import WEIGHTS, Intervention, KnockOut
from eyeline.look.stack import HalfLayers, Layers, Stack, single_precision
from eyeline.look.trace import KEEPABLE, Selection, Trace, TraceFacts
from eyeline.messages import Message
from eyeline.models.answer import Answerer
from eyeline.models.attention import LayerAttention, not_finite
from eyeline.models.context import context, context_notices
from eyeline.models.evaluation import evaluating
from eyeline.models.inputs import Example, ExampleReader, check_memory, check_tensors, label_positions
from eyeline.models.layout import Kept, Layout
from eyeline.models.opening import layout_of_inputs
from eyeline.models.passes import Passes, model_errors
from eyeline.models.single_precision import HALVES
from eyeline.text.encode import unknown_notices
from eyeline.text.source import Source
from eyeline.text.tokenized import TokenizedText
from eyeline.version import __version__

#: Texts go through the model in batches of at most this many texts and tokens, padding included.
BATCH_TEXTS, BATCH_TOKENS = 32, 4096


@dataclass(frozen=True)
class Tracer:
    """Makes the traces of one model."""

    passes: Passes
    reader: ExampleReader
    answerer: Answerer
    revision: str | None
    weights: Callable[[], str]

    def traces(self, sources: Sequence[Source], wanted: Selection, truncate: bool) -> list[Trace]:
        """A trace for each text, in order."""
        layout = self.passes.layout
        kept = Kept.of(layout, wanted)
        read = [self.reader.read(source, truncate) for source in sources]
        check_memory(layout, kept, read, self.passes.hf.dtype.itemsize)
        traces: dict[int, Trace] = {}
        about = self.about()
        for batch in in_batches(layout, read):
            new = self._trace_batch([read[i] for i in batch], kept, about)
            for trace in new:
                check_finite(trace)
            traces |= zip(batch, new, strict=True)
        return [traces[i] for i in range(len(sources))]

    def _trace_batch(
        self, examples: Sequence[Example], kept: Kept, about: TraceFacts, changes: tuple[Intervention, ...] = ()
    ) -> list[Trace]:
        collector = Collector(self.passes.layout, kept)
        inputs = self.passes.inputs(examples)
        rows = kept.block(self.passes.layout)
        result = self.passes.layers(examples, collector.receive, inputs=inputs, rows=rows, interventions=changes, answered=True)
        answers = self.answerer.answers(result, inputs, examples)
        return [
            Trace(self.passes.name, collector.stacks(i, example), self._of_text(about, example, collector, i), answer)
            for i, (example, answer) in enumerate(zip(examples, answers, strict=True))
        ]

    def changed_trace(self, source: Source, changes: tuple[Intervention, ...], wanted: Selection, truncate: bool) -> Trace:
        """The attention of one text while the model is changed: never from the cache, and never kept there."""
        layout = self.passes.layout
        kept = Kept.of(layout, wanted)
        example = self.reader.read(source, truncate)
        check_memory(layout, kept, [example], self.passes.hf.dtype.itemsize)
        trace = self._trace_batch([example], kept, self.about(), changes)[0]
        names = [str(change) for change in changes]
        if not_finite_layer(trace) is not None:
            raise TraceError(Message("refusal.computes_not_finite", changes="; ".join(names)), Message("refusal.scale_less"))
        notices = [*trace.notices, *(Message("notice.changed", change=change) for change in names)]
        stacks = trace.stacks
        if any(isinstance(change, KnockOut) and not change.renormalise for change in changes):  # what rows lack is not the sink's alone
            stacks = {name: replace(stack, sink=False) for name, stack in stacks.items()}
        return replace(trace, stacks=stacks, about={**trace.about, "interventions": names, "notices": notices})

    def trace_inputs(self, inputs: Mapping[str, torch.Tensor], tokens: Sequence[str] | None, wanted: Selection) -> Trace:
        """The attention on one input given as tensors."""
        layout, hf, name = self.passes.layout, self.passes.hf, self.passes.name
        tensors = {key: tensor.to(hf.device) for key, tensor in check_tensors(inputs).items()}
        if layout.recorded and any(key.startswith("pixel_values") and key not in layout.read for key in tensors):
            with evaluating(hf, alone=True), model_errors(hf, name, tensors):
                layout = layout_of_inputs(hf, layout, tensors)
            passes = replace(self.passes, body=hf, layout=layout)
            return replace(self, passes=passes, answerer=Answerer(passes)).trace_inputs(inputs, tokens, wanted)
        collector = Collector(layout, Kept.of(layout, wanted))
        result = self.passes.layers(None, collector.receive, inputs=tensors, answered=True)
        example = label_positions(collector.sizes, inputs, tokens, self.passes.tokenizer)
        about = self._of_text(self.about(), example, collector, 0)
        trace = Trace(name, collector.stacks(0, example), about, self.answerer.answers(result, tensors, [example])[0])
        if "attention_mask" not in tensors:  # what it hides may be anything
            check_finite(trace)
        return trace

    def about(self) -> TraceFacts:
        """What a trace of a pass that is made now says of itself, beside its text."""
        around = context(self.passes.hf)
        about: TraceFacts = {
            "model": self.passes.name,
            "revision": self.revision,
            "class": type(self.passes.hf).__name__,
            "dtype": str(self.passes.hf.dtype).removeprefix("torch."),
            "device": self.passes.hf.device.type,
            WEIGHTS: self.weights(),
            "eyeline": __version__,
            "notices": [*self.passes.layout.notices, *context_notices(around)],
        }
        return {**about, "context": around} if around else about

    def _of_text(self, about: TraceFacts, example: Example, collector: Collector, text: int) -> TraceFacts:
        texts = [example.source, *([] if example.target is None else [example.target])]
        notices = [*about["notices"], *example.notices, *unknown_notices(texts, self.passes.tokenizer)]
        whole: TraceFacts = {**about, "tokens": sum(map(len, texts)), "notices": notices}
        rounded = collector.rounded.get(text)
        return whole if rounded is None else {**whole, "rounded": rounded}


# ---- Batches


def in_batches(layout: Layout, read: Sequence[Example], max_tokens: int = BATCH_TOKENS, max_texts: int | None = None) -> list[list[int]]:
    """Indices of texts that may go through the model together: of similar length, or of one length where padding would show."""
    if not layout.padding_shows:
        return batches([len(example.source) for example in read], max_batch=max_texts or BATCH_TEXTS, max_tokens=max_tokens)
    by_length: dict[tuple[int, int], list[int]] = {}
    for i, example in enumerate(read):
        by_length.setdefault((len(example.source), len(example.target or ())), []).append(i)
    return [
        [same[i] for i in batch]
        for same in by_length.values()
        for batch in batches([len(read[i].source) for i in same], max_batch=max_texts or BATCH_TEXTS, max_tokens=max_tokens)
    ]


def batches(lengths: Sequence[int], max_batch: int, max_tokens: int) -> list[list[int]]:
    """Indices of the texts in batches of at most max_batch texts and max_tokens padded tokens (texts × longest).

    Texts of similar length are together, so that little of a batch is padding.

    Longest first, so that a run that does not fit in memory fails at once and not after an hour. Each index comes exactly once: put
    results back with `out[index] = …`. A single text longer than max_tokens is a batch of its own. Equal lengths keep their order.

    >>> batches([3, 9, 4, 8], max_batch=8, max_tokens=18)
    [[1, 3], [2, 0]]
    """
    if max_batch < 1 or max_tokens < 1:
        raise ValueError(f"max_batch={max_batch}, max_tokens={max_tokens}: both must be at least 1.")
    result: list[list[int]] = []
    longest = 0  # of the open batch: its first
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if result and len(result[-1]) < max_batch and (len(result[-1]) + 1) * longest <= max_tokens:
            result[-1].append(index)
        else:
            result.append([index])
            longest = lengths[index]
    return result


# ---- The layers of a batch become one trace for each text, without its padding


class StackTexts(Protocol):
    """The tokens of one text, as an `Example` has them."""

    def of(self, stack: str, /) -> tuple[TokenizedText, TokenizedText]:
        """The texts of the queries and of the keys of a stack."""


def not_finite_layer(trace: Trace) -> tuple[str, int] | None:
    """The stack and the number of the first layer whose attention is nan; None where all of it is finite."""
    for name, stack in trace.stacks.items():
        for layer, weights in zip(stack.layers, stack.weights_by_layer, strict=False):
            if not np.isfinite(weights).all():
                return name, layer
    return None


def check_finite(trace: Trace) -> None:
    """Refuse attention that is nan, as a damaged weight or a number too large for half precision makes it."""
    broken = not_finite_layer(trace)
    if broken is not None:
        raise not_finite(trace.model, *broken)


@dataclass
class Collector:
    """Keeps what is chosen of each layer as it is received, without a copy or in one block for each stack and text.

    rounded   of each text whose weights were kept in float16: the largest change of one by it
    """

    layout: Layout
    kept: Kept
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)  # stack → queries and keys, padding included
    rounded: dict[int, float] = field(default_factory=dict)
    _arrays: dict[tuple[str, int, str], list[np.ndarray]] = field(default_factory=dict)
    _blocks: dict[tuple[str, int, str], np.ndarray] = field(default_factory=dict)
    _masks: dict[tuple[str, int], list[np.ndarray | None]] = field(default_factory=dict)
    _biases: dict[tuple[str, int], list[np.ndarray | None]] = field(default_factory=dict)
    _gates: dict[tuple[str, int], list[np.ndarray | None]] = field(default_factory=dict)
    _scales: dict[str, list[float]] = field(default_factory=dict)
    _parts: dict[int, list[_KeptOfText]] = field(default_factory=dict)

    def receive(self, attention: LayerAttention) -> None:
        """Take one layer of the batch, or the next queries of one whose map is not made whole."""
        stack, call = attention.stack, attention.recorded
        longest = max(attention.n_queries)
        self.sizes[stack] = (longest, max(attention.n_keys))
        if attention.layer not in self.kept.layers[stack]:
            return
        first = 0 if call is None else call.first
        if call is not None and first == 0:
            self._scales.setdefault(stack, []).append(call.scale)
        ends = first + attention.weights.shape[2] >= longest
        for text in range(len(attention.n_queries)):
            part = _KeptOfText.of(attention, text, self.kept)
            if first or not ends:
                parts = self._parts.setdefault(text, [])
                parts.append(part.copied())
                if not ends:
                    continue
                part = _KeptOfText.joined(self._parts.pop(text))
            self._keep(stack, text, part)

    def _keep(self, stack: str, text: int, part: _KeptOfText) -> None:
        if "weights" in self.kept.what:
            self._take(stack, text, "weights", part.weights)
        if part.queries is None:
            return
        for what in ("queries", "keys", "values"):
            if what in self.kept.what:
                self._take(stack, text, what, getattr(part, what))
        if "values" in self.kept.what:
            gates = None if part.gates is None else part.gates.float().cpu().numpy()
            self._gates.setdefault((stack, text), []).append(gates)
        if {"queries", "keys"} & set(self.kept.what):
            mask, bias = visible_and_bias(part.mask, part.bias)
            masks = self._masks.setdefault((stack, text), [])
            masks.append(next((m for m in masks if m is not None and mask is not None and np.array_equal(m, mask)), mask))
            self._biases.setdefault((stack, text), []).append(bias)

    def _take(self, stack: str, text: int, what: str, tensor: torch.Tensor) -> None:
        """Copy one array, where its memory is not ours alone: in single precision or, of halves, in 16 bits."""
        half = tensor.dtype in HALVES and self.kept.precision != "float32"
        dtype: Any = np.float16 if half else np.float64 if tensor.dtype == torch.float64 else np.float32
        bits = half and tensor.dtype == torch.bfloat16 and what != "weights"
        rounds = False
        if bits:
            tensor, dtype = tensor.view(torch.int16), np.int16
        elif what == "weights" and (half or self.kept.precision == "float16"):
            dtype, rounds = np.float16, True
        key, n_layers = (stack, text, what), len(self.kept.layers[stack])
        arrays = self._arrays.setdefault(key, [])
        if _is_ours_alone(tensor, dtype):
            copy = tensor.numpy()
        else:
            shape = tuple(tensor.shape)
            if key not in self._blocks:
                self._blocks[key] = np.empty((n_layers, *shape), dtype=dtype)  # [layer, …]; pages are touched only as layers come
            block = self._blocks[key]
            copy = block[len(arrays)] if block.shape[1:] == shape and block.dtype == dtype else np.empty(shape, dtype=dtype)
            slow = rounds and tensor.dtype == torch.bfloat16 and tensor.device.type == "cpu"  # twice as fast by way of float32
            through = tensor.float() if slow else tensor
            torch.from_numpy(copy).copy_(through)
        arrays.append(copy.view(np.uint16) if bits else copy)
        if rounds:
            self._note_rounding(text, tensor, torch.from_numpy(copy))

    def _note_rounding(self, text: int, weights: torch.Tensor, kept: torch.Tensor) -> None:
        """The largest change of a weight by float16; a few heads at a time, so that no second map is held.

        weights, kept   [head, query, key]: as they were, and in float16; on another device than ours they are rounded once more there"""
        largest = 0.0
        if weights.dtype != torch.float16 and weights.numel():
            at_once = max(1, ROUNDED_AT_ONCE // weights[0].numel())
            wide = torch.promote_types(weights.dtype, torch.float32)
            changes: list[torch.Tensor] = []
            for first in range(0, len(weights), at_once):
                part = weights[first : first + at_once]
                half = kept[first : first + at_once] if part.device == kept.device else part.half()
                changes += half.to(wide).sub_(part).aminmax()
            largest = float(torch.stack(changes).abs().amax())
        self.rounded[text] = max(self.rounded.get(text, 0.0), largest)

    def stacks(self, text: int, example: StackTexts) -> dict[str, Stack]:
        """What was collected for one text of the batch, with its tokens; a stack that made no call is left out."""
        stacks = {}
        for stack in filter(self.sizes.__contains__, self.layout.stacks):
            arrays: dict[str, Any] = {f"{what}_by_layer": _as_layers(self._arrays.get((stack, text, what), ())) for what in KEEPABLE}
            query_text, key_text = example.of(stack)
            gates = tuple(self._gates.get((stack, text), ()))
            rows = self.kept.rows_of(len(query_text))
            collected = Stack(
                name=stack,
                query_text=query_text.only(rows) if rows else query_text,
                key_text=key_text,
                layers=self.kept.layers[stack],
                mask_by_layer=tuple(self._masks.get((stack, text), ())),
                bias_by_layer=tuple(self._biases.get((stack, text), ())),
                gates_by_layer=() if all(layer is None for layer in gates) else gates,
                scales=tuple(self._scales.get(stack, ())),
                plain=self.layout.plain(stack),
                sink=self.layout.has_sink(stack),
                heads=self.kept.heads.get(stack, ()),
                rows=rows,
                **arrays,
            )
            stacks[stack] = collected if self.layout.recorded else replace(collected, why_missing=self.layout.why_weights_only)
        return stacks


#: Weights that are looked at together for what float16 changes.
ROUNDED_AT_ONCE = 1 << 22


#: The tensors of a part that have an axis of queries.
BY_ROW = ("weights", "queries", "mask", "bias", "gates")


@dataclass(frozen=True)
class _KeptOfText:
    """What of one layer is kept for one text, without padding: heads and queries that were chosen. Of a call that is not recorded,
    the weights alone.

    weights [head, query, key] · queries [head, query, dim] · keys, values [key head, key, dim] · mask [1 or head, query, key] ·
    bias [head, query, key] · gates [head, query, dim]
    """

    weights: torch.Tensor
    queries: torch.Tensor | None = None
    keys: torch.Tensor | None = None
    values: torch.Tensor | None = None
    mask: torch.Tensor | None = None
    bias: torch.Tensor | None = None
    gates: torch.Tensor | None = None

    @classmethod
    def of(cls, attention: LayerAttention, text: int, kept: Kept) -> _KeptOfText:
        call, weights = attention.recorded, attention.weights[text]
        n_heads, n_now, _ = weights.shape
        n_queries, keys = attention.n_queries[text], slice(attention.n_keys[text])
        first = 0 if call is None else call.first
        wanted = kept.rows_of(n_queries)
        rows = [row - first for row in wanted if first <= row < first + n_now] if wanted else slice(max(0, n_queries - first))
        chosen = list(kept.heads.get(attention.stack, ()))
        heads = chosen or slice(None)
        weights = weights[heads][:, rows, keys]
        if call is None:
            return cls(weights)
        shared = [head * call.keys.shape[1] // n_heads for head in chosen] or slice(None)  # of each head
        mask = None if call.mask is None else call.mask[text if len(call.mask) > 1 else 0].expand(-1, n_now, -1)
        bias = None if call.bias is None else call.bias[text if len(call.bias) > 1 else 0].expand(-1, n_now, -1)
        return cls(
            weights,
            call.queries[text][heads][:, rows],
            call.keys[text][shared][:, keys],
            call.values[text][shared][:, keys],
            None if mask is None else mask[heads if len(mask) > 1 else slice(None)][:, rows, keys],
            None if bias is None else bias[heads][:, rows, keys],
            None if call.gates is None else call.gates[text].transpose(0, 1)[heads][:, rows],
        )

    def copied(self) -> _KeptOfText:
        """The same with memory of its own, but for keys and values, which all queries of a layer share."""
        by_row: dict[str, Any] = {name: None if (each := getattr(self, name)) is None else each.clone() for name in BY_ROW}
        return replace(self, **by_row)

    @classmethod
    def joined(cls, parts: Sequence[_KeptOfText]) -> _KeptOfText:
        """The queries of all parts, one after the other."""
        by_row: dict[str, Any] = {}
        for name in BY_ROW:
            tensors = [getattr(part, name) for part in parts]
            by_row[name] = None if tensors[0] is None else torch.cat(tensors, 1)
        return replace(parts[0], **by_row)


def _as_layers(arrays: Sequence[np.ndarray]) -> Layers:
    """One array for each layer, in 16 bits if all of them are in the same ones."""
    kinds = {array.dtype for array in arrays}
    if len(kinds) == 1 and kinds <= {np.dtype(np.float16), np.dtype(np.uint16)}:
        return HalfLayers(tuple(arrays))
    return tuple(map(single_precision, arrays))


def _is_ours_alone(tensor: torch.Tensor, dtype: Any) -> bool:
    """Whether we keep all of a tensor's memory (one text, no padding, on the CPU): then it is used as it is, not copied."""
    return (
        tensor.device.type == "cpu"
        and tensor.dtype == torch.from_numpy(np.empty(0, dtype)).dtype
        and tensor.is_contiguous()
        and tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
    )


def visible_and_bias(mask: torch.Tensor | None, bias: torch.Tensor | None) -> tuple[np.ndarray | None, np.ndarray | None]:
    """What is added to the scores, as a visibility [query, key] (None: all) and a bias [head, query, key] (None: zero).

    Some families add a bias that differs by head (ALiBi) to the mask: what is neither zero nor minus infinity goes to the bias.
    """
    visible = None
    if mask is not None:
        hidden = mask <= torch.finfo(mask.dtype).min / 2  # [1 or head, query, key]
        if hidden.any():
            visible = (~hidden[0]).cpu().numpy()
        rest = mask.masked_fill(hidden, 0)
        if rest.any():
            bias = rest if bias is None else bias + rest
    if bias is None or not bias.any():
        return visible, None
    return visible, bias.float().cpu().numpy()
