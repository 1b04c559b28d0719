"""Which layer each attention call of a forward pass belongs to: found once, at load, by comparison with the model's own maps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedModel

from eyeline.capture.opening.layer_numbers import layer_numbers, watching_layers
from eyeline.capture.opening.tiny_pass import OwnMaps, no_cache, own_maps, run_tiny, same_but_for_padding, with_padding
from eyeline.capture.recorder import IMPLEMENTATION, Call, recording
from eyeline.errors import ModelError

#: Why a model outside the attention interface gives nothing but weights.
OUTSIDE = "this model's attention stands outside transformers' attention interface, so only its weights are available"
#: How far a family's weights may lie from softmax(q·kᵀ·scale + mask + bias) and still count as plain softmax attention.
PLAIN_WITHIN = 1e-5
#: Standard deviation of the scores in the test for plain softmax: large enough for a softcap of 50 to show.
TEST_SCORE_DEVIATION = 30.0
#: Queries in that test: the last ones, which see the most keys.
ROWS = 64
#: What a mask adds to the score of a key that is hidden is below this, in every precision.
HIDDEN_BELOW = -1e4


@dataclass(frozen=True)
class Slot:
    """One layer of one stack. `layer` is its number in the model, which counts layers without attention too (Jamba: 4, 12, …)."""

    stack: str
    layer: int
    n_heads: int
    n_key_heads: int
    plain: bool


@dataclass(frozen=True)
class Layout:
    """The slots of a model, in the order in which its forward pass calls them.

    calls    a slot for each attention call; None for a call whose map the model itself does not report
    causal   for each attention call: whether the mask that the model built for the tiny pass lets no query look ahead
    recorded False for models outside the attention interface: only weights, through `output_attentions`
    outputs  the names under which the model reports the maps of each stack
    indices  for each stack: which of the maps under that name are its slots
    padding_shows  whether padding changes the maps (convolutions, landmarks): then only texts of one length share a batch
    notices  what a user should know of this model's attention, such as maps that cannot be shown
    why_weights_only   why there are no queries, keys and values; empty where there are
    """

    calls: tuple[Slot | None, ...]
    recorded: bool
    outputs: Mapping[str, str]
    indices: Mapping[str, tuple[int, ...]]
    padding_shows: bool = False
    causal: tuple[bool, ...] = ()
    notices: tuple[str, ...] = ()
    why_weights_only: str = ""

    @property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(slot for slot in self.calls if slot is not None)

    @property
    def stacks(self) -> tuple[str, ...]:
        return tuple(self.outputs)

    def n_layers(self, stack: str) -> int:
        return sum(slot.stack == stack for slot in self.slots)

    def layers(self, stack: str) -> tuple[int, ...]:
        """The numbers that the model gives to the stack's layers, ascending."""
        return tuple(slot.layer for slot in self.slots if slot.stack == stack)

    def heads_by_layer(self, stack: str) -> dict[int, int]:
        """Number of a layer → how many heads it has."""
        return {slot.layer: slot.n_heads for slot in self.slots if slot.stack == stack}

    def n_heads(self, stack: str) -> tuple[int, ...]:
        return tuple(slot.n_heads for slot in self.slots if slot.stack == stack)

    def n_key_heads(self, stack: str) -> tuple[int, ...]:
        return tuple(slot.n_key_heads for slot in self.slots if slot.stack == stack)

    def plain(self, stack: str) -> bool | None:
        """Whether every layer of the stack is plain softmax attention; None where that cannot be known."""
        return all(slot.plain for slot in self.slots if slot.stack == stack) if self.recorded else None


@dataclass(frozen=True)
class Gives:
    """What a model makes available."""

    stacks: Mapping[str, tuple[int, int, int]]  # stack → layers, heads, key heads (of the first layer)
    recorded: bool
    plain: bool
    streamed: bool  # whether its attention can run through a fused kernel, so that no map is made

    def __str__(self) -> str:
        return "weights, queries, keys, values" if self.recorded else "weights only"


@dataclass(frozen=True)
class _RecordedCall:
    """An attention call of the tiny pass: whether it is plain softmax attention, and which layer of the model was running."""

    call: Call
    plain: bool
    layer: int | None


