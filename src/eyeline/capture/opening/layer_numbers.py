"""Which layer of the model a map belongs to: its index in the model's own list of layers, which also holds layers without attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import torch
from torch import nn


class LayerWatch:
    """Follows a forward pass: which item of the outermost list of layers (`nn.ModuleList`) is running, and which maps it returned."""

    def __init__(self) -> None:
        self._running: list[int] = []
        self._maps: list[tuple[torch.Tensor, int]] = []

    @property
    def current(self) -> int | None:
        """The index of the layer that is running now."""
        return self._running[0] if self._running else None

    def layer_of(self, weights: torch.Tensor) -> int | None:
        """The layer that returned this tensor object."""
        return next((index for tensor, index in self._maps if tensor is weights), None)

    def begin(self, index: int) -> None:
        self._running.append(index)

    def end(self) -> None:
        self._running.pop()

    def keep_maps(self, output: Any) -> None:
        if self._running:
            parts = output if isinstance(output, tuple | list) else [output]
            self._maps += [(part, self._running[0]) for part in parts if isinstance(part, torch.Tensor) and part.ndim == 4]


@contextmanager
def watching_layers(model: nn.Module) -> Iterator[LayerWatch]:
    """Within this block a pass of the model is followed. Its hooks are gone afterwards; they change nothing."""
    watch = LayerWatch()
    handles = []
    for module in model.modules():
        handles.append(module.register_forward_hook(lambda _module, _inputs, output: watch.keep_maps(output)))
    for parent in model.modules():
        if isinstance(parent, nn.ModuleList):
            for index, layer in enumerate(parent):
                handles.append(layer.register_forward_pre_hook(lambda _module, _inputs, index=index: watch.begin(index), prepend=True))
                handles.append(layer.register_forward_hook(lambda _module, _inputs, _output: watch.end(), always_call=True))
    try:
        yield watch
    finally:
        for handle in handles:
            handle.remove()


def layer_numbers(seen: Sequence[int | None], positions: Sequence[int]) -> tuple[int, ...]:
    """The number of each map's layer.

    seen       the layer that was running, where known; used if every map has its own and they ascend (not where layers share weights)
    positions  otherwise: the map's position among those that the model reports, layers without one counted

    >>> layer_numbers([1, 3], [0, 1]), layer_numbers([0, 0, 0], [0, 1, 2]), layer_numbers([None, 1], [0, 2])
    ((1, 3), (0, 1, 2), (0, 2))
    """
    known = [number for number in seen if number is not None]
    if len(known) == len(seen) and all(a < b for a, b in pairwise(known)):
        return tuple(known)
    return tuple(positions)
