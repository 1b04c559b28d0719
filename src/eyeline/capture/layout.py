"""Which attention call of a forward pass is which: settled once, at load, by comparing with the model's own maps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from transformers import PreTrainedModel

from eyeline.capture.recorder import IMPLEMENTATION, Call, recording
from eyeline.capture.tiny_pass import check_attention, no_cache, run_probe, same_but_for_padding, with_padding
from eyeline.errors import ModelError

#: How far a family's weights may lie from softmax(q·kᵀ·scale + mask + bias) and still count as plain softmax attention.
PLAIN_WITHIN = 1e-5
#: Standard deviation of the scores with which plainness is tried: large enough for a softcap of 50 to show.
LOUD = 30.0
#: What a mask adds to the score of a key that is hidden is below this, in every precision.
HIDDEN_BELOW = -1e4


@dataclass(frozen=True)
class Slot:
    """One layer of one stack."""

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
    padding_shows  whether padding changes the maps (convolutions, landmarks): then only texts of one length share a batch
    """

    calls: tuple[Slot | None, ...]
    recorded: bool
    outputs: Mapping[str, str]
    padding_shows: bool = False
    causal: tuple[bool, ...] = ()

    @property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(slot for slot in self.calls if slot is not None)

    @property
    def stacks(self) -> tuple[str, ...]:
        return tuple(self.outputs)

    def n_layers(self, stack: str) -> int:
        return sum(slot.stack == stack for slot in self.slots)

    def n_heads(self, stack: str) -> tuple[int, ...]:
        return tuple(slot.n_heads for slot in self.slots if slot.stack == stack)

    def n_key_heads(self, stack: str) -> tuple[int, ...]:
        return tuple(slot.n_key_heads for slot in self.slots if slot.stack == stack)

    def plain(self, stack: str) -> bool | None:
        """Whether every layer of the stack is plain softmax attention; None where that cannot be known."""
        return all(slot.plain for slot in self.slots if slot.stack == stack) if self.recorded else None


def settle_layout(model: PreTrainedModel, probe: Mapping[str, torch.Tensor]) -> Layout:
    """Run a tiny text twice, once the model's own way and once recorded, and match every recorded call to one of its own maps.

    A map of the model that no call reproduces is an error here, never a wrong picture later.
    """
    model.set_attn_implementation("eager")
    reference = run_probe(model, probe)
    own = own_maps(reference)
    if not own:
        raise ModelError(
            f"{type(model).__name__} reports no attention weights.",
            "It may have no softmax attention at all (state-space and convolutional models), or hide it. There is nothing to look at.",
        )
    for stack, (_, maps) in own.items():
        check_attention(type(model).__name__, stack, maps, probe)
    padded = own_maps(run_probe(model, with_padding(probe))) if "input_ids" in probe else own
    padding_shows = not all(same_but_for_padding(maps, padded[stack][1]) for stack, (_, maps) in own.items() if stack in padded)
    calls: list[tuple[Call, bool]] = []
    if can_record(model):
        model.set_attn_implementation(IMPLEMENTATION)
        with torch.no_grad(), recording(lambda call: calls.append((call, is_plain(call)))):
            recorded = model(**probe, **no_cache(model))
        if calls and not torch.equal(recorded[0], reference[0]):
            if bool(reference[0].isnan().any()):
                raise ModelError(
                    f"{type(model).__name__} computes nan, on a tiny text, by itself.",
                    "Its weights are damaged, or its precision is too small for it. Load it in float32, or fetch it again.",
                )
            raise ModelError(
                f"{type(model).__name__} computes something else when it is recorded.",
                "Please report this model to eyeline; its attention would not be the true one.",
            )
    outputs = {stack: name for stack, (name, _) in own.items()}
    if not calls:
        slots = [Slot(stack, i, m.shape[1], m.shape[1], False) for stack, (_, maps) in own.items() for i, m in enumerate(maps)]
        return Layout(tuple(slots), recorded=False, outputs=outputs, padding_shows=padding_shows)
    return Layout(
        _match(type(model).__name__, own, calls),
        recorded=True,
        outputs=outputs,
        padding_shows=padding_shows,
        causal=tuple(is_causal(call.mask) for call, _ in calls),
    )


