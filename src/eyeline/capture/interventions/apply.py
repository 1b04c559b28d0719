"""Interventions carried out inside one attention call: what goes into the model's own attention function, and what comes out of it.

For each call, in this order: values set to 0 and keys hidden before the softmax; weights set to 0 after it; then what the heads write
is replaced or scaled, in the order of the interventions; then multiplied by the gates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from eyeline.capture.collect import Sides
from eyeline.capture.interventions.change import Terms, as_numbers
from eyeline.capture.interventions.check import Checked, check_intervention
from eyeline.capture.interventions.records import Ablate, Intervention, KnockOut, Scale, ZeroValues
from eyeline.capture.layout import HIDDEN_BELOW, Layout, Slot
from eyeline.heads import HeadRef

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

    def before(self, terms: Terms) -> Terms:
        """Values set to 0 and keys hidden, as they go into the softmax."""
        hidden = self._hidden(terms)
        changed = replace(terms, values=self._values(terms.values))
        if hidden is None:
            return changed
        numbers = as_numbers(terms.mask, terms)
        if numbers is None:
            numbers = torch.zeros((), dtype=terms.queries.dtype, device=hidden.device)
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

    def _hidden(self, terms: Terms) -> torch.Tensor | None:
        """Which keys are hidden before the softmax: [text, head, query, key]; None: none."""
        hidden = None
        n_texts, n_heads, n_queries, _ = terms.queries.shape
        n_keys = terms.keys.shape[2]
        for change in self.changes:
            intervention = change.checked.intervention
            if isinstance(intervention, KnockOut) and intervention.renormalise:
                if hidden is None:
                    hidden = torch.zeros(n_texts, n_heads, n_queries, n_keys, dtype=torch.bool, device=terms.queries.device)
                hidden[_edges(change, n_queries, n_keys)] = True
        return hidden

    def after(self, output: torch.Tensor, weights: torch.Tensor | None, terms: Terms) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Outputs [text, query, head, dim] and weights [text, head, query, key] as the interventions leave them."""
        blind = terms.blind
        if blind is not None and bool(blind.any()):
            output = output.masked_fill(blind.transpose(1, 2)[..., None], 0)
            weights = None if weights is None else weights.masked_fill(blind[..., None], 0)
        if self.changes:
            output = output.clone()  # the model's own result, and the graph behind it, stay as they are
        if weights is not None and self.needs_weights:
            weights = self._zero_weights(output, weights, terms.values)
        for change in self.changes:
            self._change_output(output, change)
        if self.gate is not None:
            gate = self.gate.to(output)  # [head] or [text, head]
            output = output * (gate[:, None, :, None] if gate.ndim == 2 else gate[None, None, :, None])
        if self.receive is not None:
            self.receive(self.slot, output)
        return output, weights

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
    sides: Sequence[Sides],
    layout: Layout,
    name: str,
    gates: Gates | None = None,
    receive: ReceiveOutputs | None = None,
) -> PassChanges:
    """What a pass over a batch changes: a list of interventions for each of its texts, and gates for all of them. Everything is checked."""
    by_slot: dict[tuple[str, int], list[TextChange]] = {}
    for text, (interventions, side) in enumerate(zip(each, sides, strict=True)):
        for intervention in interventions:
            checked = check_intervention(intervention, layout, side, name)
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
            key: CallChange(slot, tuple(len(s.of(slot.stack)[0]) for s in sides), tuple(by_slot.get(key, ())), gates.get(key), receive)
            for key, slot in touched.items()
        },
    )


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
