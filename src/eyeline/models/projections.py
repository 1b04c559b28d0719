"""The projections inside a model's attention as matrices, and what enters them for a text.

They are found by what they compute: a short pass is followed, no attribute name is read. The module whose output is the recorded queries
(keys, values), column by column in any order, is the projection that made them: a plain linear module, a fused one, or one with an
adapter. The module whose input is the heads' outputs side by side is the output projection.

Rotary embedding turns the vectors of every position but the first, so the first tokens of several short texts are compared where all
positions do not agree. Where the vectors are normalised, the search continues with the input of the normalisation.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from eyeline.errors import ModelError
from eyeline.messages import Message
from eyeline.models.attention import AttentionCall, LayerAttention, reading_gates, recording
from eyeline.models.evaluation import evaluating, lean_pass
from eyeline.models.layout import CallsOfPass, Layout
from eyeline.models.model import Model
from eyeline.models.opening import plain_ids, tiny_inputs

#: The stack and the number of a layer, as in `Layout.slots`.
LayerKey = tuple[str, int]

#: The projection whose input is meant. In cross attention the three have different inputs.
Side = Literal["query", "key", "value"]


@dataclass(frozen=True)
class Projection:
    """From the layer's input to the vectors of each head: vector[h] = weight[h] · x + bias[h].

    weight   [head or key head, dim, hidden], a factor that the model puts on its queries included
    bias     [head or key head, dim], or None
    module   the name of the module of the model that does it (`model.hf.get_submodule(name)`)
    norm     whether the model normalises the vectors afterwards (Qwen 3), which is not linear
    """

    weight: np.ndarray
    bias: np.ndarray | None
    module: str
    norm: bool = False

    def of(self, inputs: np.ndarray) -> np.ndarray:
        """The vectors of every head: [token, hidden] → [head, token, dim]."""
        vectors: np.ndarray = np.einsum("hdx,tx->htd", self.weight, inputs)
        return vectors if self.bias is None else vectors + self.bias[:, None]


@dataclass(frozen=True)
class OutputProjection:
    """From head outputs to what the layer adds to the token's vector: Σ_h weight[h] · output[h] + bias.

    weight   [head, hidden, dim]
    bias     [hidden], or None
    module   the name of the module that does it
    """

    weight: np.ndarray
    bias: np.ndarray | None
    module: str

    def by_head(self, outputs: np.ndarray) -> np.ndarray:
        """What each head adds: [head, token, dim] → [head, token, hidden]. Their sum plus the bias is what the layer adds."""
        added: np.ndarray = np.einsum("hxd,htd->htx", self.weight, outputs)
        return added


@dataclass(frozen=True)
class Projections:
    """The projections of one attention module. A projection that could not be found is None, and `missing` says why, by its name.

    rotary   queries and keys are rotated by their position afterwards; projections give them as they are before
    """

    query: Projection | None
    key: Projection | None
    value: Projection | None
    output: OutputProjection | None
    rotary: bool
    missing: Mapping[str, str] = field(default_factory=dict)


def projections(model: Model) -> dict[LayerKey, Projections]:
    """The projections of every attention module, by stack and layer: {("encoder", 0): Projections(…), …}.

    They are found by measurement: one short pass is followed, and a module counts as the projection whose numbers are the recorded ones.
    """
    if not model.layout.recorded:
        raise ModelError(Message("refusal.no_projections", model=model.name, why=model.layout.why_weights_only))
    with evaluating(model._hf):
        return find_projections(model._hf, model.layout, varied_inputs(model._hf, model._tokenizer))


@contextmanager
def watching_layer_inputs(
    model: Model, known: dict[LayerKey, Projections], side: Side
) -> Iterator[Callable[[LayerAttention], torch.Tensor | None]]:
    """Within this block, what entered the projection of a layer, [batch, token, hidden]: ask for it while the layer is received."""
    parts = {layer: getattr(record, side) for layer, record in known.items()}
    modules = {layer: part.module for layer, part in parts.items() if part is not None}
    with watching_inputs(model._hf, modules) as latest:
        yield lambda layer: latest((layer.stack, layer.layer)) if (layer.stack, layer.layer) in modules else None


# ---- The search


#: How far numbers may differ, as a part of the largest: in single precision, and in rounding steps of lower ones.
WITHIN, STEPS = 1e-5, 8

_PLURAL = {"query": "queries", "key": "keys", "value": "values"}


@dataclass(frozen=True)
class _Match:
    """The module that made the vectors, which of its columns they are, and what happens to them afterwards."""

    call: ModuleCall
    matrix: AffineMatrix
    columns: ColumnMatch
    norm: bool
    rotary: bool

    def projection(self, heads: int) -> Projection:
        weight = self.matrix.weight[:, self.columns.index] * self.columns.factor  # [hidden, head · dim]
        bias = _bias(self.matrix.bias[self.columns.index] * self.columns.factor)
        by_head = _array(weight.T.reshape(heads, -1, weight.shape[0]))
        return Projection(by_head, None if bias is None else bias.reshape(heads, -1), self.call.name, self.norm)


def find_projections(model: PreTrainedModel, layout: Layout, inputs: Mapping[str, torch.Tensor]) -> dict[LayerKey, Projections]:
    """The projections of every layer of a model whose attention can be recorded, from one pass over these inputs.

    inputs   several short texts with different first tokens, without padding (`varied_inputs`)
    """
    finder = _Finder(layout)
    followed = watching_modules(model, finder.receive_module), recording(finder.receive_attention), reading_gates(layout.readers)
    with torch.inference_mode(), followed[0], followed[1], followed[2]:
        model(**inputs, **lean_pass(model))
        finder.close()
    finder.calls.check(type(model).__name__, inputs)
    return finder.results


class _Finder:
    """Takes module calls and attention calls in order; compares at each attention call, so that few tensors are held."""

    def __init__(self, layout: Layout) -> None:
        self.results: dict[LayerKey, Projections] = {}
        self.calls = CallsOfPass(layout)
        self._layer: LayerKey | None = None  # whose output projection is still to come
        self._attention: AttentionCall | None = None
        self._calls: list[ModuleCall] = []  # since the last attention call
        self._matrices: dict[int, AffineMatrix | None] = {}
        self._trying = False

    def receive_module(self, call: ModuleCall) -> None:
        if not self._trying:
            self._calls.append(call)

    def receive_attention(self, call: AttentionCall) -> None:
        self.close()
        slot = self.calls.next_slot()
        if slot is not None:
            self._layer, self._attention = (slot.stack, slot.layer), call
            self.results[self._layer] = self._inputs_of(call)
        self._calls = []

    def close(self) -> None:
        """Add the output projection to the last attention call: the modules that were called after it are known now."""
        if self._attention is None or self._layer is None:
            return
        known = self.results[self._layer]
        output = self._output(self._attention)
        reason = {} if output else {"output": "no linear module after the attention takes the heads' outputs as they are"}
        complete = replace(known, output=output, missing={**known.missing, **reason})
        self.results[self._layer] = complete if self._layer[0] == "cross" else _without_low_rank(complete)
        self._attention = self._layer = None

    def _inputs_of(self, call: AttentionCall) -> Projections:
        matches = {
            "query": self._match(call.queries, rotary_possible=True),
            "key": self._match(call.keys, rotary_possible=True),
            "value": self._match(call.values, rotary_possible=False),
        }
        heads = {"query": call.queries.shape[1], "key": call.keys.shape[1], "value": call.values.shape[1]}
        parts = {name: match.projection(heads[name]) for name, match in matches.items() if match is not None}
        missing = {
            name: f"no linear module before the attention has the recorded {_PLURAL[name]} as its output"
            for name, match in matches.items()
            if match is None
        }
        rotary = any(match is not None and match.rotary for match in matches.values())
        return Projections(parts.get("query"), parts.get("key"), parts.get("value"), None, rotary, missing)

    def _match(self, vectors: torch.Tensor, *, rotary_possible: bool) -> _Match | None:
        """The linear module whose output these vectors are; where they are normalised, the one whose output enters the normalisation.

        vectors   [batch, head or key head, token, dim]
        """
        batch, heads, n, dim = vectors.shape
        target = vectors.transpose(1, 2).reshape(batch * n, heads * dim)
        norm = rotary = False
        for call in reversed(self._calls):
            if (matched := _columns_of(target, call, batch, n, rotary_possible and not norm)) is None:
                continue
            rotary |= matched.first_only
            known = self._linear(call)
            if known is not None:
                return _Match(call, known, matched.columns, norm, rotary)
            if call.input.shape != call.output.shape:
                return None
            entered = _views(call.input, batch, n)[matched.view]
            target, norm = entered[:, matched.columns.index], True
        return None

    def _output(self, call: AttentionCall) -> OutputProjection | None:
        """The outermost linear module whose input is the head outputs."""
        outputs = call.head_outputs()  # [batch, head, query, dim]
        batch, heads, n, dim = outputs.shape
        side_by_side = outputs.transpose(1, 2).reshape(batch * n, heads * dim)
        for later in reversed(self._calls):
            for entered in _views(later.input, batch, n):
                same_size = entered.shape == side_by_side.shape
                columns = match_columns(entered, side_by_side, _within(outputs)) if same_size else None
                if columns is None or (known := self._linear(later)) is None:
                    continue
                weight = torch.zeros_like(known.weight)  # [head · dim, hidden]
                weight.index_add_(0, columns.index, known.weight * columns.factor)
                return OutputProjection(_array(weight.reshape(heads, dim, -1).transpose(1, 2)), _bias(known.bias), later.name)
        return None

    def _linear(self, call: ModuleCall) -> AffineMatrix | None:
        if id(call.module) not in self._matrices:
            self._trying = True
            try:
                self._matrices[id(call.module)] = matrix_of(call, _within(call.output))
            finally:
                self._trying = False
        return self._matrices[id(call.module)]


@dataclass(frozen=True)
class _OutputColumns:
    """The columns of a module's output that are the target; in which view of it; and whether at the first position alone."""

    columns: ColumnMatch
    view: int
    first_only: bool


