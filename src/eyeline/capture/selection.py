"""What to keep of a forward pass: checked before it runs."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable

from eyeline.capture.collect import WEIGHTS_ONLY
from eyeline.capture.layout import Layout
from eyeline.capture.trace import KEEPABLE
from eyeline.errors import ModelError, TraceError


def check_layers(layout: Layout, layers: Iterable[int] | None) -> dict[str, tuple[int, ...]]:
    """The layers to keep of each stack, ascending. A number that only the deeper stack has is left out of the other."""
    there = {stack: tuple(range(layout.n_layers(stack))) for stack in layout.stacks}
    if layers is None:
        return there
    wanted = _numbers(layers, max(map(len, there.values())), "model")
    chosen = {stack: tuple(n for n in wanted if n in numbers) for stack, numbers in there.items()}
    empty = [stack for stack, numbers in chosen.items() if not numbers]
    if empty:
        raise TraceError(f"Layers {wanted} leave nothing of the {empty[0]}, which has layers 0…{len(there[empty[0]]) - 1}.")
    return chosen


def check_layers_of(layout: Layout, stack: str, layers: Iterable[int] | None) -> tuple[int, ...]:
    """The layers to keep of one stack, ascending, where no other stack is asked, however many layers that one has."""
    n_layers = layout.n_layers(stack)
    what = "model" if len(layout.stacks) == 1 else f"model's {stack}"
    return tuple(range(n_layers)) if layers is None else tuple(_numbers(layers, n_layers, what))


def _numbers(layers: Iterable[int], n_layers: int, what: str) -> list[int]:
    try:
        wanted = sorted({operator.index(number) for number in layers})
    except TypeError:
        raise TraceError(f"layers={layers!r}.", "Give a list of layer numbers, such as layers=[0, 5].") from None
    if not wanted or any(not 0 <= n < n_layers for n in wanted):
        raise TraceError(f"Layers {wanted} of a {what} whose layers are 0…{n_layers - 1}.", "Layers count from zero.")
    return wanted


def check_keep(keep: Collection[str], layout: Layout) -> tuple[str, ...]:
    """What to keep, in a fixed order; outside the attention interface everything but weights falls away unless it was named alone."""
    names = {keep} if isinstance(keep, str) else set(keep) if isinstance(keep, Iterable) else {keep}
    if names - set(KEEPABLE) or not names:
        raise TraceError(f"keep={keep!r}.", f"Name at least one of: {', '.join(KEEPABLE)}.")
    if not layout.recorded and names != set(KEEPABLE) and names - {"weights"}:
        raise ModelError(f"No {', '.join(sorted(names - {'weights'}))}: {WEIGHTS_ONLY}.", "Use keep={'weights'}.")
    return tuple(name for name in KEEPABLE if name in names)
