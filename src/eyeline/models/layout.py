"""What a forward pass of a model gives: its layers and heads in order, and which parts of them to keep."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from eyeline.errors import ModelError, TraceError
from eyeline.look.trace import KEEPABLE, PRECISIONS, Selection
from eyeline.messages import Message

#: What a mask adds to the score of a key that is hidden is below this, in every precision.
HIDDEN_BELOW = -1e4


@dataclass(frozen=True)
class Slot:
    """One layer of one stack.

    layer    its number in the model, which counts layers without attention too (Jamba: 4, 12, …)
    sink     whether a learned sink takes a part of every row, so that rows sum to less than 1 (gpt-oss)
    reader   where the heads' outputs pass gates: the name, within the attention module, of the module that reads them behind the gates
    """

    stack: str
    layer: int
    n_heads: int
    n_key_heads: int
    plain: bool
    reader: str = ""
    sink: bool = False


@dataclass(frozen=True)
class Layout:
    """The slots of a model, in the order in which its forward pass calls them.

    calls    a slot for each attention call; None for a call whose map the model itself does not report
    modules  for each attention call: the name of the module within the model that makes it; empty outside the attention interface
    read     the names of the inputs in the tiny pass
    causal   for each attention call: whether the mask that the model built for the tiny pass lets no query look ahead
    recorded False for models outside the attention interface: only weights, through `output_attentions`
    outputs  the names under which the model reports the maps of each stack
    indices  for each stack: which of the maps under that name are its slots
    padding_shows  whether padding changes the maps (convolutions, landmarks): then only texts of one length share a batch
    notices  what a user should know of this model's attention, such as maps that cannot be shown
    why_weights_only   why there are no queries, keys and values; empty where there are
    implementation, forced  the attention implementation that the model is switched to, and whether against transformers' advice
    parts    of a model that replaces parts of itself in a pass: the classes of its modules after the tiny pass
    """

    calls: tuple[Slot | None, ...]
    recorded: bool
    outputs: Mapping[str, str]
    indices: Mapping[str, tuple[int, ...]]
    padding_shows: bool = False
    causal: tuple[bool, ...] = ()
    notices: tuple[Message, ...] = ()
    why_weights_only: str = ""
    read: tuple[str, ...] = ()
    implementation: str = "eager"
    forced: bool = False
    parts: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    @property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(slot for slot in self.calls if slot is not None)

    @property
    def stacks(self) -> tuple[str, ...]:
        return tuple(self.outputs)

    def has_sink(self, stack: str) -> bool:
        """Whether a learned sink takes a part of every row in every layer of the stack."""
        return all(slot.sink for slot in self.slots if slot.stack == stack)

    @property
    def readers(self) -> tuple[str, ...]:
        """For each attention call, what `models.attention.reading_gates` needs."""
        return tuple("" if slot is None else slot.reader for slot in self.calls)

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


@dataclass
class CallsOfPass:
    """The attention calls of one pass, counted: each belongs to the next slot of the layout."""

    layout: Layout
    n_calls: int = 0

    def next_slot(self) -> Slot | None:
        """The slot of the call that is made now; None where it has none, or where there are too many calls: `check` finds that out."""
        self.n_calls += 1
        return self.layout.calls[self.n_calls - 1] if self.n_calls <= len(self.layout.calls) else None

    def check(self, name: str, inputs: Collection[str]) -> None:
        """Refuse a pass with too many or too few calls: what was recorded would be of other layers. After the pass."""
        check_calls(self.n_calls, self.layout, name, inputs)


def check_calls(n_calls: int, layout: Layout, name: str, inputs: Collection[str]) -> None:
    """Refuse a pass whose number of attention calls is not that of the tiny pass. inputs: the names of what the model has read."""
    expected = len(layout.calls)
    if n_calls == expected:
        return
    other = [key for key in inputs if key not in layout.read]
    raise ModelError(
        f"{name} made {n_calls} attention calls in this pass, and {expected} when it was opened: which call is which layer is not known.",
        f"It was opened with {', '.join(layout.read)}. With {', '.join(other)} other parts of it compute attention too."
        " Its parts can be opened by themselves: el.wrap(part)."
        if other
        else "Was its attention implementation or a part of it changed? Open it again: el.wrap(hf, tokenizer).",
    )


@dataclass(frozen=True)
class Capabilities:
    """What a model makes available."""

    stacks: Mapping[str, tuple[int, int, int]]  # stack → layers, heads, key heads (of the first layer)
    recorded: bool
    plain: bool
    streamed: bool  # whether its attention can run through a fused kernel, so that no map is made

    def __str__(self) -> str:
        return "weights, queries, keys, values" if self.recorded else "weights only"


# ---- What to keep, checked before a pass


#: Queries whose maps are computed at once where single queries are kept.
QUERIES_AT_ONCE = 512


@dataclass(frozen=True)
class Kept:
    """What of a pass is kept, checked.

    what        some of `KEEPABLE`, in a fixed order
    layers      of each stack, ascending, by the model's own numbers
    heads       of each stack, the same in every layer; missing: all
    rows        positions of the queries, from the end where negative; empty: all
    precision   of the weights: "auto", "float16" or "float32"
    """

    what: tuple[str, ...]
    layers: dict[str, tuple[int, ...]]
    heads: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    rows: tuple[int, ...] = ()
    precision: str = "auto"

    @classmethod
    def of(cls, layout: Layout, wanted: Selection) -> Kept:
        """Refuses what the model does not have."""
        layers = check_layers(layout, wanted.layers)
        heads = {} if wanted.heads is None else check_heads(layout, layers, wanted.heads)
        if wanted.precision not in PRECISIONS:
            raise TraceError(f"precision={wanted.precision!r}.", f"Choices: {', '.join(PRECISIONS)}.")
        rows: tuple[int, ...] = () if wanted.rows is None else _positions(wanted.rows)
        if rows and len(layout.stacks) > 1:
            raise TraceError(
                f"rows={list(rows)} of a model with {len(layout.stacks)} kinds of attention: {', '.join(layout.stacks)}.",
                "Which text they count is not known. Choose layers=[…] and heads=[…] instead.",
            )
        return cls(check_keep(wanted.keep, layout), layers, heads, rows, wanted.precision)

    def rows_of(self, n_queries: int) -> tuple[int, ...]:
        """The positions that are kept of a text with so many queries, ascending; empty: all."""
        wrong = next((row for row in self.rows if not -n_queries <= row < n_queries), None)
        if wrong is not None:
            raise TraceError(
                f"Row {wrong} of a text with {n_queries} tokens.", f"Rows count from 0 to {n_queries - 1}, or from the end: -1."
            )
        return tuple(sorted({row % n_queries for row in self.rows}))

    def block(self, layout: Layout) -> int | None:
        """How many queries' maps are computed at once; None: all of a layer. Gates are known of a whole layer alone."""
        return QUERIES_AT_ONCE if self.rows and layout.recorded and not any(layout.readers) else None