def _columns_of(target: torch.Tensor, call: ModuleCall, batch: int, n: int, rotary_possible: bool) -> _OutputColumns | None:
    """Which columns of the module's output make up the target, [batch · token, column]."""
    within = _within(call.output)
    for view, output in enumerate(_views(call.output, batch, n)):
        if (columns := match_columns(target, output, within)) is not None:
            return _OutputColumns(columns, view, False)
        if rotary_possible and n > 1 and (columns := match_columns(target[::n], output[::n], within)) is not None:
            return _OutputColumns(columns, view, True)
    return None


def _without_low_rank(known: Projections) -> Projections:
    """The same without projections that start from fewer numbers than a token's vector has (DeepSeek): what makes those is not linear."""
    if known.output is None:
        return known
    hidden = known.output.weight.shape[1]
    parts = {"query": known.query, "key": known.key, "value": known.value}
    low = {name: part for name, part in parts.items() if part is not None and part.weight.shape[2] != hidden}
    missing = {name: f"{part.module} reads {part.weight.shape[2]} numbers, not the {hidden} of a token" for name, part in low.items()}
    query, key, value = (None if name in low else part for name, part in parts.items())
    return replace(known, query=query, key=key, value=value, missing={**known.missing, **missing})


def _views(tensor: torch.Tensor, batch: int, n: int) -> list[torch.Tensor]:
    """The tensor as rows of tokens, [batch · token, column], in each way that its shape allows."""
    views = []
    if tensor.shape[:2] == (batch, n) or (tensor.ndim == 2 and len(tensor) == batch * n):
        views.append(tensor.reshape(batch * n, -1))
    if tensor.ndim == 4 and (tensor.shape[0], tensor.shape[2]) == (batch, n):
        views.append(tensor.transpose(1, 2).reshape(batch * n, -1))
    return views


