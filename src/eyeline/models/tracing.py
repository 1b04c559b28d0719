"""From texts to traces, in batches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import torch

from eyeline.errors import TraceError
from eyeline.look.interventions import WEIGHTS, Intervention
from eyeline.look.stack import Stack
from eyeline.look.trace import KEEPABLE, Trace, TraceFacts
from eyeline.messages import Message
from eyeline.models.answer import Answerer
from eyeline.models.attention import AttentionCall, LayerAttention
from eyeline.models.context import context, context_notices
from eyeline.models.inputs import Example, ExampleReader, check_memory, check_tensors, label_positions
from eyeline.models.layout import Layout, check_keep, check_layers
from eyeline.models.passes import Passes
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

    def traces(self, sources: Sequence[Source], layers: Iterable[int] | None, keep: Collection[str], truncate: bool) -> list[Trace]:
        """A trace for each text, in order."""
        layout = self.passes.layout
        chosen, keep = check_layers(layout, layers), check_keep(keep, layout)
        read = [self.reader.read(source, truncate) for source in sources]
        check_memory(layout, chosen, keep, read)
        traces: dict[int, Trace] = {}
        about = self.about()
        for batch in in_batches(layout, read):
            traces |= zip(batch, self._trace_batch([read[i] for i in batch], chosen, keep, about), strict=True)
        return [traces[i] for i in range(len(sources))]

    def _trace_batch(
        self,
        examples: Sequence[Example],
        chosen: dict[str, tuple[int, ...]],
        keep: Collection[str],
        about: TraceFacts,
        changes: tuple[Intervention, ...] = (),
    ) -> list[Trace]:
        collector = Collector(self.passes.layout, chosen, keep)
        inputs = self.passes.inputs(examples)
        result = self.passes.layers(examples, collector.receive, inputs=inputs, interventions=changes, answered=True)
        answers = self.answerer.answers(result, inputs, examples)
        return [
            Trace(self.passes.name, collector.stacks(i, example), self._of_text(about, example), answer)
            for i, (example, answer) in enumerate(zip(examples, answers, strict=True))
        ]

    def changed_trace(
        self, source: Source, changes: tuple[Intervention, ...], layers: Iterable[int] | None, keep: Collection[str], truncate: bool
    ) -> Trace:
        """The attention of one text while the model is changed: never from the cache, and never kept there."""
        layout = self.passes.layout
        chosen, keep = check_layers(layout, layers), check_keep(keep, layout)
        example = self.reader.read(source, truncate)
        check_memory(layout, chosen, keep, [example])
        trace = self._trace_batch([example], chosen, keep, self.about(), changes)[0]
        names = [str(change) for change in changes]
        if not all(np.isfinite(weights).all() for stack in trace.stacks.values() for weights in stack.weights_by_layer):
            raise TraceError(f"With {'; '.join(names)} the model computes nan or infinite.", "Scale by a smaller number.")
        notices = [*trace.notices, *(Message("notice.changed", change=change) for change in names)]
        return replace(trace, about={**trace.about, "interventions": names, "notices": notices})

    def trace_inputs(
        self, inputs: Mapping[str, torch.Tensor], tokens: Sequence[str] | None, layers: Iterable[int] | None, keep: Collection[str]
    ) -> Trace:
        """The attention on one input given as tensors."""
        layout, hf, name = self.passes.layout, self.passes.hf, self.passes.name
        chosen, keep = check_layers(layout, layers), check_keep(keep, layout)
        collector = Collector(layout, chosen, keep)
        tensors = {key: tensor.to(hf.device) for key, tensor in check_tensors(inputs).items()}
        result = self.passes.layers(None, collector.receive, inputs=tensors, answered=True)
        example = label_positions(collector.sizes, inputs, tokens, self.passes.tokenizer)
        about = self._of_text(self.about(), example)
        return Trace(name, collector.stacks(0, example), about, self.answerer.answers(result, tensors, [example])[0])

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

    def _of_text(self, about: TraceFacts, example: Example) -> TraceFacts:
        texts = [example.source, *([] if example.target is None else [example.target])]
        notices = [*about["notices"], *example.notices, *unknown_notices(texts, self.passes.tokenizer)]
        return {**about, "tokens": sum(map(len, texts)), "notices": notices}


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


@dataclass
class Collector:
    """Keeps the chosen tensors of each layer as it is received, without a copy or in one block for each stack and text."""

    layout: Layout
    layers: dict[str, tuple[int, ...]]
    keep: Collection[str]
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)  # stack → queries and keys, padding included
    _arrays: dict[tuple[str, int, str], list[np.ndarray]] = field(default_factory=dict)
    _blocks: dict[tuple[str, int, str], np.ndarray] = field(default_factory=dict)
    _masks: dict[tuple[str, int], list[np.ndarray | None]] = field(default_factory=dict)
    _biases: dict[tuple[str, int], list[np.ndarray | None]] = field(default_factory=dict)
    _gates: dict[tuple[str, int], list[np.ndarray | None]] = field(default_factory=dict)
    _scales: dict[str, list[float]] = field(default_factory=dict)

    def receive(self, attention: LayerAttention) -> None:
        """Take one layer of the batch."""
        self.sizes[attention.stack] = (attention.weights.shape[2], attention.weights.shape[3])
        if attention.layer not in self.layers[attention.stack]:
            return
        call = attention.recorded
        if call is not None:
            self._scales.setdefault(attention.stack, []).append(call.scale)
        for text, (n_queries, n_keys) in enumerate(zip(attention.n_queries, attention.n_keys, strict=True)):
            if "weights" in self.keep:
                self._take(attention.stack, text, "weights", attention.weights[text, :, :n_queries, :n_keys])
            if call is None:
                continue
            for what, n in (("queries", n_queries), ("keys", n_keys), ("values", n_keys)):
                if what in self.keep:
                    self._take(attention.stack, text, what, getattr(call, what)[text, :, :n])
            if "values" in self.keep:
                gates = None if call.gates is None else call.gates[text, :n_queries].transpose(0, 1).float().cpu().numpy()
                self._gates.setdefault((attention.stack, text), []).append(gates)
            if {"queries", "keys"} & set(self.keep):
                self._take_mask_and_bias(attention, call, text)

    def _take(self, stack: str, text: int, what: str, tensor: torch.Tensor) -> None:
        key, n_layers = (stack, text, what), len(self.layers[stack])
        arrays = self._arrays.setdefault(key, [])
        if _is_ours_alone(tensor):
            arrays.append(tensor.numpy())
            return
        dtype = np.float64 if tensor.dtype == torch.float64 else np.float32
        shape = tuple(tensor.shape)
        if key not in self._blocks:
            self._blocks[key] = np.empty((n_layers, *shape), dtype=dtype)  # [layer, …]; pages are touched only as layers come
        block = self._blocks[key]
        copy = block[len(arrays)] if block.shape[1:] == shape and block.dtype == dtype else np.empty(shape, dtype=dtype)
        torch.from_numpy(copy).copy_(tensor)
        arrays.append(copy)

    def _take_mask_and_bias(self, attention: LayerAttention, call: AttentionCall, text: int) -> None:
        rows, columns = slice(attention.n_queries[text]), slice(attention.n_keys[text])
        mask, bias = visible_and_bias(
            None if call.mask is None else call.mask[text, :, rows, columns],
            None if call.bias is None else call.bias[text if len(call.bias) > 1 else 0],
        )
        if bias is not None:
            bias = bias[:, rows, columns]
        masks = self._masks.setdefault((attention.stack, text), [])
        same = next((m for m in masks if m is not None and mask is not None and np.array_equal(m, mask)), mask)
        masks.append(same)
        self._biases.setdefault((attention.stack, text), []).append(bias)

    def stacks(self, text: int, example: StackTexts) -> dict[str, Stack]:
        """What was collected for one text of the batch, with its tokens; a stack that made no call is left out."""
        stacks = {}
        for stack in filter(self.sizes.__contains__, self.layout.stacks):
            arrays = {f"{what}_by_layer": tuple(self._arrays.get((stack, text, what), ())) for what in KEEPABLE}
            query_text, key_text = example.of(stack)
            gates = tuple(self._gates.get((stack, text), ()))
            collected = Stack(
                name=stack,
                query_text=query_text,
                key_text=key_text,
                layers=self.layers[stack],
                mask_by_layer=tuple(self._masks.get((stack, text), ())),
                bias_by_layer=tuple(self._biases.get((stack, text), ())),
                gates_by_layer=() if all(layer is None for layer in gates) else gates,
                scales=tuple(self._scales.get(stack, ())),
                plain=self.layout.plain(stack),
                **arrays,  # type: ignore[arg-type]
            )
            stacks[stack] = collected if self.layout.recorded else replace(collected, why_missing=self.layout.why_weights_only)
        return stacks


def _is_ours_alone(tensor: torch.Tensor) -> bool:
    """Whether we keep all of a tensor's memory (one text, no padding, on the CPU): then it is used as it is, not copied."""
    return (
        tensor.device.type == "cpu"
        and tensor.dtype in (torch.float32, torch.float64)
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
