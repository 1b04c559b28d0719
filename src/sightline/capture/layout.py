"""Which attention call of a forward pass is which: settled once, at load, by comparing with the model's own maps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedModel

from sightline.capture.recorder import IMPLEMENTATION, Call, recording
from sightline.errors import ModelError

#: How far a family's weights may lie from softmax(q·kᵀ·scale + mask + bias) and still count as plain softmax attention.
PLAIN_WITHIN = 1e-5
#: Standard deviation of the scores with which plainness is tried: large enough for a softcap of 50 to show.
LOUD = 30.0
#: How far rows may sum above 1 (half precision), and how far padding may move a weight before it counts as seen.
ROWS_WITHIN, PADDING_WITHIN = 1e-2, 1e-4
PADDING = 3  # tokens of padding to try with


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
    recorded False for models outside the attention interface: only weights, through `output_attentions`
    outputs  the names under which the model reports the maps of each stack
    padding_shows  whether padding changes the maps (convolutions, landmarks): then only texts of one length share a batch
    """

    calls: tuple[Slot | None, ...]
    recorded: bool
    outputs: Mapping[str, str]
    padding_shows: bool = False

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
    reference = _run(model, probe)
    own = own_maps(reference)
    if not own:
        raise ModelError(
            f"{type(model).__name__} reports no attention weights.",
            "It may have no softmax attention at all (state-space and convolutional models), or hide it. There is nothing to look at.",
        )
    for stack, (_, maps) in own.items():
        _check_attention(type(model).__name__, stack, maps, probe)
    padded = own_maps(_run(model, _with_padding(probe))) if "input_ids" in probe else own
    padding_shows = not all(_same_within(maps, padded[stack][1]) for stack, (_, maps) in own.items() if stack in padded)
    calls: list[tuple[Call, bool]] = []
    if can_record(model):
        model.set_attn_implementation(IMPLEMENTATION)
        with torch.no_grad(), recording(lambda call: calls.append((call, is_plain(call)))):
            recorded = model(**probe, **_no_cache(model))
        if calls and not torch.equal(recorded[0], reference[0]):
            raise ModelError(
                f"{type(model).__name__} computes something else when it is recorded.",
                "Please report this model to sightline; its attention would not be the true one.",
            )
    outputs = {stack: name for stack, (name, _) in own.items()}
    if not calls:
        slots = [Slot(stack, i, m.shape[1], m.shape[1], False) for stack, (_, maps) in own.items() for i, m in enumerate(maps)]
        return Layout(tuple(slots), recorded=False, outputs=outputs, padding_shows=padding_shows)
    return Layout(_match(type(model).__name__, own, calls), recorded=True, outputs=outputs, padding_shows=padding_shows)


def _run(model: PreTrainedModel, inputs: Mapping[str, torch.Tensor]) -> Any:
    """The model's own answer with its own maps; whatever it raises on a tiny input becomes an error that says so."""
    try:
        with torch.no_grad():
            return model(**inputs, output_attentions=True, **_no_cache(model))
    except Exception as error:  # any model's code runs here
        reason = " ".join(str(error).split())[:300]
        raise ModelError(
            f"{type(model).__name__} could not be run on a tiny {'text' if 'input_ids' in inputs else 'input'}.",
            f"{type(error).__name__}: {reason}",
            "Is the tokeniser that of this model? Parts of larger models (a text or vision tower) can be opened by themselves.",
        ) from error


def _check_attention(name: str, stack: str, maps: tuple[torch.Tensor, ...], probe: Mapping[str, torch.Tensor]) -> None:
    """Refuse maps that are not one weight for every query and key: windows, pooled or hashed attention, scores before the softmax."""
    lengths = {side: probe[key].shape[1] for side, key in (("read", "input_ids"), ("written", "decoder_input_ids")) if key in probe}
    n_query, n_key = {"encoder": ("read", "read"), "decoder": ("written", "written"), "cross": ("written", "read")}[stack]
    if "written" not in lengths:
        n_query, n_key = "read", "read"
    for weights in maps:
        expected = (lengths.get(n_query, weights.shape[2]), lengths.get(n_key, weights.shape[3]))
        if tuple(weights.shape[2:]) != expected or (stack != "cross" and weights.shape[2] != weights.shape[3]):
            raise ModelError(
                f"{name} reports {stack} attention of shape {list(weights.shape)} for {expected[0]} queries and {expected[1]} keys.",
                "It attends in windows or to pooled tokens: its weights do not stand one to one for pairs of tokens, so they are not shown.",
            )
        if weights.min() < 0 or weights.sum(-1).max() > 1 + ROWS_WITHIN:
            raise ModelError(
                f"What {name} reports as {stack} attention is not: from {weights.min():.3g}, rows summing up to {weights.sum(-1).max():.3g}.",
                "Attention weights are not negative and sum to at most 1. It may report scores before the softmax.",
            )


def _with_padding(probe: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The same input with padding behind it."""
    padded = dict(probe)
    for ids, mask in (("input_ids", "attention_mask"), ("decoder_input_ids", "decoder_attention_mask")):
        if ids in probe:
            shown = probe.get(mask, torch.ones_like(probe[ids]))
            padded[ids] = torch.nn.functional.pad(probe[ids], (0, PADDING), value=0)
            padded[mask] = torch.nn.functional.pad(shown, (0, PADDING), value=0)
    return padded


def _same_within(maps: tuple[torch.Tensor, ...], padded: tuple[torch.Tensor, ...]) -> bool:
    pairs = zip(maps, padded, strict=True)
    return all((m - p[:, :, : m.shape[2], : m.shape[3]]).abs().max() < PADDING_WITHIN for m, p in pairs)


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


def is_plain(call: Call) -> bool:
    """Whether this module computes softmax(q·kᵀ·scale + mask + bias) and nothing else, tried with loud scores."""
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
                "Please report this model to sightline; its attention would not be the true one.",
            )
    return tuple(slots)


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one.float(), other.float(), rtol=0, atol=1e-6)


def _no_cache(model: PreTrainedModel) -> dict[str, bool]:
    return {"use_cache": False} if hasattr(model.config, "use_cache") else {}