def _within(tensor: torch.Tensor) -> float:
    return max(WITHIN, STEPS * torch.finfo(tensor.dtype).eps)


def _array(tensor: torch.Tensor) -> np.ndarray:
    array: np.ndarray = tensor.contiguous().cpu().numpy()
    return array


def _bias(tensor: torch.Tensor) -> np.ndarray | None:
    return _array(tensor) if bool(tensor.any()) else None


# ---- Several short inputs that differ from the first token on, so that columns of numbers can be distinguished


TEXTS, TEXT_LENGTH, TARGET_LENGTH = 24, 4, 3


def varied_inputs(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> dict[str, torch.Tensor]:
    """A batch of the kind that this model reads: ids of every text begin with another token, images and sound are noise."""
    generator = torch.Generator().manual_seed(0)
    ids = plain_ids(model, TEXTS + TEXT_LENGTH)
    inputs = {}
    for name, tensor in tiny_inputs(model, tokenizer).items():
        if tensor.is_floating_point():
            noise = torch.randn(TEXTS, *tensor.shape[1:], generator=generator)
            inputs[name] = noise.to(tensor.device, tensor.dtype)
        elif name.endswith("input_ids"):
            length = min(TARGET_LENGTH if name.startswith("decoder") else TEXT_LENGTH, len(ids))
            rows = [[ids[(text + position) % len(ids)] for position in range(length)] for text in range(TEXTS)]
            inputs[name] = torch.tensor(rows, device=tensor.device)
    if "input_ids" in inputs:
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    return inputs


# ---- A forward pass followed through its modules: what enters each, and what leaves it


@dataclass(frozen=True)
class ModuleCall:
    """One module's work on one tensor."""

    name: str
    module: nn.Module
    input: torch.Tensor
    output: torch.Tensor


@contextmanager
def watching_modules(model: nn.Module, receive: Callable[[ModuleCall], None]) -> Iterator[None]:
    """Within this block, and this thread alone, `receive` sees each module with parameters that makes one tensor of one tensor.

    The hooks change nothing, and are gone afterwards.
    """
    thread = threading.get_ident()

    def hook_for(name: str) -> Callable[..., None]:
        def hook(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
            if threading.get_ident() == thread and len(inputs) == 1 and _is_vectors(inputs[0]) and _is_vectors(output):
                receive(ModuleCall(name, module, inputs[0], output))

        return hook

    handles = [
        module.register_forward_hook(hook_for(name))
        for name, module in model.named_modules()
        if next(module.parameters(), None) is not None or next(module.buffers(), None) is not None
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def watching_inputs(model: nn.Module, modules: Mapping[LayerKey, str]) -> Iterator[Callable[[LayerKey], torch.Tensor]]:
    """Within this block, and this thread alone: what entered the module of a layer last. Ask during the attention of that layer.

    modules   the name of a module for each layer; layers that share their weights share their module
    """
    thread = threading.get_ident()
    latest: dict[str, torch.Tensor] = {}

    def hook_for(name: str) -> Callable[..., None]:
        def hook(_module: nn.Module, inputs: tuple[Any, ...]) -> None:
            if threading.get_ident() == thread:
                latest[name] = inputs[0]

        return hook

    handles = [model.get_submodule(name).register_forward_pre_hook(hook_for(name)) for name in sorted(set(modules.values()))]
    try:
        yield lambda layer: latest[modules[layer]]
    finally:
        for handle in handles:
            handle.remove()


def _is_vectors(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.ndim >= 2


# ---- The matrix of a module that is linear, whatever its class: computed from its outputs for unit vectors


#: Unit vectors are scaled by this, so that subtracting the bias does not round off the last digits of the weights.
BASIS_LENGTH = 1024.0


@dataclass(frozen=True)
class AffineMatrix:
    """output = input · weight + bias. weight: [input, output], bias: [output], both in single precision or better"""

    weight: torch.Tensor
    bias: torch.Tensor


def matrix_of(call: ModuleCall, within: float) -> AffineMatrix | None:
    """The matrix of the module that was called; None if what it computed is not linear in what it was given."""
    width = call.input.shape[-1]
    bias = _run(call.module, call.input.new_zeros(1, width))
    far = _run(call.module, BASIS_LENGTH * torch.eye(width, dtype=call.input.dtype, device=call.input.device))
    if bias is None or far is None:
        return None
    known = AffineMatrix((far - bias) / BASIS_LENGTH, bias[0])
    expected = call.input.to(known.weight.dtype) @ known.weight + known.bias
    actual = call.output.to(known.weight.dtype)
    if expected.shape != actual.shape or (expected - actual).abs().max() > within * actual.abs().max():
        return None
    return known


def _run(module: nn.Module, vectors: torch.Tensor) -> torch.Tensor | None:
    """[row, output]; None where the module takes no matrix."""
    try:
        output = module.forward(vectors)
    except Exception:  # noqa: BLE001 - any model's code runs here; a module that takes no matrix is not linear
        return None
    if not isinstance(output, torch.Tensor) or output.ndim != 2 or len(output) != len(vectors):
        return None
    return output.double() if output.dtype == torch.float64 else output.float()


# ---- Which columns of one matrix are the columns of another, in any order


@dataclass(frozen=True)
class ColumnMatch:
    """target = factor · source[:, index], column by column. index: [target column]"""

    index: torch.Tensor
    factor: float


def match_columns(target: torch.Tensor, source: torch.Tensor, within: float) -> ColumnMatch | None:
    """The columns of `source` that make up `target`, which may be multiplied with one number; None where there are none.

    target: [row, column], source: [row, column]; `within`: the largest difference, as a part of the largest number of the target

    >>> source = torch.tensor([[1.0, 2.0, 3.0], [0.0, 5.0, 1.0]])
    >>> match_columns(source[:, [2, 0]] * 0.5, source, 1e-6)
    ColumnMatch(index=tensor([2, 0]), factor=0.5)
    """
    if len(target) != len(source) or not target.numel() or not source.numel():
        return None
    target, source = target.double(), source.double()
    nearest = _squared_distances(target, source).argmin(1)
    if _agree(target, source[:, nearest], within):
        return ColumnMatch(nearest, 1.0)
    direction = (_unit(target).T @ _unit(source)).argmax(1)
    chosen = source[:, direction]
    size = (chosen * chosen).sum()
    factor = float((target * chosen).sum() / size) if size > 0 else 0.0
    return ColumnMatch(direction, factor) if factor and _agree(target, factor * chosen, within) else None


def _squared_distances(target: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """[target column, source column]"""
    distances: torch.Tensor = (target**2).sum(0)[:, None] + (source**2).sum(0) - 2 * target.T @ source
    return distances


def _unit(matrix: torch.Tensor) -> torch.Tensor:
    return matrix / matrix.square().sum(0).sqrt().clamp_min(1e-30)


def _agree(target: torch.Tensor, other: torch.Tensor, within: float) -> bool:
    return bool((target - other).abs().max() <= within * target.abs().max())
