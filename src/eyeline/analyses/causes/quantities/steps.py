"""Follow a forward pass of one text through every module: what entered it, what left it. Nothing is read from names or classes.

What a module is (linear, a norm) is decided by measurement: it is called again with test vectors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook

from eyeline.measures.causes.contributions import FrozenNorm

#: How far two tensors may differ, as a part of the largest number, and still count as equal.
WITHIN = 1e-4
#: Size of the test vectors for norms: large, so that the epsilon under the root does not matter.
TEST_VECTOR_SIZE = 1000.0


@dataclass(frozen=True)
class ModulePass:
    """One call of one module on one text: vectors in, vectors out, without the batch axis."""

    module: nn.Module
    entered: torch.Tensor  # [token, dim]
    left: torch.Tensor  # [token, dim]
    args: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def of(self, vectors: torch.Tensor) -> torch.Tensor:
        """The module's output for other vectors: [row, dim] → [row, dim]"""
        with unwatched(), torch.no_grad():
            output: torch.Tensor = self.module(vectors)
        return output if output.ndim == vectors.ndim else output.reshape(*vectors.shape[:-1], -1)


_paused = threading.local()


@contextmanager
def unwatched() -> Iterator[None]:
    """Within this block, steps of this thread are not received."""
    before = getattr(_paused, "yes", False)
    _paused.yes = True
    try:
        yield
    finally:
        _paused.yes = before


@contextmanager
def watching_steps(receive: Callable[[ModulePass], None]) -> Iterator[None]:
    """Within this block `receive` gets every module call of this thread that takes and gives the vectors of one text, inner ones first."""
    thread = threading.get_ident()

    def hook(module: nn.Module, args: tuple[Any, ...], options: dict[str, Any], output: Any) -> None:
        if threading.get_ident() != thread or getattr(_paused, "yes", False):
            return
        entered = args[0] if args else options.get("hidden_states")
        left = output[0] if isinstance(output, tuple) and output else output
        if entered is not None and _is_vectors(entered) and _is_vectors(left):
            receive(ModulePass(module, _rows(entered), _rows(left), args, options))

    handle = register_module_forward_hook(hook, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


def _is_vectors(value: Any) -> bool:
    shaped = isinstance(value, torch.Tensor) and value.is_floating_point()
    return shaped and (value.ndim == 2 or (value.ndim == 3 and len(value) == 1))


def _rows(tensor: torch.Tensor) -> torch.Tensor:
    """[token, dim] of [1, token, dim]; two axes stay as they are."""
    return tensor[0] if tensor.ndim == 3 else tensor


def same(first: torch.Tensor, second: torch.Tensor, within: float = WITHIN) -> bool:
    """Whether two tensors hold the same numbers, except for rounding."""
    if first.shape != second.shape:
        return False
    size = max(float(first.abs().max()), float(second.abs().max()), 1e-12) if first.numel() else 1.0
    return bool((first - second).abs().max() <= within * size)


def is_linear(step: ModulePass) -> bool:
    """Whether the module is linear, apart from a bias: f(2x) − f(x) = f(x) − f(0), and it changes something."""
    if step.entered.data_ptr() == step.left.data_ptr() or (step.entered.shape == step.left.shape and torch.equal(step.entered, step.left)):
        return False
    try:
        zero, twice = step.of(torch.zeros_like(step.entered[:1])), step.of(2 * step.entered)
    except Exception:  # noqa: BLE001 - any model's code runs here; a module that takes no plain matrix is not linear for us
        return False
    return same(twice - step.left, step.left - zero, 1e-3) and same(step.of(step.entered), step.left)


def linear_parts(step: ModulePass, parts: torch.Tensor) -> torch.Tensor:
    """Parts of a sum through a linear module without its bias: [..., dim] → [..., dim]"""
    zero = step.of(torch.zeros_like(step.entered[:1]))  # [1, dim]
    flat = parts.reshape(-1, parts.shape[-1])
    return (step.of(flat) - zero).reshape(*parts.shape[:-1], -1)


def bias_of(step: ModulePass) -> torch.Tensor:
    """[dim]: what a linear module gives for zero."""
    return step.of(torch.zeros_like(step.entered[:1]))[0]


def frozen_norm(step: ModulePass) -> FrozenNorm | None:
    """The module as a norm whose deviations are constants; None where it is not a norm.

    Its weight and bias follow from its output for a vector that alternates between ±TEST_VECTOR_SIZE: its mean is 0.
    """
    if step.entered.shape != step.left.shape or torch.equal(step.entered, step.left) or step.entered.shape[-1] % 2:
        return None
    signs = torch.ones_like(step.entered[:1])
    signs[:, 1::2] = -1
    try:
        up, down = step.of(TEST_VECTOR_SIZE * signs), step.of(-TEST_VECTOR_SIZE * signs)
        shifted = step.of(step.entered + step.entered.abs().max())
    except Exception:  # noqa: BLE001 - as above
        return None
    if up.shape != signs.shape:
        return None
    weight, bias = ((up - down) / 2 * signs)[0], ((up + down) / 2)[0]
    if float(weight.abs().max()) > TEST_VECTOR_SIZE / 2:
        return None  # the output grows with the input: no norm
    centre = same(shifted, step.left, 1e-2)
    centred = step.entered - step.entered.mean(-1, keepdim=True) if centre else step.entered
    shape = centred * weight  # [token, dim]
    scale = ((step.left - bias) * shape).sum(-1) / (shape * shape).sum(-1).clamp_min(1e-30)
    return FrozenNorm(weight, bias, scale, centre) if same(shape * scale[:, None] + bias, step.left, 1e-3) else None
