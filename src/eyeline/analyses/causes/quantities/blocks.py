"""The blocks of a model on one text: what each head writes for each token, the residual, the norms and the feed-forward part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import torch
from torch import nn

from eyeline.analyses.causes.quantities.steps import ModulePass, frozen_norm, is_linear, linear_parts, same, watching_steps
from eyeline.capture.layout import Layout, Slot
from eyeline.capture.model_state import EvaluationMode
from eyeline.capture.opening.tiny_pass import no_cache
from eyeline.capture.recorder import Call, recording
from eyeline.errors import ModelError
from eyeline.measures.causes.contributions import FrozenNorm, attention_parts, with_residual_parts


@dataclass(frozen=True)
class Norms:
    """Where the norms of a block are.

    form     "post": norm(x + attention), then norm(… + feed-forward); "pre": the norms are before the two parts, outside the residual
    first    the norm after attention (post); None (pre)
    second   the norm after the feed-forward part (post), or before it (pre)
    middle   the residual to which the feed-forward part adds: [token, dim]
    forward  what the feed-forward part adds: [token, dim]
    forward_input  what the feed-forward part reads: [token, dim]
    """

    form: Literal["post", "pre"]
    first: FrozenNorm | None
    second: FrozenNorm
    middle: torch.Tensor
    forward: torch.Tensor
    forward_input: torch.Tensor


@dataclass(frozen=True)
class Block:
    """One layer on one text.

    layer    the call of the layer's module, from what enters to what leaves
    weights  [head, query, key]
    values   [head, key, dim], repeated where heads share them
    value    the call of the value projection, whose last columns are the values; None where no module computes them like that
    output   the call of the output projection: what the heads wrote side by side, [token, head · dim] → [token, hidden]
    steps    every module call within the layer, in order
    """

    slot: Slot
    layer: ModulePass
    weights: torch.Tensor
    values: torch.Tensor
    value: ModulePass | None
    output: ModulePass
    steps: tuple[ModulePass, ...]
    name: str

    @cached_property
    def written(self) -> torch.Tensor:
        """f_h(x_j): what each head would write of each token at a weight of 1: [head, key, hidden]"""
        heads, keys, dim = self.values.shape
        apart = self.values.new_zeros(heads, keys, heads, dim)
        each = torch.arange(heads)
        apart[each, :, each] = self.values
        return linear_parts(self.output, apart.reshape(heads, keys, heads * dim))

    @cached_property
    def parts(self) -> torch.Tensor:
        """What each key adds to each query: [query, key, hidden]"""
        return attention_parts(self.weights, self.written)

    @cached_property
    def norms(self) -> Norms:
        """Where the norms are, found by comparing sums; a block of another form is an error."""
        entered, left, attended = self.layer.entered, self.layer.left, self.output.left
        middle = entered + attended
        after_sum = [step for step in self.steps if same(step.entered, middle)]
        first = next((norm for step in after_sum if (norm := frozen_norm(step)) is not None), None)
        if first is None:
            raise self._other_form()
        normed = next(step for step in after_sum if frozen_norm(step) is not None).left
        for step in self.steps:
            if same(step.left, left) and not same(step.entered, entered) and (second := frozen_norm(step)) is not None:
                return Norms("post", first, second, normed, step.entered - normed, normed)
        forward = left - middle
        if any(same(step.left, forward, 1e-3) for step in self.steps):
            return Norms("pre", None, first, middle, forward, normed)
        raise self._other_form()

    def _other_form(self) -> ModelError:
        return ModelError(
            f"Layer {self.slot.layer} of {self.name} is neither norm(x + attention) nor x + attention(norm(x)).",
            "Residual and norm cannot be taken apart. Quantities that need neither: norms, rollout, flow, value-zeroing, gradient.",
        )

    @cached_property
    def block_parts(self) -> torch.Tensor:
        """What each token adds to the attention block's output, residual and norm included: [query, key, hidden]"""
        together = with_residual_parts(self.parts, self.layer.entered)
        return together if self.norms.first is None else self.norms.first.of_parts(together)

    @property
    def block_output(self) -> torch.Tensor:
        """The output of the attention block: [token, hidden]"""
        return self.norms.middle