def settle_layout(model: PreTrainedModel, tiny: Mapping[str, torch.Tensor]) -> Layout:
    """Run a tiny input twice, once the model's own way and once recorded, and match every recorded call to one of its own maps.

    Where recording would change the output, or does not reproduce the maps, only the model's own maps are used: its weights alone.
    """
    name = type(model).__name__
    model.set_attn_implementation("eager")
    with watching_layers(model) as watch:
        reference = run_tiny(model, tiny)
    own, notices = own_maps(reference, watch, tiny)
    if not own:
        hidden = "It may have no softmax attention at all (state-space and convolutional models), or hide it. There is nothing to look at."
        raise ModelError(f"{name} reports no attention weights{' that can be shown' if notices else ''}.", *(notices or (hidden,)))
    padding_shows = _padding_shows(model, tiny, own)
    calls: list[_RecordedCall] = []
    why_weights_only = OUTSIDE
    if can_record(model):
        model.set_attn_implementation(IMPLEMENTATION)
        try:
            recorded, calls = _record(model, tiny)
        except Exception as error:  # noqa: BLE001 - any model's code runs here, and its own maps can still be used
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            why_weights_only = f"this model cannot be recorded ({reason}), so only its weights are available"
        if calls and not torch.equal(recorded[0], reference[0]):
            if bool(reference[0].isnan().any()):
                raise ModelError(
                    f"{name} computes nan on a tiny text, even without eyeline.",
                    "Its weights are damaged, or its precision is too low for it. Load it in float32, or fetch it again.",
                )
            calls, why_weights_only = [], "recording this model would change its output, so only its weights are available"
    slots = _match(own, calls) if calls else None
    if calls and slots is None:
        why_weights_only = "the recorded calls do not reproduce the maps that this model reports, so only its weights are available"
    outputs = {stack: maps.name for stack, maps in own.items()}
    indices = {stack: maps.indices for stack, maps in own.items()}
    if slots is not None:
        causal = tuple(is_causal(recorded_call.call.mask) for recorded_call in calls)
        return Layout(slots, recorded=True, outputs=outputs, indices=indices, padding_shows=padding_shows, causal=causal, notices=notices)
    model.set_attn_implementation("eager")
    slots = tuple(
        Slot(stack, layer, weights.shape[1], weights.shape[1], False)
        for stack, maps in own.items()
        for layer, weights in zip(maps.layers, maps.maps, strict=True)
    )
    return Layout(
        slots,
        recorded=False,
        outputs=outputs,
        indices=indices,
        padding_shows=padding_shows,
        notices=notices,
        why_weights_only=why_weights_only,
    )


def _record(model: PreTrainedModel, tiny: Mapping[str, torch.Tensor]) -> tuple[Any, list[_RecordedCall]]:
    """The model's output while it is recorded, and its attention calls in order."""
    calls: list[_RecordedCall] = []
    with watching_layers(model) as watch:

        def keep(call: Call) -> None:
            calls.append(_RecordedCall(call, is_plain(call), watch.current))

        with torch.no_grad(), recording(keep):
            return model(**tiny, **no_cache(model)), calls


def _padding_shows(model: PreTrainedModel, tiny: Mapping[str, torch.Tensor], own: Mapping[str, OwnMaps]) -> bool:
    if "input_ids" not in tiny:
        return False
    with watching_layers(model) as watch:
        longer = with_padding(tiny)
        padded, _ = own_maps(run_tiny(model, longer), watch, longer)
    return not all(same_but_for_padding(maps.maps, padded[stack].maps) for stack, maps in own.items() if stack in padded)


def can_record(model: PreTrainedModel) -> bool:
    """Whether the model takes its attention function from the attention interface."""
    return bool(model._can_set_attn_implementation())


def is_causal(mask: torch.Tensor | None) -> bool:
    """Whether a mask [batch, 1 or head, query, key] that is added to the scores hides every key after its query.

    >>> is_causal(torch.tensor([[[[0.0, -1e30], [0.0, 0.0]]]])), is_causal(torch.zeros(1, 1, 2, 2)), is_causal(None)
    (True, False, False)
    """
    if mask is None or mask.shape[2] != mask.shape[3] or mask.shape[2] < 2:
        return False
    hidden = ~mask if mask.dtype == torch.bool else mask <= HIDDEN_BELOW
    ahead = torch.ones(mask.shape[2:], dtype=torch.bool, device=mask.device).triu(1)
    return bool(hidden[..., ahead].all())


def is_plain(call: Call) -> bool:
    """Whether this module computes softmax(q·kᵀ·scale + mask + bias) and nothing else, tested with large scores in single precision."""
    call = call.last_rows(ROWS).in_single_precision()
    scores = _scores(call.queries, call)
    large_queries = call.queries * (TEST_SCORE_DEVIATION / scores.std().clamp_min(1e-6))
    expected = _scores(large_queries, call)
    for term in (call.bias, call.mask):
        expected = expected if term is None else expected + term
    weights = call.again(large_queries)
    return bool(weights.shape == expected.shape and (weights.float() - expected.float().softmax(-1)).abs().max() < PLAIN_WITHIN)


def _scores(queries: torch.Tensor, call: Call) -> torch.Tensor:
    keys = call.keys.repeat_interleave(queries.shape[1] // call.keys.shape[1], dim=1)  # [batch, head, key, dim]
    return queries @ keys.transpose(2, 3) * call.scale  # [batch, head, query, key]


def _match(own: Mapping[str, OwnMaps], calls: list[_RecordedCall]) -> tuple[Slot | None, ...] | None:
    """Walk the calls in order; each takes the first stack whose next map it reproduces. None: some map has no call."""
    stacks: list[str | None] = []
    for recorded in calls:
        taken = {stack: stacks.count(stack) for stack in own}
        fits = (s for s, maps in own.items() if taken[s] < len(maps.maps) and _same(maps.maps[taken[s]], recorded.call.weights))
        stacks.append(next(fits, None))
    slots: list[Slot | None] = [None] * len(calls)
    for stack, maps in own.items():
        indices = [index for index, name in enumerate(stacks) if name == stack]
        if len(indices) != len(maps.maps):
            return None
        numbers = layer_numbers([calls[index].layer for index in indices], maps.layers)
        for index, layer in zip(indices, numbers, strict=True):
            call = calls[index].call
            slots[index] = Slot(stack, layer, call.weights.shape[1], call.keys.shape[1], calls[index].plain)
    return tuple(slots)


def _same(weights: torch.Tensor, other: torch.Tensor | None) -> bool:
    if other is None:
        return False
    return weights.shape == other.shape and (
        torch.equal(weights, other) or torch.allclose(weights.float(), other.float(), rtol=0, atol=1e-6)
    )
