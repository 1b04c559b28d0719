"""One attention function for every architecture: it lets the model's own code do the work, and tells whoever is recording.

transformers routes the attention of most architectures through `AttentionInterface`. We register one function and its mask twin
under the name "sightline". The function calls the model's own eager function (which knows that family's softcap, sinks,
position bias and grouped keys) and hands what went in and what came out to the recording of the current context. A context
variable holds the recording, so that threads sharing one model never see each other's data.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from sightline.errors import ModelError

IMPLEMENTATION = "sightline"


@dataclass(frozen=True)
class Call:
    """One attention module's work on one batch, as it passed by."""

    module: torch.nn.Module
    weights: torch.Tensor  # [batch, head, query, key]
    queries: torch.Tensor  # [batch, head, query, dim]
    keys: torch.Tensor  # [batch, key head, key, dim]
    values: torch.Tensor  # [batch, key head, key, dim]
    mask: torch.Tensor | None  # [batch, 1 or head, query, key], added to the scores
    bias: torch.Tensor | None  # [1 or batch, head, query, key], added to the scores
    scale: float
    options: Mapping[str, Any]

    def again(self, queries: torch.Tensor) -> torch.Tensor:
        """The weights this module's own function makes of other queries: [batch, head, query, key]."""
        function = own_eager(type(self.module))
        return function(self.module, queries, self.keys, self.values, self.mask, **self.options)[1]


Receive = Callable[[Call], None]
_receive: ContextVar[Receive | None] = ContextVar("sightline_receive", default=None)


@contextmanager
def recording(receive: Receive) -> Iterator[None]:
    """Within this block, and this thread or task alone, every attention call is handed to `receive`."""
    token = _receive.set(receive)
    try:
        yield
    finally:
        _receive.reset(token)


def attention_function(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    **kwargs: Any,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The model's own eager attention; the recording of this context sees what went in and what came out.

    While it is recorded the model gets no weights back, as from a fused kernel: it would hold them through its feed-forward block.
    """
    output, weights = own_eager(type(module))(module, query, key, value, attention_mask, **kwargs)
    receive = _receive.get()
    if receive is None:
        return output, weights
    scale = kwargs.get("scaling")
    if scale is None:
        scale = getattr(module, "scaling", None) or query.shape[-1] ** -0.5
    receive(Call(module, weights, query, key, value, attention_mask, kwargs.get("position_bias"), float(scale), kwargs))
    return output, None


def own_eager(module_type: type) -> Callable[..., tuple[torch.Tensor, torch.Tensor]]:
    """The eager attention function that this module's forward would call itself.

    Its name is read from the code of `forward` (most families: `eager_attention_forward`; some files hold several), its value
    from the file in which that forward stands.
    """
    for cls in module_type.__mro__:
        if "forward" not in cls.__dict__:
            continue
        forward = inspect.unwrap(cls.__dict__["forward"])
        for name in forward.__code__.co_names:
            if name.endswith("eager_attention_forward") and name in forward.__globals__:
                return forward.__globals__[name]  # type: ignore[no-any-return]
        found = getattr(sys.modules.get(cls.__module__), "eager_attention_forward", None)
        if found is not None:
            return found  # type: ignore[no-any-return]
    raise ModelError(
        f"{module_type.__name__} calls the attention interface, but its file {module_type.__module__} has no eager attention of its own.",
        "Its attention cannot be recorded.",
    )


AttentionInterface.register(IMPLEMENTATION, attention_function)
AttentionMaskInterface.register(IMPLEMENTATION, eager_mask)
