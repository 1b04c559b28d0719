"""A model whose head runs at some positions alone: a masked language model's head costs a third of a pass, and few tokens are masked.

The model is not touched. A twin of it shares all weights; its body is followed by a step that keeps the wanted positions.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel


class _KeepPositions(nn.Module):
    """The body of a model, of whose last states the wanted positions are kept: [text, position, hidden]."""

    def __init__(self, body: nn.Module, positions: torch.Tensor) -> None:
        super().__init__()
        self.body = body
        self.__dict__["positions"] = positions
        self.training = body.training

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        output = self.body(*args, **kwargs)
        states = output[0]
        positions = self.__dict__["positions"].to(states.device)
        kept = states.gather(1, positions[..., None].expand(-1, -1, states.shape[-1]))
        if isinstance(output, tuple):
            return (kept, *output[1:])
        output["last_hidden_state"] = kept
        return output

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("body"), name)


def with_head_at(hf: PreTrainedModel, positions: torch.Tensor) -> PreTrainedModel:
    """A twin whose logits are those of `positions` [text, position] alone; the model itself where it has no head on a body."""
    name = hf.base_model_prefix
    body = hf._modules.get(name)
    if body is None:
        return hf
    twin = copy.copy(hf)
    twin.__dict__["_modules"] = {**hf._modules, name: _KeepPositions(body, positions)}
    return twin
