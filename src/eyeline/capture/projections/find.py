"""Find the projections of every attention module by what they compute: a short pass is followed, no attribute name is read.

The module whose output is the recorded queries (keys, values), column by column in any order, is the projection that made them: a plain
linear module, a fused one, or one with an adapter. The module whose input is the heads' outputs side by side is the output projection.
Rotary embedding turns the vectors of every position but the first, so the first tokens of several short texts are compared where all
positions do not agree. Where the vectors are normalised, the search continues with the input of the normalisation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from transformers import PreTrainedModel

from eyeline.capture.layout import Layout
from eyeline.capture.opening.tiny_pass import lean_pass
from eyeline.capture.projections.columns import ColumnMatch, match_columns
from eyeline.capture.projections.matrix import AffineMatrix, matrix_of
from eyeline.capture.projections.record import LayerKey, OutputProjection, Projection, Projections
from eyeline.capture.projections.watch import ModuleCall, watching_modules
from eyeline.capture.recorder import Call, recording

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
    with torch.inference_mode(), watching_modules(model, finder.receive_module), recording(finder.receive_attention):
        model(**inputs, **lean_pass(model))
        finder.close()
    return finder.results


class _Finder:
    """Takes module calls and attention calls in order; compares at each attention call, so that few tensors are held."""

    def __init__(self, layout: Layout) -> None:
        self.results: dict[LayerKey, Projections] = {}
        self._slots = iter(layout.calls)
        self._layer: LayerKey | None = None  # whose output projection is still to come
        self._attention: Call | None = None
        self._calls: list[ModuleCall] = []  # since the last attention call
        self._matrices: dict[int, AffineMatrix | None] = {}
        self._trying = False

    def receive_module(self, call: ModuleCall) -> None:
        if not self._trying:
            self._calls.append(call)

    def receive_attention(self, call: Call) -> None:
        self.close()
        slot = next(self._slots, None)
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

    def _inputs_of(self, call: Call) -> Projections:
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

    def _output(self, call: Call) -> OutputProjection | None:
        """The outermost linear module whose input is the head outputs."""
        values = call.values.repeat_interleave(call.weights.shape[1] // call.values.shape[1], dim=1)  # [batch, head, key, dim]
        outputs = call.weights.to(values.dtype) @ values  # [batch, head, query, dim]
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
