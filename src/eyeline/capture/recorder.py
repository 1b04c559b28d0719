"""One attention function for every architecture: it calls the model's own code and passes the result to the recorder.

transformers routes the attention of most architectures through `AttentionInterface`. We register one function and its mask function
under the name "eyeline". The function calls the model's own eager function (which knows that family's softcap, sinks,
position bias and grouped keys) and passes what went in and what came out to the recording of the current context. A context
variable holds the recording, so that threads sharing one model never see each other's data.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import eager_mask, sdpa_mask

from eyeline.capture.interventions.change import Change, Terms, as_numbers, next_change
from eyeline.errors import ModelError
from eyeline.measures.kernels import one_pass
from eyeline.measures.kernels.one_pass import KeySets, RowNumbers

IMPLEMENTATION = "eyeline"


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
    first: int = 0  # the first of the queries, where a long text comes in blocks of rows
    in_blocks: bool = False

    def again(self, queries: torch.Tensor) -> torch.Tensor:
        """The weights that this module's own function computes for other queries: [batch, head, query, key]."""
        function = own_eager(type(self.module))
        return function(self.module, queries, self.keys, self.values, self.mask, **self.options)[1]

    def last_rows(self, rows: int) -> Call:
        """The same call for the last queries alone."""
        if self.queries.shape[2] <= rows:
            return self
        bias = None if self.bias is None else self.bias[:, :, -rows:]
        return replace(
            self,
            weights=self.weights[:, :, -rows:],
            queries=self.queries[:, :, -rows:],
            mask=None if self.mask is None else self.mask[:, :, -rows:],
            bias=bias,
            options=self.options if bias is None else {**self.options, "position_bias": bias},
        )

    def in_single_precision(self) -> Call:
        """The same call, of a model in half precision too, so that rounding is not taken for something else."""
        single: dict[str, Any] = {name: _single(getattr(self, name)) for name in ("queries", "keys", "values", "mask", "bias")}
        options = {**self.options, "position_bias": single["bias"]} if self.bias is not None else self.options
        return replace(self, **single, options=options)


def _single(tensor: torch.Tensor | None) -> torch.Tensor | None:
    return None if tensor is None else tensor.float()


@dataclass(frozen=True)
class ScoreTerms:
    """What the weights of one attention module are computed from, in a pass that does not compute them."""

    queries: torch.Tensor  # [batch, head, query, dim]
    keys: torch.Tensor  # [batch, key head, key, dim]
    mask: torch.Tensor | None  # [batch, 1 or head, query, key]: True where a query may look, or numbers added to the scores
    bias: torch.Tensor | None  # [1 or batch, head, query, key], added to the scores
    scale: float
    causal: bool  # without a mask: no query looks ahead
    numbers: RowNumbers | None = None  # of every row, where they were requested and the one-pass kernel applies


ReceiveCall = Callable[[Call], None]
ReceiveTerms = Callable[[ScoreTerms], None]
_receive: ContextVar[ReceiveCall | None] = ContextVar("eyeline_receive", default=None)
_rows: ContextVar[int | None] = ContextVar("eyeline_rows", default=None)
_receive_terms: ContextVar[ReceiveTerms | None] = ContextVar("eyeline_score_terms", default=None)
_causal: ContextVar[Iterator[bool]] = ContextVar("eyeline_causal")
_sets: ContextVar[Iterator[KeySets | None]] = ContextVar("eyeline_sets")


@contextmanager
def recording(receive: ReceiveCall, rows: int | None = None) -> Iterator[None]:
    """Within this block, and this thread or task alone, every attention call is passed to `receive`.

    rows   a map with more queries than this is never computed whole: the model's own function computes this many rows at a time
    """
    tokens = _receive.set(receive), _rows.set(rows)
    try:
        yield
    finally:
        _receive.reset(tokens[0])
        _rows.reset(tokens[1])


@contextmanager
def recording_scores(receive_terms: ReceiveTerms, causal: Iterable[bool], sets: Iterable[KeySets | None] | None = None) -> Iterator[None]:
    """Within this block attention runs through the fused kernel, no map is made, and `receive_terms` sees queries, keys and masks.

    For plain softmax attention alone: the fused kernel knows no softcap and no sink.

    causal   for each attention call in order, whether the mask that the model builds for it lets no query look ahead (`Layout.causal`).
             It is used where transformers leaves the mask out because it would be causal alone. The module's own `is_causal` is not
             used: transformers takes a missing one for True.
    sets     for each attention call in order, the sets of keys whose masses are requested, with the other numbers of its rows; None: no
             numbers for this call. They come with the output, in one pass, where the one-pass kernel applies
    """
    tokens = _receive_terms.set(receive_terms), _causal.set(iter(causal)), _sets.set(iter(sets or ()))
    try:
        yield
    finally:
        _receive_terms.reset(tokens[0])
        _causal.reset(tokens[1])
        _sets.reset(tokens[2])


