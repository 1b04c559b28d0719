"""Interventions checked before a pass: every layer, head and position against the model and the text. Errors say what exists."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from eyeline.capture.interventions.records import Ablate, Intervention, KnockOut, Patch, Scale, ZeroValues, named, several_heads
from eyeline.capture.layout import Layout
from eyeline.capture.selection import listed
from eyeline.capture.trace import Trace
from eyeline.errors import ModelError, TraceError
from eyeline.heads import HeadRef

if TYPE_CHECKING:
    from eyeline.capture.collect import Sides

KINDS = get_args(Intervention)
ABLATIONS = ("zero", "mean", "resample")


@dataclass(frozen=True)
class Checked:
    """One intervention on one text: the heads that it changes by full name, and the positions it names, checked.

    outputs   what replaces each head's output, [query or 1, dim], for Patch and for ablation by other traces
    """

    intervention: Intervention
    heads: tuple[HeadRef, ...]
    queries: tuple[int, ...] | None = None
    keys: tuple[int, ...] | None = None
    outputs: Mapping[HeadRef, Any] | None = None


def as_interventions(given: Any) -> tuple[Intervention, ...]:
    """One record or several; anything else is an error that lists the records."""
    single = isinstance(given, (*KINDS, str)) or not isinstance(given, Iterable)
    several = [given] if single else list(given)
    for intervention in several:
        if not isinstance(intervention, KINDS):
            raise TraceError(
                f"An intervention given as {intervention!r:.80}.", f"Use {', '.join(f'el.{kind.__name__}' for kind in KINDS)}."
            )
    return tuple(several)


def check_intervention(intervention: Intervention, layout: Layout, sides: Sides, name: str) -> Checked:
    """The intervention with every number checked against the model `name` and the text."""
    if not layout.recorded:
        raise ModelError(f"Nothing can be changed inside {name}: {layout.why_weights_only}.", "Its attention cannot be intervened on.")
    heads = _heads(intervention, layout, name)
    sizes = {head.stack: tuple(len(text) for text in sides.of(head.stack)) for head in heads}
    if isinstance(intervention, KnockOut | ZeroValues):
        n_queries, n_keys = _one_size(sizes)
        queries = _positions(intervention.queries, n_queries, "query") if isinstance(intervention, KnockOut) else None
        return Checked(intervention, heads, queries, _positions(intervention.keys, n_keys, "key"))
    if isinstance(intervention, Scale):
        factor = intervention.by
        if isinstance(factor, bool) or not isinstance(factor, int | float | np.floating) or not math.isfinite(factor):
            raise TraceError(f"Scale by {factor!r}.", "Give a finite number: 0 switches a head off, 1 leaves it as it is.")
        return Checked(intervention, heads)
    if isinstance(intervention, Patch):
        return _patch(intervention, heads, sizes)
    return _ablation(intervention, heads, sizes)


def _ablation(intervention: Ablate, heads: tuple[HeadRef, ...], sizes: Mapping[str, tuple[int, ...]]) -> Checked:
    if intervention.by not in ABLATIONS:
        raise TraceError(f"Ablation by {intervention.by!r}.", f"Choices: {', '.join(ABLATIONS)}.")
    source = intervention.source
    if source is None:
        if intervention.by == "resample":
            raise TraceError("Ablation by resampling without another text.", "Give its trace: el.Ablate(…, source=trace).")
        return Checked(intervention, heads)
    traces = [source] if isinstance(source, Trace) else list(source) if isinstance(source, Sequence) else []
    if not all(isinstance(trace, Trace) for trace in traces):
        raise TraceError(f"Ablation by {intervention.by} from something other than traces.", "Give a trace, or several for the mean.")
    if not traces or (intervention.by == "resample" and len(traces) > 1):
        raise TraceError(f"Ablation by {intervention.by} from {len(traces)} traces.", "Give one trace, or several for the mean.")
    if intervention.by == "mean":
        means = {h: np.concatenate([output_of(trace, h) for trace in traces]).mean(0, keepdims=True) for h in heads}  # [1, dim]
        return Checked(intervention, heads, outputs=means)
    random = np.random.default_rng(intervention.seed)
    outputs = {}
    for head in heads:
        other = output_of(traces[0], head)  # [query, dim]
        wanted = sizes[head.stack][0]
        outputs[head] = other if len(other) == wanted else other[random.integers(len(other), size=wanted)]
    return Checked(intervention, heads, outputs=outputs)


def _patch(intervention: Patch, heads: tuple[HeadRef, ...], sizes: Mapping[str, tuple[int, ...]]) -> Checked:
    outputs = {head: output_of(intervention.trace, head) for head in heads}
    positions: tuple[int, ...] | None = None
    for head, other in outputs.items():
        n_queries = sizes[head.stack][0]
        if intervention.positions is None:
            if len(other) != n_queries:
                raise TraceError(
                    f"{head.full_label} from a text of {len(other)} tokens into one of {n_queries}.",
                    "Positions must match: use texts with the same number of tokens, or name the positions.",
                )
            continue
        positions = _positions(intervention.positions, min(n_queries, len(other)), "position")
    return Checked(intervention, heads, queries=positions, outputs=outputs)


def output_of(source: Any, head: HeadRef) -> Any:
    """What a head wrote on another text: [query, dim]."""
    if isinstance(source, Trace):
        stack = source.stacks.get(head.stack)
        if stack is None or head.layer not in stack.layers:
            raise TraceError(f"The trace has no {head.full_label}.", "Was it made by the same model, with all layers?")
        return stack.output_of(head.layer, head.head)
    given = source.get(head, source.get((head.layer, head.head))) if isinstance(source, Mapping) else None
    if given is None or getattr(given, "ndim", None) != 2:
        raise TraceError(
            f"No output of {head.full_label} in {type(source).__name__}.",
            "Give a trace, or arrays [query, dim]: {(layer, head): z}.",
        )
    return given


def _heads(intervention: Intervention, layout: Layout, name: str) -> tuple[HeadRef, ...]:
    given = intervention.heads
    if given is None and isinstance(intervention, Patch) and not isinstance(intervention.trace, Trace):
        if not isinstance(intervention.trace, Mapping):
            kind = type(intervention.trace).__name__
            raise TraceError(f"Patch from a {kind}.", "Give a trace, or arrays [query, dim]: {(layer, head): z}.")
        given = list(intervention.trace)
    if given is None:
        stack = getattr(intervention, "stack", "")
        stacks = layout.stacks if isinstance(intervention, Patch) else (_stack(stack, layout, name),)
        return tuple(HeadRef(s.stack, s.layer, head) for s in layout.slots if s.stack in stacks for head in range(s.n_heads))
    heads = several_heads(given)
    if not heads:
        raise TraceError(f"{type(intervention).__name__} of no head.", "Name at least one: heads=[(layer, head)].")
    return tuple(dict.fromkeys(full_name(head, layout, name) for head in heads))


def full_name(head: Any, layout: Layout, name: str) -> HeadRef:
    """The head of this model that is meant, its stack included; an error that says which exist."""
    if not isinstance(head, tuple) or len(head) not in (2, 3):
        raise TraceError(f"A head given as {head!r}.", "Give (layer, head), (stack, layer, head) or el.HeadRef.")
    stack = _stack(head[0] if len(head) == 3 else "", layout, name)
    layer, number = (_index(value, named(head)) for value in head[-2:])
    heads = layout.heads_by_layer(stack)
    if layer not in heads:
        raise TraceError(f"{name} has no layer {layer}.", f"The {stack}'s layers are {listed(layout.layers(stack))}.")
    if not 0 <= number < heads[layer]:
        raise TraceError(f"{name} has no head {number} in layer {layer}.", f"Its heads there are {listed(tuple(range(heads[layer])))}.")
    return HeadRef(stack, layer, number)


def _stack(stack: Any, layout: Layout, name: str) -> str:
    if stack in layout.stacks:
        return str(stack)
    if stack:
        raise TraceError(f"{name} has no {stack!r} attention.", f"It has: {', '.join(layout.stacks)}.")
    if len(layout.stacks) > 1:
        raise TraceError(
            f"{name} has {len(layout.stacks)} kinds of attention.",
            f"Say which: (stack, layer, head), of {', '.join(layout.stacks)}.",
        )
    return layout.stacks[0]


def _one_size(sizes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    if len(set(sizes.values())) > 1:
        raise TraceError("Positions in stacks of different texts.", "Use one intervention for each stack.")
    return next(iter(sizes.values()))


def _positions(given: Sequence[int] | int | None, n: int, what: str) -> tuple[int, ...] | None:
    if given is None:
        return None
    several = [given] if not isinstance(given, Iterable) else list(given)
    positions = tuple(_index(value, f"{what} {value!r}") for value in several)
    wrong = [position for position in positions if not 0 <= position < n]
    if wrong or not positions:
        which = ", ".join(map(str, wrong)) or "of no token"
        raise TraceError(f"{what.capitalize()} {which} of a text of {n} tokens.", f"Positions are 0…{n - 1}.")
    return positions


def _index(value: Any, what: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TraceError(f"{what}: {value!r} is not a whole number.", "Layers, heads and positions are counted from 0.") from None