@dataclass(frozen=True)
class Pass:
    """One forward pass over one text: its blocks in the order of the layers, the steps after them (`behind`), and the model's output."""

    blocks: tuple[Block, ...]
    behind: tuple[ModulePass, ...]
    output: Any


def record_blocks(
    hf: nn.Module, layout: Layout, inputs: Mapping[str, torch.Tensor], name: str, wanted: Callable[[Slot], bool] = lambda _: True
) -> Pass:
    """Run one text and keep every block. hf: the model, or the same model with its head; inputs: a batch of one, without padding."""
    if not layout.recorded:
        raise ModelError(f"The blocks of {name} cannot be taken apart: {layout.why_weights_only}.")
    precision = next((parameter.dtype for parameter in hf.parameters()), torch.float32)
    if precision not in (torch.float32, torch.float64):
        raise ModelError(
            f"{name} is in {str(precision).removeprefix('torch.')}: too coarse to recognise the parts of its blocks.",
            "Open it in single precision: el.load(name, dtype=torch.float32).",
        )
    events: list[ModulePass | tuple[Slot, Call]] = []
    slots = iter(layout.calls)

    def receive(call: Call) -> None:
        slot = next(slots, None)
        if slot is not None:
            events.append((slot, call))

    with EvaluationMode(hf).for_a_pass(), torch.no_grad(), recording(receive), watching_steps(events.append):
        output = hf(**inputs, **no_cache(hf))
    parents = _layer_of(hf)
    blocks: list[Block] = []
    begin = 0
    for index, event in enumerate(events):
        if isinstance(event, ModulePass):
            continue
        slot, call = event
        layer = parents.get(id(call.module))
        later = (i for i in range(index + 1, len(events)) if getattr(events[i], "module", None) is layer)
        end = next(later, None)
        if layer is None or end is None:
            raise ModelError(f"Layer {slot.layer} of {name} is not a module of its own.", "Its block cannot be taken apart.")
        steps = [e for e in events[begin : end + 1] if isinstance(e, ModulePass)]
        if wanted(slot):
            before = [e for e in events[begin:index] if isinstance(e, ModulePass)]
            after = [e for e in events[index + 1 : end] if isinstance(e, ModulePass)]
            blocks.append(_block(slot, call, events[end], before, after, steps, name))  # type: ignore[arg-type]
        begin = end + 1
    return Pass(tuple(blocks), tuple(e for e in events[begin:] if isinstance(e, ModulePass)), output)


def _layer_of(hf: nn.Module) -> dict[int, nn.Module]:
    """Attention module → the innermost element of a list of modules that holds it: its layer."""
    modules = dict(hf.named_modules())
    layers: dict[int, nn.Module] = {}
    for name, module in modules.items():
        parts = name.split(".")
        for n in range(len(parts), 0, -1):
            above = modules.get(".".join(parts[: n - 1]))
            if isinstance(above, nn.ModuleList):
                layers[id(module)] = modules[".".join(parts[:n])]
                break
    return layers


def _block(
    slot: Slot, call: Call, layer: ModulePass, before: Sequence[ModulePass], after: Sequence[ModulePass], steps: list[ModulePass], name: str
) -> Block:
    weights = call.weights[0]  # [head, query, key]
    values = call.values[0].repeat_interleave(len(weights) // call.values.shape[1], dim=0)  # [head, key, dim]
    outputs = (weights.to(values.dtype) @ values).transpose(0, 1).reshape(weights.shape[1], -1)  # [token, head · dim]
    output = next((step for step in after if same(step.entered, outputs) and is_linear(step)), None)
    if output is None:
        raise ModelError(
            f"No linear module of layer {slot.layer} of {name} takes what the heads write, side by side.",
            "What each head adds to the residual stream is not known.",
        )
    value_columns = call.values[0].transpose(0, 1).reshape(values.shape[1], -1)  # [token, key head · dim]
    value = next((step for step in reversed(before) if _holds_columns(step.left, value_columns) and is_linear(step)), None)
    return Block(slot, layer, weights, values, value, output, tuple(steps), name)


def _holds_columns(wide: torch.Tensor, columns: torch.Tensor) -> bool:
    """Whether the last columns of a projection's output are these (a fused projection gives queries, keys and values side by side)."""
    return len(wide) == len(columns) and wide.shape[1] >= columns.shape[1] and same(wide[:, -columns.shape[1] :], columns)
