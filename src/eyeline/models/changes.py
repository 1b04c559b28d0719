"""Interventions on a model: checked before a pass, and carried out inside its attention calls."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np
import torch

from eyeline.errors import ModelError, TraceError
from eyeline.heads import HeadRef
from eyeline.look.interventions import Ablate, Intervention, KnockOut, Patch, Scale, ZeroValues, named, several_heads
from eyeline.look.trace import Trace
from eyeline.messages import Message
from eyeline.models.attention import AttentionCall
from eyeline.models.inputs import Example
from eyeline.models.layout import HIDDEN_BELOW, Layout, Slot, listed

# ---- Checked before a pass: every layer, head and position against the model and the text. Errors say what exists


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


def check_intervention(intervention: Intervention, layout: Layout, example: Example | StepSize, name: str) -> Checked:
    """The intervention with every number checked against the model `name` and the text."""
    if not layout.recorded:
        raise ModelError(Message("refusal.nothing_changed", model=name, why=layout.why_weights_only))
    heads = _heads(intervention, layout, name)
    sizes = {head.stack: tuple(len(text) for text in example.of(head.stack)) for head in heads}
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


# ---- Carried out inside one attention call: what goes into the model's own attention function, and what comes out of it
#
# For each call, in this order: values set to 0 and keys hidden before the softmax; weights set to 0 after it; then what the heads write
# is replaced or scaled, in the order of the interventions; then multiplied by the gates.


#: Stack and layer → what heads of that layer are multiplied with: [head] or [text, head].
Gates = Mapping[tuple[str, int], torch.Tensor]

#: Is given a slot and what its heads wrote, interventions included: [text, query, head, dim], of one graph with the answer.
ReceiveOutputs = Callable[[Slot, torch.Tensor], None]


@dataclass(frozen=True)
class TextChange:
    """One intervention on one layer of one text of a batch."""

    text: int
    checked: Checked
    heads: tuple[int, ...]


@dataclass(frozen=True)
class CallChange:
    """Everything that is changed in one attention call of one batch."""

    slot: Slot
    n_queries: tuple[int, ...]
    changes: tuple[TextChange, ...] = ()
    gate: torch.Tensor | None = None
    receive: ReceiveOutputs | None = None

    @property
    def needs_weights(self) -> bool:
        """Whether weights are needed, which a fused kernel does not give."""
        return any(_zeroes_weights(change) or _zeroes_shared_values(change, self.slot) for change in self.changes)

    def before(self, call: AttentionCall) -> AttentionCall:
        """Values set to 0 and keys hidden, as they go into the softmax."""
        hidden = self._hidden(call)
        changed = replace(call, values=self._values(call.values))
        if hidden is None:
            return changed
        numbers = call.mask_as_numbers()
        if numbers is None:
            numbers = torch.zeros((), dtype=call.queries.dtype, device=hidden.device)
        mask = numbers[..., : hidden.shape[3]] if numbers.ndim else numbers
        mask = mask.expand(hidden.shape).masked_fill(hidden, torch.finfo(numbers.dtype).min)
        return replace(changed, mask=mask, blind=(mask <= HIDDEN_BELOW).all(-1))

    def _values(self, values: torch.Tensor) -> torch.Tensor:
        """Values [text, key head, key, dim] with those set to 0 that no untouched head shares."""
        changed = values
        for change in self.changes:
            if isinstance(change.checked.intervention, ZeroValues) and not _zeroes_shared_values(change, self.slot):
                changed = changed.clone() if changed is values else changed
                shared = self.slot.n_heads // self.slot.n_key_heads
                key_heads = sorted({head // shared for head in change.heads})
                changed[_grid(change.text, key_heads, change.checked.keys, values.shape[2])] = 0
        return changed

    def _hidden(self, call: AttentionCall) -> torch.Tensor | None:
        """Which keys are hidden before the softmax: [text, head, query, key]; None: none."""
        hidden = None
        n_texts, n_heads, n_queries, _ = call.queries.shape
        n_keys = call.keys.shape[2]
        for change in self.changes:
            intervention = change.checked.intervention
            if isinstance(intervention, KnockOut) and intervention.renormalise:
                if hidden is None:
                    hidden = torch.zeros(n_texts, n_heads, n_queries, n_keys, dtype=torch.bool, device=call.queries.device)
                hidden[_edges(change, n_queries, n_keys)] = True
        return hidden

    def after(self, output: torch.Tensor, weights: torch.Tensor | None, call: AttentionCall) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Outputs [text, query, head, dim] and weights [text, head, query, key] as the interventions leave them."""
        blind = call.blind
        if blind is not None and bool(blind.any()):
            output = output.masked_fill(blind.transpose(1, 2)[..., None], 0)
            weights = None if weights is None else weights.masked_fill(blind[..., None], 0)
        if weights is not None and self.needs_weights:
            output = output.clone()
            weights = self._zero_weights(output, weights, call.values)
        return output, weights

    def gated(self, gates: torch.Tensor) -> torch.Tensor:
        """The model's own gates: no intervention changes them."""
        return gates

    def written(self, output: torch.Tensor) -> torch.Tensor:
        """What the heads write, [text, query, head, dim], as the interventions leave it."""
        if self.changes:
            output = output.clone()  # the model's own result, and the graph behind it, stay as they are
        for change in self.changes:
            self._change_output(output, change)
        if self.gate is not None:
            gate = self.gate.to(output)  # [head] or [text, head]
            output = output * (gate[:, None, :, None] if gate.ndim == 2 else gate[None, None, :, None])
        if self.receive is not None:
            self.receive(self.slot, output)
        return output

    def _zero_weights(self, output: torch.Tensor, weights: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """Set weights to 0 and compute the outputs of these heads again, in place. Returns the remaining weights."""
        used = weights.clone()  # [text, head, query, key]: the factors of the values
        kept = weights.clone()  # the same, except that keys whose values were set to 0 keep their weight
        rows: dict[tuple[int, int], None] = {}
        for change in self.changes:
            if _zeroes_weights(change):
                kept[_edges(change, weights.shape[2], weights.shape[3])] = 0
            if _zeroes_weights(change) or _zeroes_shared_values(change, self.slot):
                used[_edges(change, weights.shape[2], weights.shape[3])] = 0
                rows |= dict.fromkeys((change.text, head) for head in change.heads)
        shared = self.slot.n_heads // self.slot.n_key_heads
        for text, head in rows:
            output[text, :, head] = (used[text, head].to(values) @ values[text, head // shared]).to(output)
        return kept

    def _change_output(self, output: torch.Tensor, change: TextChange) -> None:
        """Replace or scale what heads of one text write, in place."""
        intervention, text, n = change.checked.intervention, change.text, self.n_queries[change.text]
        if isinstance(intervention, Scale):
            output[text, :, change.heads] = output[text, :, change.heads] * intervention.by
        elif isinstance(intervention, Ablate) and intervention.by == "zero":
            output[text, :, change.heads] = 0
        elif isinstance(intervention, Ablate) and change.checked.outputs is None:
            output[text, :, change.heads] = output[text, :n, change.heads].mean(0, keepdim=True)
        elif change.checked.outputs is not None:
            for head in change.heads:
                z = torch.as_tensor(change.checked.outputs[HeadRef(self.slot.stack, self.slot.layer, head)]).to(output)  # [query or 1, dim]
                positions = slice(0, n) if change.checked.queries is None else list(change.checked.queries)
                output[text, positions, head] = z.expand(n, -1)[positions] if len(z) == 1 else z[positions]


@dataclass
class PassChanges:
    """What one pass changes, call after call. Made for one pass and read by it alone."""

    calls: Sequence[Slot | None]
    by_slot: Mapping[tuple[str, int], CallChange]
    calls_made: int = field(default=0, init=False)

    def next_change(self) -> CallChange | None:
        """What is changed in the next attention call."""
        slot = self.calls[self.calls_made] if self.calls_made < len(self.calls) else None
        self.calls_made += 1
        return None if slot is None else self.by_slot.get((slot.stack, slot.layer))

    @property
    def first(self) -> int:
        """The first attention call in which anything is changed or looked at; the number of calls where nothing is."""
        return next((i for i, s in enumerate(self.calls) if s is not None and (s.stack, s.layer) in self.by_slot), len(self.calls))


def changes_of(
    each: Sequence[Sequence[Intervention]],
    examples: Sequence[Example | StepSize],
    layout: Layout,
    name: str,
    gates: Gates | None = None,
    receive: ReceiveOutputs | None = None,
) -> PassChanges:
    """What a pass over a batch changes: a list of interventions for each of its texts, and gates for all of them. Everything is checked."""
    by_slot: dict[tuple[str, int], list[TextChange]] = {}
    for text, (interventions, example) in enumerate(zip(each, examples, strict=True)):
        for intervention in interventions:
            checked = check_intervention(intervention, layout, example, name)
            heads: dict[tuple[str, int], list[int]] = {}
            for head in checked.heads:
                heads.setdefault((head.stack, head.layer), []).append(head.head)
            for key, numbers in heads.items():
                by_slot.setdefault(key, []).append(TextChange(text, checked, tuple(numbers)))
    gates = gates or {}
    slots = {(slot.stack, slot.layer): slot for slot in layout.slots}
    touched = slots if receive is not None else {key: slots[key] for key in (*by_slot, *gates)}
    return PassChanges(
        layout.calls,
        {
            key: CallChange(slot, tuple(len(s.of(slot.stack)[0]) for s in examples), tuple(by_slot.get(key, ())), gates.get(key), receive)
            for key, slot in touched.items()
        },
    )


# ---- The same while a text is written: every step is a pass, whose queries are the new tokens and whose keys are all tokens so far


@dataclass(frozen=True)
class StepSize:
    """The tokens of one step, counted."""

    n_new: int
    n_so_far: int

    def of(self, stack: str) -> tuple[range, range]:
        """Queries and keys."""
        return range(self.n_new), range(self.n_so_far)


@dataclass
class ChangesOfSteps:
    """What every pass changes while one text is written. Positions are those of the whole text.

    begin, end   the positions of the queries of the pass that is running
    """

    interventions: tuple[Intervention, ...]
    layout: Layout
    name: str
    end: int = 0
    begin: int = 0
    calls_made: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        for intervention in self.interventions:
            by_query = isinstance(intervention, Patch) or (isinstance(intervention, Ablate) and intervention.by != "zero")
            if by_query and not (isinstance(intervention, Ablate) and intervention.by == "mean" and intervention.source is not None):
                raise TraceError(
                    f"{intervention} while a text is written.",
                    "It needs the tokens of the whole text, which is not there yet. Use el.Ablate by zero or by the mean of other traces,"
                    " el.Scale, el.KnockOut or el.ZeroValues.",
                )
            if isinstance(intervention, Ablate) and intervention.by == "mean" and any(self.layout.readers):
                raise TraceError(
                    f"{intervention} while a text is written.",
                    f"{self.name} multiplies what its heads write with gates, and means are taken behind them. Ablate by zero, or use"
                    " model.trace(…, interventions=…).",
                )

    def next_change(self) -> ChangeOfStep | None:
        """What is changed in the next attention call."""
        number = self.calls_made % len(self.layout.calls)
        first = next(index for index, slot in enumerate(self.layout.calls) if slot is not None)
        self.calls_made += 1
        slot = self.layout.calls[number]
        return None if slot is None else ChangeOfStep(self, slot, number == first)

    @property
    def names_positions(self) -> bool:
        return any(getattr(each, name, None) is not None for each in self.interventions for name in ("queries", "keys"))

    def of_call(self, slot: Slot, n_texts: int) -> CallChange | None:
        """The changes of one call of the pass that is running."""
        here: list[Intervention] = []
        for each in self.interventions:
            if isinstance(each, KnockOut) and each.queries is not None:
                asked = [each.queries] if isinstance(each.queries, int) else each.queries
                queries = [position - self.begin for position in asked if self.begin <= position < self.end]
                here += [replace(each, queries=queries)] if queries else []
            elif isinstance(each, KnockOut | ZeroValues) and each.keys is not None:
                keys = [key for key in ([each.keys] if isinstance(each.keys, int) else each.keys) if key < self.end]
                here += [replace(each, keys=keys)] if keys else []
            else:
                here.append(each)
        size = StepSize(self.end - self.begin, self.end)
        changes = changes_of([here] * n_texts, [size] * n_texts, self.layout, self.name)
        return changes.by_slot.get((slot.stack, slot.layer))


@dataclass
class ChangeOfStep:
    """What is changed in one call of one step: known when the call is made, which says how many tokens it has."""

    steps: ChangesOfSteps
    slot: Slot
    begins_pass: bool
    _change: CallChange | None = None

    @property
    def needs_weights(self) -> bool:
        """Whether weights are needed, which a fused kernel does not give."""
        return any(isinstance(e, ZeroValues) or (isinstance(e, KnockOut) and not e.renormalise) for e in self.steps.interventions)

    def before(self, call: AttentionCall) -> AttentionCall:
        """Values and mask as they go into the softmax."""
        steps = self.steps
        if self.begins_pass:
            steps.begin, steps.end = steps.end, steps.end + call.queries.shape[2]
        if steps.names_positions and call.keys.shape[2] < steps.end:
            raise TraceError(
                f"Layer {self.slot.layer} of {steps.name} sees a window of {call.keys.shape[2]} tokens: positions in it are others.",
                "Cut edges in a replay: model.replay(prompt, completion, interventions=…).",
            )
        self._change = steps.of_call(self.slot, call.queries.shape[0])
        return call if self._change is None else self._change.before(call)

    def after(self, output: torch.Tensor, weights: torch.Tensor | None, call: AttentionCall) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Outputs and weights as the interventions leave them."""
        return (output, weights) if self._change is None else self._change.after(output, weights, call)

    def gated(self, gates: torch.Tensor) -> torch.Tensor:
        """The model's own gates: no intervention changes them."""
        return gates

    def written(self, output: torch.Tensor) -> torch.Tensor:
        """What the heads write, as the interventions leave it."""
        return output if self._change is None else self._change.written(output)


def _zeroes_weights(change: TextChange) -> bool:
    intervention = change.checked.intervention
    return isinstance(intervention, KnockOut) and not intervention.renormalise


def _zeroes_shared_values(change: TextChange, slot: Slot) -> bool:
    """Whether values are set to 0 for some, but not all, of the heads that share them."""
    if not isinstance(change.checked.intervention, ZeroValues):
        return False
    shared = slot.n_heads // slot.n_key_heads
    return any(head not in change.heads for h in change.heads for head in range(h // shared * shared, (h // shared + 1) * shared))


def _edges(change: TextChange, n_queries: int, n_keys: int) -> Any:
    """Index of heads x queries x keys of one text in [text, head, query, key]."""
    queries = change.checked.queries
    rows = torch.arange(n_queries) if queries is None else torch.tensor(queries)
    keys = torch.arange(n_keys) if change.checked.keys is None else torch.tensor(change.checked.keys)
    return change.text, torch.tensor(change.heads)[:, None, None], rows[None, :, None], keys[None, None, :]


def _grid(text: int, heads: Sequence[int], keys: tuple[int, ...] | None, n_keys: int) -> Any:
    positions = torch.arange(n_keys) if keys is None else torch.tensor(keys)
    return text, torch.tensor(heads)[:, None], positions[None, :]