def own_maps(output: Mapping[str, tuple[torch.Tensor, ...]]) -> dict[str, tuple[str, tuple[torch.Tensor, ...]]]:
    """The maps in a model's output, by stack, in the order encoder, decoder, cross: stack → (name in the output, maps).

    A model with a single tower reports `attentions`: it counts as a decoder where no token looks ahead.
    """
    named = {"encoder_attentions": "encoder", "decoder_attentions": "decoder", "attentions": "", "cross_attentions": "cross"}
    found = {}
    for name, stack in named.items():
        maps = tuple(m for m in output.get(name) or () if m is not None)
        if maps and all(isinstance(m, torch.Tensor) and m.ndim == 4 for m in maps):
            looks_ahead = any(m.triu(1).any() for m in maps)
            found[stack or ("encoder" if looks_ahead else "decoder")] = (name, maps)
    return found


def can_record(model: PreTrainedModel) -> bool:
    """Whether the model takes its attention function from the attention interface."""
    return bool(model._can_set_attn_implementation())


def is_causal(mask: torch.Tensor | None) -> bool:
    """Whether a mask [batch, 1 or head, query, key] that is added to the scores hides every key behind its query.

    >>> is_causal(torch.tensor([[[[0.0, -1e30], [0.0, 0.0]]]])), is_causal(torch.zeros(1, 1, 2, 2)), is_causal(None)
    (True, False, False)
    """
    if mask is None or mask.shape[2] != mask.shape[3] or mask.shape[2] < 2:
        return False
    hidden = ~mask if mask.dtype == torch.bool else mask <= HIDDEN_BELOW
    ahead = torch.ones(mask.shape[2:], dtype=torch.bool, device=mask.device).triu(1)
    return bool(hidden[..., ahead].all())


def is_plain(call: Call) -> bool:
    """Whether this module computes softmax(q·kᵀ·scale + mask + bias) and nothing else, tried with loud scores in single precision."""
    call = call.in_single_precision()
    scores = _scores(call.queries, call)
    loud = call.queries * (LOUD / scores.std().clamp_min(1e-6))
    expected = _scores(loud, call)
    for term in (call.bias, call.mask):
        expected = expected if term is None else expected + term
    found = call.again(loud)
    return bool(found.shape == expected.shape and (found.float() - expected.float().softmax(-1)).abs().max() < PLAIN_WITHIN)


def _scores(queries: torch.Tensor, call: Call) -> torch.Tensor:
    keys = call.keys.repeat_interleave(queries.shape[1] // call.keys.shape[1], dim=1)  # [batch, head, key, dim]
    return queries @ keys.transpose(2, 3) * call.scale  # [batch, head, query, key]


def _match(name: str, own: Mapping[str, tuple[str, tuple[torch.Tensor, ...]]], calls: list[tuple[Call, bool]]) -> tuple[Slot | None, ...]:
    """Walk the calls in order; each takes the first stack whose next map it reproduces."""
    taken = dict.fromkeys(own, 0)
    slots: list[Slot | None] = []
    for call, plain in calls:
        slot = None
        for stack, (_, maps) in own.items():
            layer = taken[stack]
            if layer < len(maps) and _same(maps[layer], call.weights):
                slot = Slot(stack, layer, call.weights.shape[1], call.keys.shape[1], plain)
                taken[stack] += 1
                break
        slots.append(slot)
    for stack, (_, maps) in own.items():
        if taken[stack] != len(maps):
            raise ModelError(
                f"{name} reports {len(maps)} {stack} attention maps, but its recorded calls reproduce {taken[stack]} of them.",
                "Please report this model to eyeline; its attention would not be the true one.",
            )
    return tuple(slots)


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one.float(), other.float(), rtol=0, atol=1e-6)