def skip_calls(n: int) -> None:
    """Skip `n` attention calls of this pass, whose results were stored before."""
    for _ in range(n):
        next_change()
        if _receive_terms.get() is not None:
            next(_causal.get(), None)
            next(_sets.get(), None)


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
    change = next_change()
    receive_terms = _receive_terms.get()
    if receive_terms is not None:
        causal = _next_causal(module) and attention_mask is None and query.shape[2] > 1
        bias = kwargs.get("position_bias")
        terms, scale, numbers = Terms(query, key, value, attention_mask, causal), _scale(module, query, kwargs), None
        sets = next(_sets.get(), None)
        if change is not None:
            fused = _changed(module, terms, kwargs, change)[0]
        elif sets is not None and bias is None and one_pass.applies(query, key, value, attention_mask, scale, causal):
            fused, numbers = one_pass.attention(query, key, value, attention_mask, scale, causal, sets)
        else:
            fused = _fused(module, terms, kwargs)
        receive_terms(ScoreTerms(query, key, attention_mask, bias, scale, causal, numbers))
        return fused, None
    receive, rows = _receive.get(), _rows.get()
    if receive is not None and rows is not None and query.shape[2] > rows and change is None:
        return _in_blocks(module, query, key, value, attention_mask, kwargs, receive, rows), None
    if change is None:
        output, weights = own_eager(type(module))(module, query, key, value, attention_mask, **kwargs)
    else:
        output, weights, value = _changed(module, Terms(query, key, value, attention_mask, False), kwargs, change)
    if receive is None:
        return output, weights
    scale = _scale(module, query, kwargs)
    receive(Call(module, weights, query, key, value, attention_mask, kwargs.get("position_bias"), scale, kwargs))
    return output, None


def _fused(module: torch.nn.Module, terms: Terms, options: Mapping[str, Any]) -> torch.Tensor:
    causal = terms.causal and terms.mask is None
    return sdpa_attention_forward(  # type: ignore[no-any-return]
        module, terms.queries, terms.keys, terms.values, terms.mask, **{**options, "is_causal": causal}
    )[0]


def _changed(
    module: torch.nn.Module, terms: Terms, options: Mapping[str, Any], change: Change
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Outputs, weights and values of a call that is changed; fused where attention is fused and no weights are needed."""
    terms = change.before(terms)
    if _receive_terms.get() is not None and not change.needs_weights:
        output, weights = _fused(module, terms, options), torch.empty(0)
        return change.after(output, None, terms)[0], weights, terms.values
    mask = terms.mask
    if mask is None or mask.dtype == torch.bool:
        mask = as_numbers(mask, terms)
    output, weights = own_eager(type(module))(module, terms.queries, terms.keys, terms.values, mask, **options)
    output, weights = change.after(output, weights, terms)  # type: ignore[assignment]
    return output, weights, terms.values


def _next_causal(module: torch.nn.Module) -> bool:
    causal = next(_causal.get(), None)
    if causal is None:
        raise ModelError(
            f"{type(module).__name__} makes more attention calls than when the model was opened.", "Its layers cannot be identified."
        )
    return causal


def _in_blocks(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    options: dict[str, Any],
    receive: ReceiveCall,
    rows: int,
) -> torch.Tensor:
    """The model's own function on some queries at a time, so that no map is made whole: [batch, query, head, dim]."""
    outputs = []
    bias = options.get("position_bias")
    for first in range(0, query.shape[2], rows):
        part = slice(first, first + rows)
        own = dict(options) if bias is None else {**options, "position_bias": bias[:, :, part]}
        masked = None if mask is None else mask[:, :, part]
        output, weights = own_eager(type(module))(module, query[:, :, part], key, value, masked, **own)
        outputs.append(output)
        scale = _scale(module, query, options)
        receive(Call(module, weights, query[:, :, part], key, value, masked, own.get("position_bias"), scale, own, first, True))
    return torch.cat(outputs, dim=1)


def mask_function(*args: Any, **kwargs: Any) -> torch.Tensor | None:
    """The mask for our attention function: numbers for the eager function; for the fused kernel booleans, or None if it is causal alone."""
    return (eager_mask if _receive_terms.get() is None else sdpa_mask)(*args, **kwargs)  # type: ignore[no-any-return]


def _scale(module: torch.nn.Module, query: torch.Tensor, options: Mapping[str, Any]) -> float:
    scale = options.get("scaling")
    return float((getattr(module, "scaling", None) or query.shape[-1] ** -0.5) if scale is None else scale)


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
        function = getattr(sys.modules.get(cls.__module__), "eager_attention_forward", None)
        if function is not None:
            return function  # type: ignore[no-any-return]
    raise ModelError(
        f"{module_type.__name__} calls the attention interface, but its file {module_type.__module__} has no eager attention of its own.",
        "Its attention cannot be recorded.",
    )


AttentionInterface.register(IMPLEMENTATION, attention_function)
AttentionMaskInterface.register(IMPLEMENTATION, mask_function)
