"""Collect the layers of a batch into one trace for each text, without its padding."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from eyeline.capture.layer import LayerAttention
from eyeline.capture.layout import Layout
from eyeline.capture.stack import Stack
from eyeline.capture.trace_file import KEEPABLE
from eyeline.text.tokenized import TokenizedText


@dataclass(frozen=True)
class Sides:
    """The tokens of one text: what the encoder reads, and what the decoder has written (encoder-decoder models)."""

    source: TokenizedText
    target: TokenizedText | None = None

    def of(self, stack: str) -> tuple[TokenizedText, TokenizedText]:
        """The texts of the queries and of the keys of a stack."""
        target = self.target or self.source
        return {"encoder": (self.source, self.source), "decoder": (target, target), "cross": (target, self.source)}[stack]


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
    _scales: dict[str, list[float]] = field(default_factory=dict)

    def receive(self, attention: LayerAttention) -> None:
        """Take one layer of the batch."""
        self.sizes[attention.stack] = (attention.weights.shape[2], attention.weights.shape[3])
        if attention.layer not in self.layers[attention.stack]:
            return
        if attention.scale is not None:
            self._scales.setdefault(attention.stack, []).append(attention.scale)
        for text in range(len(attention.n_queries)):
            rows = {"weights": attention.n_queries, "queries": attention.n_queries}
            for what in KEEPABLE:
                tensor: torch.Tensor | None = getattr(attention, what)
                if what in self.keep and tensor is not None:
                    part = tensor[text, :, : rows.get(what, attention.n_keys)[text]]
                    self._take(attention.stack, text, what, part[..., : attention.n_keys[text]] if what == "weights" else part)
            if {"queries", "keys"} & set(self.keep) and attention.queries is not None:
                self._take_terms(attention, text)

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

    def _take_terms(self, attention: LayerAttention, text: int) -> None:
        mask, bias = _split_terms(
            None if attention.mask is None else attention.mask[text, :, : attention.n_queries[text], : attention.n_keys[text]],
            None if attention.bias is None else attention.bias[text if len(attention.bias) > 1 else 0],
        )
        if bias is not None:
            bias = bias[:, : attention.n_queries[text], : attention.n_keys[text]]
        masks = self._masks.setdefault((attention.stack, text), [])
        same = next((m for m in masks if m is not None and mask is not None and np.array_equal(m, mask)), mask)
        masks.append(same)
        self._biases.setdefault((attention.stack, text), []).append(bias)

    def stacks(self, text: int, sides: Sides) -> dict[str, Stack]:
        """What was collected for one text of the batch, with its tokens."""
        stacks = {}
        for stack in self.layout.stacks:
            arrays = {f"{what}_by_layer": tuple(self._arrays.get((stack, text, what), ())) for what in KEEPABLE}
            query_text, key_text = sides.of(stack)
            collected = Stack(
                name=stack,
                query_text=query_text,
                key_text=key_text,
                layers=self.layers[stack],
                mask_by_layer=tuple(self._masks.get((stack, text), ())),
                bias_by_layer=tuple(self._biases.get((stack, text), ())),
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


def _split_terms(mask: torch.Tensor | None, bias: torch.Tensor | None) -> tuple[np.ndarray | None, np.ndarray | None]:
    """What is added to the scores, as a visibility [query, key] (None: all) and a bias [head, query, key] (None: zero).

    Some families fold a bias that differs by head (ALiBi) into the mask: what is neither zero nor minus infinity goes to the bias.
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
