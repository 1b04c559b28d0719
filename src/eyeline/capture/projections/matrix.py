"""The matrix of a module that is linear, whatever its class: computed from its outputs for unit vectors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from eyeline.capture.projections.watch import ModuleCall

#: Unit vectors are scaled by this, so that subtracting the bias does not round off the last digits of the weights.
LENGTH = 1024.0


@dataclass(frozen=True)
class AffineMatrix:
    """output = input · weight + bias. weight: [input, output], bias: [output], both in single precision or better"""

    weight: torch.Tensor
    bias: torch.Tensor


def matrix_of(call: ModuleCall, within: float) -> AffineMatrix | None:
    """The matrix of the module that was called; None if what it computed is not linear in what it was given."""
    width = call.input.shape[-1]
    bias = _run(call.module, call.input.new_zeros(1, width))
    far = _run(call.module, LENGTH * torch.eye(width, dtype=call.input.dtype, device=call.input.device))
    if bias is None or far is None:
        return None
    known = AffineMatrix((far - bias) / LENGTH, bias[0])
    expected = call.input.to(known.weight.dtype) @ known.weight + known.bias
    actual = call.output.to(known.weight.dtype)
    if expected.shape != actual.shape or (expected - actual).abs().max() > within * actual.abs().max():
        return None
    return known


def _run(module: nn.Module, vectors: torch.Tensor) -> torch.Tensor | None:
    """[row, output]; None where the module takes no matrix."""
    try:
        output = module.forward(vectors)
    except Exception:  # noqa: BLE001 - any model's code runs here; a module that takes no matrix is not linear
        return None
    if not isinstance(output, torch.Tensor) or output.ndim != 2 or len(output) != len(vectors):
        return None
    return output.double() if output.dtype == torch.float64 else output.float()
