"""Which parts of a forward pass to keep: checked before it runs."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable

from eyeline.capture.layout import Layout
from eyeline.capture.trace_file import KEEPABLE
from eyeline.errors import ModelError, TraceError


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
        raise ModelError(f"No {', '.join(sorted(names - {'weights'}))}: {layout.why_weights_only}.", "Use keep={'weights'}.")
    return tuple(name for name in KEEPABLE if name in names)
