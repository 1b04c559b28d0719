"""One attention function for every architecture: it calls the model's own code and passes what it saw to the recording of this pass.

transformers routes the attention of most architectures through `AttentionInterface`. We register one function and its mask function
under the name "eyeline". The function calls the model's own eager function (which knows that family's softcap, sinks,
position bias and grouped keys) and passes what went in and what came out to the recording of the current context; there, too, the
changes of interventions are asked for. Context variables hold recording and changes, so that threads sharing one model never see each
other's, and nothing is left in the model afterwards.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import torch
from torch.utils.hooks import RemovableHandle
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import eager_mask, sdpa_mask

from eyeline.errors import ModelError, TraceError
from eyeline.messages import Message
from eyeline.models import kernels
from eyeline.models.kernels import KeySets, RowNumbers

# ---- One attention call, and one layer's attention on one batch: what a pass gives to a receiver, one at a time


@dataclass(frozen=True)
class AttentionCall:
    """One call of an attention function on one batch: what went in, and what came out of it.

    module            whose attention it is
    queries           [batch, head, query, dim], after rotary embedding
    keys, values      [batch, key head, key, dim]
    mask              [batch, 1 or head, query, key]: numbers added to the scores, or True where a query may look; None: see causal
    options           what else the model gives to its own function
    causal            where there is no mask: no query looks ahead
    maps              [batch, head, query, key]; None in a pass that forms no map
    numbers           of every row, where they were requested and came with the output
    output            [batch, query, head, dim], in a pass that forms no map
    gates             what the model multiplies the heads' outputs with, number by number, before its output projection (Qwen3-Next):
                      [batch, query, head, dim]; None where it has none, or where nobody reads them (`reading_gates`)
    masks             the masks of such a pass, some of which are left out
    blind             queries from which a change has hidden every key: [batch, head, query]
    first, in_blocks  the first of the queries, where those of a long text come in blocks
    """

    module: torch.nn.Module
    queries: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor
    mask: torch.Tensor | None
    options: Mapping[str, Any]
    causal: bool = False
    maps: torch.Tensor | None = None
    numbers: RowNumbers | None = None
    output: torch.Tensor | None = None
    gates: torch.Tensor | None = None
    masks: MasksOfPass | None = None
    blind: torch.Tensor | None = None
    first: int = 0
    in_blocks: bool = False

    @property
    def bias(self) -> torch.Tensor | None:
        """[1 or batch, head, query, key], added to the scores (T5); None elsewhere."""
        return self.options.get("position_bias")

    @cached_property
    def scale(self) -> float:
        """What q·k is multiplied with."""
        scale = self.options.get("scaling")
        return float((getattr(self.module, "scaling", None) or self.queries.shape[-1] ** -0.5) if scale is None else scale)

    @property
    def weights(self) -> torch.Tensor:
        """[batch, head, query, key]; an error where the pass formed no map."""
        if self.maps is None:
            raise TraceError("This attention was computed without a map.", "Ask for the maps of the model: model.each_layer.")
        return self.maps

    def keys_by_head(self) -> torch.Tensor:
        """The keys that each head uses: heads share them in grouped-query models. [batch, head, key, dim]"""
        return self.keys.repeat_interleave(self.queries.shape[1] // self.keys.shape[1], dim=1)

    def values_by_head(self) -> torch.Tensor:
        """[batch, head, key, dim]"""
        return self.values.repeat_interleave(self.weights.shape[1] // self.values.shape[1], dim=1)

    def head_outputs(self) -> torch.Tensor:
        """What each head writes: [batch, head, query, dim]"""
        values = self.values_by_head()
        outputs = self.weights.to(values.dtype) @ values
        return outputs if self.gates is None else outputs * self.gates.transpose(1, 2)

    def mask_as_numbers(self) -> torch.Tensor | None:
        """The mask as numbers that are added to the scores; None where every key is seen."""
        mask = self.mask
        if mask is None and self.causal:
            shape = (1, 1, self.queries.shape[2], self.keys.shape[2])
            mask = torch.ones(shape, dtype=torch.bool, device=self.queries.device).tril()
        if mask is None or mask.dtype != torch.bool:
            return mask
        numbers = torch.zeros(mask.shape, dtype=self.queries.dtype, device=mask.device)
        return numbers.masked_fill(~mask, torch.finfo(self.queries.dtype).min)

    def rows(self, part: slice) -> AttentionCall:
        """The same call for some of the queries."""
        mask, bias, maps = (None if tensor is None else tensor[:, :, part] for tensor in (self.mask, self.bias, self.maps))
        options = self.options if bias is None else {**self.options, "position_bias": bias}
        return replace(self, queries=self.queries[:, :, part], mask=mask, maps=maps, options=options)

    def in_single_precision(self) -> AttentionCall:
        """The same call, of a model in half precision too, so that rounding is not taken for something else."""
        options = self.options if self.bias is None else {**self.options, "position_bias": self.bias.float()}
        mask = None if self.mask is None else self.mask.float()
        return replace(self, queries=self.queries.float(), keys=self.keys.float(), values=self.values.float(), mask=mask, options=options)

    def on(self, device: torch.device) -> AttentionCall:
        """The same call on the device of the texts, of a layer that lies on another one. Not one with numbers of rows."""
        if self.queries.device == device:
            return self
        moved = {
            name: value.to(device) for name in ("queries", "keys", "values", "mask", "maps", "output", "gates", "blind")
            if (value := getattr(self, name)) is not None
        }  # fmt: skip
        options = {name: value.to(device) if isinstance(value, torch.Tensor) else value for name, value in self.options.items()}
        return replace(self, options=options, **moved)

    def own(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Outputs [batch, query, head, dim] and weights, by the model's own eager function."""
        return own_eager(type(self.module))(self.module, self.queries, self.keys, self.values, self.mask, **self.options)

    def own_of_rows(
        self, texts: slice, rows: torch.Tensor, stack: str, *, single: bool
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """What the model's own eager function gives for some rows, with the mask that it would have in a pass that forms maps.

        single   in single precision, at least, so that rounding is not taken for something else
        → output [text, row, head, dim], weights [text, head, row, key] and the mask: numbers added to the scores
        """
        queries = self.queries[texts][:, :, rows]
        shared = queries.shape[1] // self.keys.shape[1]
        dtype = torch.float32 if single and queries.dtype != torch.float64 else queries.dtype
        mask = self._mask_of_rows(texts, rows, stack, dtype)
        numbers = len(queries) * self.keys.shape[2] * shared * (2 * self.keys.shape[3] + len(rows))  # of one key head
        at_once = max(1, NUMBERS_OF_ROWS // numbers)
        outputs, weights = [], []
        for first in range(0, self.keys.shape[1], at_once):
            of_keys, heads = slice(first, first + at_once), slice(first * shared, (first + at_once) * shared)
            options = dict(self.options)
            if self.bias is not None:
                bias = self.bias if len(self.bias) == 1 else self.bias[texts]
                options["position_bias"] = bias[:, heads][:, :, rows].to(dtype)
            part = AttentionCall(
                self.module,
                queries[:, heads].to(dtype),
                self.keys[texts, of_keys].to(dtype),
                self.values[texts, of_keys].to(dtype),
                mask if mask is None or mask.shape[1] == 1 else mask[:, heads],
                options,
            )
            output, maps = part.own()
            outputs.append(output)
            weights.append(maps)
        return torch.cat(outputs, 2), torch.cat(weights, 1), mask

    def _mask_of_rows(self, texts: slice, rows: torch.Tensor, stack: str, dtype: torch.dtype) -> torch.Tensor | None:
        """Numbers added to the scores: [text or 1, 1 or head, row, key]; None where every key is seen."""
        lowest = torch.finfo(dtype).min
        if self.mask is None:
            if self.masks is None or not self.masks.left_out_is_causal(self.causal, stack, self.queries.shape[2]):
                return None
            ahead = torch.arange(self.keys.shape[2], device=rows.device) > rows[:, None]  # [row, key]
            return torch.zeros(ahead.shape, dtype=dtype, device=rows.device).masked_fill_(ahead, lowest)[None, None]
        mask = (self.mask if len(self.mask) == 1 else self.mask[texts])[:, :, rows]
        if mask.dtype == torch.bool:
            return torch.zeros(mask.shape, dtype=dtype, device=rows.device).masked_fill_(~mask, lowest)
        if self.masks is not None and self.masks.n_made:
            raise UncheckedMaskError
        return mask.to(dtype).clamp_min(lowest)

    def fused(self) -> torch.Tensor:
        """Outputs [batch, query, head, dim], by the fused kernel."""
        options = {**self.options, "is_causal": self.causal and self.mask is None}
        return sdpa_attention_forward(self.module, self.queries, self.keys, self.values, self.mask, **options)[0]  # type: ignore[no-any-return]


#: Numbers of keys, values and weights that are raised to single precision at once.
NUMBERS_OF_ROWS = 1 << 27


class UncheckedMaskError(Exception):
    """The model changes the mask that it is given, so that its mask without a fused kernel is not known."""


#: How many rows at either end are looked at, to tell which mask was left out.
ROWS_OF_MASK = 16


@dataclass
class MasksOfPass:
    """The masks that transformers made in one pass for a fused kernel, which may leave them out.

    n_made     how many it made; 0: the model makes its own
    left_out   the arguments of those that were left out, where the kernel's own causal mask, or none, is the same
    """

    n_made: int = 0
    left_out: list[dict[str, Any]] = field(default_factory=list)
    _causal: list[bool] | None = None

    def make(self, *args: Any, **kwargs: Any) -> torch.Tensor | None:
        mask = sdpa_mask(*args, **kwargs)
        self.n_made += 1
        if mask is None:
            self.left_out.append(dict(inspect.signature(eager_mask).bind(*args, **kwargs).arguments))
        return mask  # type: ignore[no-any-return]

    def left_out_is_causal(self, expected: bool, stack: str, n_queries: int) -> bool:
        """Whether the mask that a call goes without lets no query look ahead, as the eager function would be given it.

        expected: as it was when the model was opened. Which of several masks it is cannot be seen; there must be such a one."""
        if n_queries == 1 or not self.left_out:
            return False
        if self._causal is None:
            self._causal = [_is_causal(arguments) for arguments in self.left_out]
        if expected in self._causal or (not expected and stack != "decoder"):
            return expected
        return self._causal[-1]


def _is_causal(arguments: dict[str, Any]) -> bool:
    """Whether the first and last rows of a mask that was left out hide all later keys and nothing else; False where they hide nothing."""
    n_rows, start = int(arguments["q_length"]), arguments.get("q_offset", 0)
    size = min(ROWS_OF_MASK, n_rows)
    options = {**arguments.pop("kwargs", {}), **arguments, "allow_is_bidirectional_skip": False}
    kinds: set[bool | None] = set()
    for first in (0, n_rows - size):
        seen = eager_mask(**{**options, "q_length": size, "q_offset": start + first}) == 0  # [text, 1, row, key]
        rows, keys = (torch.arange(n, device=seen.device) for n in seen.shape[2:])
        behind = keys <= rows[:, None] + first
        kinds |= {True} if bool((seen == behind).all()) else {False} if bool(seen.all()) else {None}
    if None in kinds or (n_rows > 1 and len(kinds) > 1):
        raise UncheckedMaskError
    return True in kinds


@dataclass(frozen=True)
class LayerAttention:
    """One layer's attention, still padded, on the model's device. Copy what you keep: the tensors are freed when the next layer comes.

    stack, layer   "encoder", "decoder" or "cross", and the number that the model gives to the layer
    n_queries      the true number of queries of each text in the batch: rows beyond it are padding
    n_keys         the same for keys
    recorded       the call of its attention function; None for a model outside the attention interface
    reported       [batch, head, query, key]: the maps that such a model reports itself
    sink           whether a learned sink takes what rows lack to 1
    """

    stack: str
    layer: int
    n_queries: tuple[int, ...]
    n_keys: tuple[int, ...]
    recorded: AttentionCall | None = None
    reported: torch.Tensor | None = None
    sink: bool = False

    def __post_init__(self) -> None:
        if self.recorded is not None and self.recorded.maps is None:
            return
        batch, _, n_query, n_key = self.weights.shape
        in_blocks = self.recorded is not None and self.recorded.in_blocks
        rows_fit = n_query <= max(self.n_queries) if in_blocks else n_query == max(self.n_queries)
        if batch != len(self.n_queries):
            raise TraceError(
                f"A batch of {batch}, where {len(self.n_queries)} was expected.",
                "Give the tensors of one text at a time: shape [1, tokens].",
            )
        if not rows_fit or n_key != max(self.n_keys):
            raise TraceError(
                f"Attention of {n_query} queries and {n_key} keys for a text of {max(self.n_queries)} and {max(self.n_keys)}.",
                "Attention must cover the tokens one to one (no windows, no pooling).",
            )

    @property
    def weights(self) -> torch.Tensor:
        """[batch, head, query, key]; an error where the pass formed no map."""
        return self.call.weights if self.reported is None else self.reported

    @property
    def call(self) -> AttentionCall:
        """Queries, keys, values, mask, bias and scale; an error for a model outside the attention interface."""
        if self.recorded is None:
            raise TraceError("This model reports its weights alone: no queries, keys and values.", "Use layer.weights.")
        return self.recorded


def not_finite(name: str, stack: str, layer: int) -> ModelError:
    """The error for attention that is nan, of which every number that follows would be nan too, or a wrong place."""
    return ModelError(
        Message("refusal.attention_not_finite", model=name, stack=stack, layer=str(layer)),
        Message("refusal.damaged"),
        Message("refusal.load_float32"),
    )


Receive = Callable[[LayerAttention], None]

#: Of a pass that forms no map. It may return another output for the layer to go on with: [batch, query, head, dim].
ReceiveStreamed = Callable[[LayerAttention], torch.Tensor | None]


# ---- The changes of a pass (changes.py carries them out)


class Change(Protocol):
    """What is to be changed in one attention call."""

    @property
    def needs_weights(self) -> bool:
        """Whether weights are needed, which a fused kernel does not give."""

    def before(self, call: AttentionCall, /) -> AttentionCall:
        """The call with values and mask as they go into the softmax."""

    def after(self, output: torch.Tensor, weights: torch.Tensor | None, call: AttentionCall, /) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Outputs [batch, query, head, dim] and weights as they leave the attention function."""

    def gated(self, gates: torch.Tensor, /) -> torch.Tensor:
        """The gates [batch, query, head, dim] that these outputs are multiplied with, where the model has some."""

    def written(self, output: torch.Tensor, /) -> torch.Tensor:
        """What the heads write [batch, query, head, dim], gates included, as the output projection reads it."""


class Changes(Protocol):
    """What one pass changes, call after call, and how many calls it has made."""

    calls_made: int

    def next_change(self) -> Change | None: ...


_changes: ContextVar[Changes | None] = ContextVar("eyeline_changes", default=None)


@contextmanager
def changing(changes: Changes) -> Iterator[None]:
    """Within this block, and this thread or task alone, attention calls are changed. For one forward pass."""
    token = _changes.set(changes)
    try:
        yield
    finally:
        _changes.reset(token)


def next_change() -> Change | None:
    """What is changed in the attention call that is made now; None: nothing."""
    changes = _changes.get()
    return None if changes is None else changes.next_change()


# ---- Gates between the attention function and the output projection (Qwen3-Next): what heads write is what passes them
#
# Which module reads the gated outputs is found when a model is opened. In a pass that needs the gates the attention function gives ones
# back: what reaches that module is then the gates themselves, and the outputs are multiplied with them there.


#: Is given the attention module of each call in order (None: the call is skipped) → the name, within it, of the module that reads the
#: gated outputs; empty: it has no gates.
ReaderOf = Callable[[torch.nn.Module | None], str]


@dataclass
class _Gates:
    reader_of: ReaderOf
    _waiting: list[RemovableHandle] = field(default_factory=list)

    def hold(
        self, reader: torch.nn.Module, output: torch.Tensor, change: Change | None, receive: Callable[[torch.Tensor], None]
    ) -> torch.Tensor:
        """Ones in place of the outputs [batch, query, head, dim], which the reader gets with their gates, as the change leaves them."""
        thread = threading.get_ident()

        def read(_module: torch.nn.Module, args: tuple[Any, ...]) -> Any:
            if threading.get_ident() != thread:
                return None
            handle.remove()
            self._waiting.remove(handle)
            gates = args[0].reshape(output.shape)
            gates = gates if change is None else change.gated(gates)
            written = output * gates
            written = written if change is None else change.written(written)
            receive(gates)
            return written.reshape(args[0].shape).to(args[0].dtype), *args[1:]

        handle = reader.register_forward_pre_hook(read, prepend=True)  # other hooks see what it makes
        self._waiting.append(handle)
        return torch.ones_like(output)

    def close(self) -> None:
        """Of a pass that has failed: nothing is left in the model."""
        for handle in self._waiting:
            handle.remove()


_gates: ContextVar[_Gates | None] = ContextVar("eyeline_gates", default=None)


@contextmanager
def reading_gates(readers: ReaderOf | Sequence[str]) -> Iterator[None]:
    """Within this block, and this thread alone, calls come with their gates, and changes of what heads write are made behind these.

    readers   for each call in order, or for each attention module: see `ReaderOf`
    """
    if not callable(readers) and not any(readers):
        yield
        return
    of_calls = iter(() if callable(readers) else readers)
    gates = _Gates(readers if callable(readers) else lambda _module: next(of_calls, ""))
    token = _gates.set(gates)
    try:
        yield
    finally:
        _gates.reset(token)
        gates.close()


# ---- The recording of a pass, and the function that is recorded


IMPLEMENTATION = "eyeline"


ReceiveCall = Callable[[AttentionCall], None]


@dataclass(frozen=True)
class _Recording:
    """receive: is given every call, with its maps; rows: of a map that are computed at a time, where it has more; None: all;
    passes_on: whether the model gets the weights too."""

    receive: ReceiveCall
    rows: int | None
    passes_on: bool


@dataclass(frozen=True)
class _Streaming:
    """receive: is given every call, without a map, and may return another output; causal, sets: of each call in order."""

    receive: Callable[[AttentionCall], torch.Tensor | None]
    causal: Iterator[bool]
    sets: Iterator[KeySets | None]
    masks: MasksOfPass = field(default_factory=lambda: MasksOfPass())


_recording: ContextVar[_Recording | None] = ContextVar("eyeline_recording", default=None)

_streaming: ContextVar[_Streaming | None] = ContextVar("eyeline_streaming", default=None)


@contextmanager
def recording(receive: ReceiveCall, rows: int | None = None, *, passes_on: bool = False) -> Iterator[None]:
    """Within this block, and this thread or task alone, every attention call is passed to `receive`.

    rows        a map with more queries than this is never computed whole: the model's own function computes this many rows at a time
    passes_on   give the weights back to the model too, which may have been asked for them
    """
    token = _recording.set(_Recording(receive, rows, passes_on))
    try:
        yield
    finally:
        _recording.reset(token)


def recording_now() -> ReceiveCall | None:
    """What receives the attention calls of this context, if anything does."""
    record = _recording.get()
    return None if record is None else record.receive


@contextmanager
def streaming(
    receive: Callable[[AttentionCall], torch.Tensor | None], causal: Iterable[bool], sets: Iterable[KeySets | None] | None = None
) -> Iterator[None]:
    """Within this block attention runs through the fused kernel, no map is made, and `receive` is given every call without one.

    For plain softmax attention alone: the fused kernel knows no softcap and no sink.

    causal   for each attention call in order, whether the mask that the model builds for it lets no query look ahead (`Layout.causal`).
             It is used where transformers leaves the mask out because it would be causal alone. The module's own `is_causal` is not
             used: transformers takes a missing one for True.
    sets     for each attention call in order, the sets of keys whose masses are requested, with the other numbers of its rows; None: no
             numbers for this call. They come with the output, in one pass, where the one-pass kernel applies
    """
    token = _streaming.set(_Streaming(receive, iter(causal), iter(sets or ())))
    try:
        yield
    finally:
        _streaming.reset(token)


_following: ContextVar[bool] = ContextVar("eyeline_following", default=False)


@contextmanager
def following_gradients(hf: torch.nn.Module) -> Iterator[None]:
    """Within this block gradients reach the weights of every attention call, also where the model's parameters are frozen, all or some."""
    if torch.is_inference_mode_enabled():
        raise ModelError(
            "Gradients were asked for within torch.inference_mode().", "Call it outside of that block; torch.no_grad() is fine."
        )
    if any(parameter.is_inference() for parameter in hf.parameters()):
        raise ModelError(
            f"{type(hf).__name__} was made within torch.inference_mode(), so nothing that it computes has a gradient.",
            "Open it outside of that block; torch.no_grad() is fine.",
        )
    token = _following.set(True)
    try:
        with torch.enable_grad():
            yield
    finally:
        _following.reset(token)


def skip_calls(n: int) -> None:
    """Skip `n` attention calls of this pass, whose results were stored before."""
    stream, gates = _streaming.get(), _gates.get()
    for _ in range(n):
        next_change()
        if gates is not None:
            gates.reader_of(None)
        if stream is not None:
            next(stream.causal, None)
            next(stream.sets, None)


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
    if _following.get() and not query.requires_grad:
        query = query.detach().requires_grad_()
    if attention_mask is not None and attention_mask.shape[2] == 1 < query.shape[2]:  # one row for all queries (LayoutLM)
        attention_mask = attention_mask.expand(-1, -1, query.shape[2], -1)
    call = AttentionCall(module, query, key, value, attention_mask, kwargs)
    change, stream, record, gates = next_change(), _streaming.get(), _recording.get(), _gates.get()
    reader = "" if gates is None else gates.reader_of(module)
    if stream is not None:
        return _streamed(call, change, stream, gates, reader), None
    if record is not None and record.rows is not None and query.shape[2] > record.rows and change is None:
        return _in_blocks(call, record.receive, record.rows), None
    output, weights, values = (*call.own(), value) if change is None else _changed(call, change)

    def receive(gates: torch.Tensor | None) -> None:
        if record is not None:
            record.receive(replace(call, values=values, maps=weights, gates=gates))

    if gates is not None and reader and (change is not None or record is not None):
        output = gates.hold(module.get_submodule(reader), output, change, receive)
    else:
        output = output if change is None else change.written(output)
        receive(None)
    return output, weights if record is None or record.passes_on else None


def _streamed(call: AttentionCall, change: Change | None, stream: _Streaming, gates: _Gates | None, reader: str) -> torch.Tensor:
    """The output of a call without a map, and its numbers where they are requested; `receive` is given what went in."""
    causal, sets = next(stream.causal, False), next(stream.sets, None)
    call = replace(call, causal=causal and call.mask is None and call.queries.shape[2] > 1)
    ingredients = (call.queries, call.keys, call.values, call.mask, call.scale, call.causal)
    numbers = None
    if change is not None:
        output = _changed(call, change, fused=not change.needs_weights)[0]
        if gates is not None and reader:
            output = gates.hold(call.module.get_submodule(reader), output, change, lambda _gates: None)
        else:
            output = change.written(output)
    elif sets is not None and call.bias is None and kernels.applies(*ingredients):
        output, numbers = kernels.attention(*ingredients, sets)
    else:
        output = call.fused()
    other = stream.receive(replace(call, numbers=numbers, output=output, masks=stream.masks))
    return output if other is None else other


def _changed(call: AttentionCall, change: Change, *, fused: bool = False) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
    """Outputs, weights (none of a fused kernel) and values of a call that is changed."""
    call = change.before(call)
    if fused:
        output, weights = call.fused(), None
    else:
        output, weights = replace(call, mask=call.mask_as_numbers()).own()
    return *change.after(output, weights, call), call.values


def _in_blocks(call: AttentionCall, receive: ReceiveCall, rows: int) -> torch.Tensor:
    """The model's own function on some queries at a time, so that no map is made whole: [batch, query, head, dim]."""
    outputs = []
    for first in range(0, call.queries.shape[2], rows):
        part = replace(call.rows(slice(first, first + rows)), first=first, in_blocks=True)
        output, weights = part.own()
        outputs.append(output)
        receive(replace(part, maps=weights))
    return torch.cat(outputs, dim=1)


def mask_function(*args: Any, **kwargs: Any) -> torch.Tensor | None:
    """The mask for our attention function: numbers for the eager function; for the fused kernel booleans, or None if it is causal alone."""
    stream = _streaming.get()
    return (eager_mask if stream is None else stream.masks.make)(*args, **kwargs)


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