def check_heads(layout: Layout, layers: Mapping[str, tuple[int, ...]], heads: Iterable[int]) -> dict[str, tuple[int, ...]]:
    """The heads to keep of each stack, ascending; each chosen layer must have them."""
    try:
        wanted = tuple(sorted({operator.index(number) for number in heads}))
    except TypeError:
        raise TraceError(f"heads={heads!r}.", "Give a list of head numbers, such as heads=[0, 5].") from None
    for stack, numbers in layers.items():
        for slot in layout.slots:
            if slot.stack == stack and slot.layer in numbers and not (wanted and wanted[0] >= 0 and wanted[-1] < slot.n_heads):
                raise TraceError(
                    f"Heads {list(wanted)} of layer {slot.layer} ({stack}), which has {slot.n_heads}.",
                    f"Heads count from 0 to {slot.n_heads - 1}.",
                )
    return dict.fromkeys(layers, wanted)


def _positions(rows: Iterable[int]) -> tuple[int, ...]:
    try:
        wanted = tuple(sorted({operator.index(number) for number in rows}))
    except TypeError:
        raise TraceError(f"rows={rows!r}.", "Give a list of positions of tokens, such as rows=[0, 5]; from the end: [-1].") from None
    if not wanted:
        raise TraceError("rows=[]: no query.", "Name at least one position, or leave rows out.")
    return wanted


def check_layers(layout: Layout, layers: Iterable[int] | None) -> dict[str, tuple[int, ...]]:
    """The layers to keep of each stack, ascending, by the model's own numbers. A number that only one stack has is left out of others."""
    existing = {stack: layout.layers(stack) for stack in layout.stacks}
    if layers is None:
        return existing
    wanted = _numbers(layers, tuple(sorted({number for numbers in existing.values() for number in numbers})), "model")
    chosen = {stack: tuple(n for n in wanted if n in numbers) for stack, numbers in existing.items()}
    empty = [stack for stack, numbers in chosen.items() if not numbers]
    if empty:
        raise TraceError(f"Layers {wanted} leave nothing of the {empty[0]}, which has layers {listed(existing[empty[0]])}.")
    return chosen


def check_layers_of(layout: Layout, stack: str, layers: Iterable[int] | None) -> tuple[int, ...]:
    """The layers to keep of one stack, ascending, by the model's own numbers."""
    what = "model" if len(layout.stacks) == 1 else f"model's {stack}"
    return layout.layers(stack) if layers is None else tuple(_numbers(layers, layout.layers(stack), what))


def _numbers(layers: Iterable[int], existing: tuple[int, ...], what: str) -> list[int]:
    try:
        wanted = sorted({operator.index(number) for number in layers})
    except TypeError:
        raise TraceError(f"layers={layers!r}.", "Give a list of layer numbers, such as layers=[0, 5].") from None
    if not wanted or not set(wanted) <= set(existing):
        hint = "Layers count from zero." if existing == tuple(range(len(existing))) else "Its other layers have no attention."
        raise TraceError(f"Layers {wanted} of a {what} whose layers are {listed(existing)}.", hint)
    return wanted


def listed(numbers: tuple[int, ...]) -> str:
    """Layer numbers for a message.

    >>> listed((0, 1, 2)), listed((1, 3))
    ('0…2', '1, 3')
    """
    without_gap = len(numbers) > 1 and numbers == tuple(range(numbers[0], numbers[-1] + 1))
    return f"{numbers[0]}…{numbers[-1]}" if without_gap else ", ".join(map(str, numbers))


def check_keep(keep: Collection[str], layout: Layout) -> tuple[str, ...]:
    """What to keep, in a fixed order; outside the attention interface everything but weights falls away unless it was named alone."""
    names = {keep} if isinstance(keep, str) else set(keep) if isinstance(keep, Iterable) else {keep}
    if names - set(KEEPABLE) or not names:
        raise TraceError(f"keep={keep!r}.", f"Name at least one of: {', '.join(KEEPABLE)}.")
    if not layout.recorded and names != set(KEEPABLE) and names - {"weights"}:
        raise ModelError(
            Message("refusal.weights_only", what=", ".join(sorted(names - {"weights"})), why=layout.why_weights_only),
            "Use keep={'weights'}.",
        )
    return tuple(name for name in KEEPABLE if name in names)
