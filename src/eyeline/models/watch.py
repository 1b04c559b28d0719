"""`el.watch`: every pass of a transformers model within a block becomes a trace, whoever makes it: a pipeline, `generate`, a trainer."""

from __future__ import annotations

import inspect
import logging
import threading
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from eyeline.errors import EyelineError, ModelError, TraceError
from eyeline.look.sources import first_key
from eyeline.look.trace import Selection, Trace, TraceFacts
from eyeline.messages import Message
from eyeline.models.attention import AttentionCall, LayerAttention, reading_gates, recording, recording_now
from eyeline.models.context import context, context_notices
from eyeline.models.evaluation import borrowed_implementation, evaluating
from eyeline.models.layout import Kept, Layout, Slot
from eyeline.models.opening import layout_and_body, opening
from eyeline.models.passes import Passes
from eyeline.models.tracing import Collector
from eyeline.text.tokenized import TokenizedText
from eyeline.text.words import describe
from eyeline.version import __version__

log = logging.getLogger("eyeline")

#: How many traces are kept, the newest, where nobody says how many.
LAST = 32


class OpenModel(Protocol):
    """A model of `el.load` or `el.wrap`, as it is needed here."""

    _passes: Passes


@dataclass(eq=False)
class Watched:
    """What was recorded in the block, a trace for each pass and text, in order. Of a batch every text has its own trace, without padding.

    In a pass that goes on from a cache (the steps of `generate`) the queries are the new tokens and the keys all tokens so far.

    n_passes   how many passes were made
    left_out   why a pass has no trace: one sentence each
    """

    traces: deque[Trace]
    n_passes: int = 0
    left_out: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Trace]:
        return iter(self.traces)

    def __len__(self) -> int:
        return len(self.traces)

    def __getitem__(self, index: int) -> Trace:
        return self.traces[index]


@contextmanager
def watch(
    model: OpenModel | PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase | None = None,
    *,
    layers: Iterable[int] | None = None,
    keep: Collection[str] = ("weights",),
    last: int = LAST,
    receive: Callable[[Trace], object] | None = None,
) -> Iterator[Watched]:
    """Record every pass of a model that is made within the block, by any code and in any thread.

        with el.watch(hf, tokenizer) as seen:
            pipeline("text-generation", model=hf, tokenizer=tokenizer)("The cat sat on")
        el.head_view(seen[-1])

    model      an open model, or a model of transformers; it computes its attention with its own eager function meanwhile, and is as
               before when the block ends, however it ends
    tokenizer  names the tokens; without it they are numbers
    layers, keep   as for `model.trace`
    last       how many traces to keep, the newest; memory does not grow beyond them
    receive    is given each trace instead, and nothing is kept

    Whether the model trains or evaluates is not changed: with dropout in a pass its weights are those after dropout, and a notice says so.
    """
    if last < 1:
        raise TraceError(f"last={last}.", "Keep at least one trace, or pass receive=function.")
    with _watching(_watcher(model, tokenizer, layers, keep, receive, last)) as seen:
        yield seen


@dataclass(frozen=True)
class PlacedRows:
    """Rows of one text in one attention call, with every key at its place.

    text      of the batch
    first     the position of the first row among the tokens of the text, padding left out
    weights   [head, row, key]: the keys are the tokens of the text so far, also where the cache holds a window of them, or more
    """

    stack: str
    layer: int
    text: int
    first: int
    weights: torch.Tensor


@contextmanager
def watch_rows(passes: Passes, receive: Callable[[PlacedRows], object]) -> Iterator[Watched]:
    """The same, where nothing is kept: every row is given to `receive` as it comes, and no trace is made.

    A call that cannot be recorded is named in `left_out` of what this gives."""
    watcher = _watcher(passes, None, None, ("weights",), None, 1)
    watcher.receive_rows = receive
    with _watching(watcher) as seen:
        yield seen


@contextmanager
def _watching(watcher: _Watcher) -> Iterator[Watched]:
    with ExitStack() as block:
        block.enter_context(_as_recorded(watcher.hf, watcher.layout))
        for module in watcher.beginnings:
            begin = module.register_forward_pre_hook(watcher.begin, with_kwargs=True, prepend=True)
            end = module.register_forward_hook(watcher.end, always_call=True)
            block.callback(begin.remove)
            block.callback(end.remove)
        block.callback(_follow_no_more, watcher)
        yield watcher.seen


def _watcher(
    model: OpenModel | Passes | PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase | None,
    layers: Iterable[int] | None,
    keep: Collection[str],
    receive: Callable[[Trace], object] | None,
    last: int,
) -> _Watcher:
    passes = model if isinstance(model, Passes) else getattr(model, "_passes", None)
    if isinstance(passes, Passes):
        hf, layout, body, name = passes.hf, passes.layout, passes.body, passes.name
        tokenizer = tokenizer or passes.tokenizer
    elif isinstance(model, PreTrainedModel):
        hf, name = model, model.name_or_path or type(model).__name__
        with evaluating(hf, alone=True):
            layout, body = layout_and_body(hf, tokenizer)
    else:
        raise ModelError(f"A {type(model).__name__} where a model was expected.", "Give a model of transformers, or one of el.load.")
    if not layout.recorded:
        raise ModelError(f"Passes of {name} cannot be watched: {layout.why_weights_only}.", "model.trace(text) gives its weights.")
    kept = Kept.of(layout, Selection(layers=layers, keep=keep))
    names = dict(hf.named_modules())
    slots: dict[int, list[Slot | None]] = {}
    for path, slot in zip(layout.modules, layout.calls, strict=True):
        slots.setdefault(id(names[path]), []).append(slot)
    encoder = body.get_encoder() if hf.config.is_encoder_decoder else None  # `generate` runs it by itself
    parts: list[nn.Module] = [hf, body, *([] if encoder is None else [encoder])]
    beginnings = [part for index, part in enumerate(parts) if not any(part is other for other in parts[:index])]
    seen = Watched(deque(maxlen=last))
    return _Watcher(hf, encoder, layout, name, tokenizer, kept, receive, slots, beginnings, seen)


# ---- The attention implementation of a watched model: borrowed by the first block, given back by the last


_borrowing = threading.Lock()

#: Model → how many blocks watch it, and what gives its implementation back.
_borrowed: weakref.WeakKeyDictionary[nn.Module, tuple[int, ExitStack]] = weakref.WeakKeyDictionary()


@contextmanager
def _as_recorded(hf: PreTrainedModel, layout: Layout) -> Iterator[None]:
    with _borrowing:
        blocks, back = _borrowed.get(hf, (0, ExitStack()))
        if blocks == 0:
            back.enter_context(borrowed_implementation(hf, layout.implementation, force=layout.forced))
        _borrowed[hf] = blocks + 1, back
    try:
        yield
    finally:
        with _borrowing:
            blocks, back = _borrowed.pop(hf)
            if blocks > 1:
                _borrowed[hf] = blocks - 1, back
            else:
                back.close()


# ---- One pass


Ids = list[list[int | None]]  # of each text of a batch; None: a token that is not known


@dataclass(eq=False)
class _ReadTokens:
    """The texts of a batch on one side of the attention: what an encoder reads, or what a decoder has written.

    new      the ids of the tokens that this pass reads; None: it reads no ids
    before   how many tokens the cache held
    mask     [text, token so far], 0 for padding; None: there is none
    """

    new: torch.Tensor | None
    before: int
    mask: torch.Tensor | None
    n_new: int = 0

    def columns(self, text: int) -> list[int]:
        """The positions of the text's own tokens among all so far: padding is left out."""
        positions = range(self.before + self.n_new)
        return [i for i in positions if self.mask is None or bool(self.mask[text, i])]

    def rows(self, text: int) -> list[int]:
        """Those of them that are new, counted from the first new one."""
        return [i - self.before for i in self.columns(text) if i >= self.before]

    def ids(self, n_texts: int) -> Ids:
        if self.new is None or tuple(self.new.shape) != (n_texts, self.n_new):
            return [[None] * self.n_new for _ in range(n_texts)]
        return [[int(token) for token in row] for row in self.new]


@dataclass(eq=False)
class _WatchedPass:
    """One forward pass, from the call of its outermost part to its end.

    outermost     the part; calls of parts within it belong to the same pass
    source, own   what an encoder reads; what the queries of a decoder stand in: of a model with one tower, the same
    calls         module → how many attention calls it has made
    collectors    one for each text
    marks         the keys of the last token before this pass, and of its own last token, in its last layer: [text, number] each
    """

    outermost: nn.Module
    inputs: Mapping[str, Any]
    stop: ExitStack
    source: _ReadTokens
    own: _ReadTokens
    calls: dict[int, int] = field(default_factory=dict)
    collectors: list[Collector] = field(default_factory=list)
    marks: tuple[torch.Tensor | None, torch.Tensor | None] = (None, None)
    problem: str = ""


@dataclass(frozen=True)
class _WatchedText:
    """The tokens of one text of a pass."""

    queries: TokenizedText
    keys: TokenizedText
    source: TokenizedText | None

    def of(self, stack: str) -> tuple[TokenizedText, TokenizedText]:
        """The texts of the queries and of the keys of a stack."""
        source = self.source or self.keys
        return {"encoder": (source, source), "decoder": (self.queries, self.keys), "cross": (self.queries, source)}[stack]


#: The passes that are running in this context: watcher → pass.
_running: ContextVar[Mapping[int, _WatchedPass]] = ContextVar("eyeline_watched_passes", default={})  # noqa: B039 - never changed, only replaced

#: The ids that the encoder of a model has read last in this context: watcher → ids.
_read_last: ContextVar[Mapping[int, Ids]] = ContextVar("eyeline_read_last", default={})  # noqa: B039


@dataclass(eq=False)
class _Watcher:
    """Records the passes of one model for one block.

    slots        attention module → the slot of each of its calls in a pass
    beginnings   the parts with which a pass may begin
    histories    cache → the tokens whose keys it holds, and by what its rows are known again when beams reorder them
    """

    hf: PreTrainedModel
    encoder: nn.Module | None
    layout: Layout
    name: str
    tokenizer: PreTrainedTokenizerBase | None
    kept: Kept
    receive: Callable[[Trace], object] | None
    slots: Mapping[int, list[Slot | None]]
    beginnings: list[nn.Module]
    seen: Watched
    histories: weakref.WeakKeyDictionary[Any, tuple[Ids, torch.Tensor | None]] = field(default_factory=weakref.WeakKeyDictionary)
    lock: threading.Lock = field(default_factory=threading.Lock)
    receive_rows: Callable[[PlacedRows], object] | None = None

    def begin(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before the forward of a part: the outermost begins a pass."""
        if id(self) in _running.get() or opening.get():
            return
        inputs = inspect.signature(module.forward).bind_partial(*args, **kwargs).arguments
        inputs = {**inputs, **inputs.pop("kwargs", {})}
        two_towers = self.encoder is not None and module is not self.encoder
        prefix = "decoder_" if two_towers else ""
        cache = inputs.get("past_key_values")
        before = int(cache.get_seq_length()) if cache is not None and hasattr(cache, "get_seq_length") else 0
        source = _ReadTokens(_matrix(inputs.get("input_ids")), 0, _matrix(inputs.get("attention_mask")))
        own = _ReadTokens(_matrix(inputs.get(f"{prefix}input_ids")), before, _matrix(inputs.get(f"{prefix}attention_mask")))
        new_pass = _WatchedPass(module, inputs, ExitStack(), source if two_towers else own, own)
        outer = recording_now()

        def receive_call(call: AttentionCall) -> None:
            if outer is not None:
                outer(call)
            self._take(new_pass, call)

        token = _running.set({**_running.get(), id(self): new_pass})
        new_pass.stop.callback(_running.reset, token)
        new_pass.stop.enter_context(recording(receive_call, passes_on=True))
        if any(self.layout.readers):
            new_pass.stop.enter_context(reading_gates(self._reader_of))

    def _reader_of(self, module: nn.Module | None) -> str:
        """Which module reads the outputs of this attention module behind their gates; empty where it has none."""
        return next((slot.reader for slot in self.slots.get(id(module), ()) if slot is not None), "")

    def end(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        """After it, also where it has failed: the pass of the outermost part becomes traces."""
        done = _running.get().get(id(self))
        if done is None or done.outermost is not module:
            return
        done.stop.close()
        if output is None:  # the forward has failed, and its error is on the way to the caller
            return
        with self.lock:
            self.seen.n_passes += 1
            if self.receive_rows is not None:
                self.seen.left_out += [f"Pass {self.seen.n_passes}: {done.problem}"] if done.problem else []
                return
            traces = self._traces(done, output)
            if self.receive is None:
                self.seen.traces.extend(traces)
                return
        for trace in traces:
            self.receive(trace)

    def _take(self, running: _WatchedPass, call: AttentionCall) -> None:
        """One attention call. What cannot be recorded does not disturb the pass of the user: it is left out, and said."""
        slots = self.slots.get(id(call.module))
        number = running.calls.get(id(call.module), 0)
        running.calls[id(call.module)] = number + 1
        slot = None if slots is None else slots[number % len(slots)]
        if running.problem or slot is None:
            return
        try:
            with torch.no_grad():
                self._record(running, slot, call)
        except EyelineError as error:
            running.problem = str(error)

    def _record(self, running: _WatchedPass, slot: Slot, call: AttentionCall) -> None:
        n_texts, n_keys = call.queries.shape[0], call.weights.shape[3]
        rows, columns = (running.source if slot.stack == "encoder" else running.own), running.own
        rows.n_new = call.queries.shape[2]
        if slot.stack != "decoder":
            columns = running.source
            columns.n_new = n_keys
        total = columns.before + columns.n_new
        offset = first_key(total, n_keys)
        if self.receive_rows is not None:
            for text in range(n_texts):
                own_rows, own_columns = rows.rows(text), columns.columns(text)
                weights = _at(call.weights[text, :, own_rows], own_columns, offset, 0.0)
                before = sum(position < rows.before for position in rows.columns(text))
                self.receive_rows(PlacedRows(slot.stack, slot.layer, text, before, weights))
            return
        if slot.stack != "cross":
            at = [position - offset for position in (columns.before - 1, total - 1)]
            first, last = (call.keys[:, :, position].flatten(1).clone() if 0 <= position < n_keys else None for position in at)
            running.marks = first, last
        if not running.collectors:
            running.collectors = [Collector(self.layout, self.kept) for _ in range(n_texts)]
        for text, collector in enumerate(running.collectors):
            own_rows, own_columns = rows.rows(text), columns.columns(text)
            mask = None if call.mask is None else call.mask[text if len(call.mask) > 1 else 0, :, own_rows]
            bias = None if call.bias is None else call.bias[0, :, own_rows]
            part = AttentionCall(
                call.module,
                queries=call.queries[text, :, own_rows][None],
                keys=_at(call.keys[text].mT, own_columns, offset, float("nan")).mT.contiguous()[None],
                values=_at(call.values[text].mT, own_columns, offset, float("nan")).mT.contiguous()[None],
                mask=None if mask is None else _at(mask, own_columns, offset, torch.finfo(mask.dtype).min)[None],
                options={"scaling": call.scale, "position_bias": None if bias is None else _at(bias, own_columns, offset, 0.0)[None]},
                maps=_at(call.weights[text, :, own_rows], own_columns, offset, 0.0)[None],
                gates=None if call.gates is None else call.gates[text, own_rows][None],
            )
            collector.receive(LayerAttention(slot.stack, slot.layer, (len(own_rows),), (len(own_columns),), recorded=part))

    def _traces(self, done: _WatchedPass, output: Any) -> list[Trace]:
        """The traces of a pass that has ended; none, and the reason, where it could not be recorded."""
        n_texts = len(done.collectors)
        if not n_texts and not done.problem:
            done.problem = "it made no attention call that can be recorded (compiled code, or another attention function)"
        if done.problem:
            self.seen.left_out.append(f"Pass {self.seen.n_passes}: {done.problem}")
            log.warning("A pass of %s is left out. %s", self.name, done.problem)
            return []
        ids, notices = self._ids(done, n_texts, output)
        about = self._about(notices)
        traces = []
        for text, collector in enumerate(done.collectors):
            whole = self._described(ids[text])
            keys, before = done.own.columns(text), done.own.before
            source = self._source(done, text, n_texts)
            texts = _WatchedText(whole.only([i for i in keys if i >= before]), whole.only(keys), source)
            traces.append(Trace(self.name, collector.stacks(0, texts), about))
        return traces

    def _ids(self, done: _WatchedPass, n_texts: int, output: Any) -> tuple[Ids, list[Message]]:
        """The ids of all tokens so far, in the order in which the rows of the cache are now; with a notice where some are not known."""
        own = done.own
        cache = done.inputs.get("past_key_values")
        new = own.ids(n_texts)
        history: Ids = [[None] * own.before for _ in range(n_texts)]
        if own.before and cache is not None and (known := self.histories.get(cache)) is not None:
            earlier, marks = known
            for text in range(n_texts):
                same = [n for n, row in enumerate(earlier) if len(row) == own.before and _equal(marks, n, done.marks[0], text)]
                if not same and text < len(earlier) and len(earlier[text]) == own.before and _near(marks, done.marks[0], text):
                    same = [text] if _is_followed(cache, self) else []  # its keys were rounded; its rows are in the order that is known
                history[text] = earlier[same[0]] if same else history[text]
        ids = [before + after for before, after in zip(history, new, strict=True)]
        kept = _field(output, "past_key_values")
        if kept is not None:
            self.histories[kept] = ids, done.marks[1]
            _follow(kept, self)
        if done.outermost is self.encoder:
            _read_last.set({**_read_last.get(), id(self): ids})
        unknown = any(None in row for row in ids) and done.inputs.get("input_ids") is not None
        return ids, [Message("notice.watch.unknown_tokens")] if unknown else []

    def reordered(self, cache: Any, order: Sequence[int]) -> None:
        """The rows of a cache stand in another order now."""
        with self.lock:
            known = self.histories.get(cache)
            if known is not None:
                ids, marks = known
                self.histories[cache] = [ids[row] for row in order], None if marks is None else marks[list(order)]

    def _source(self, done: _WatchedPass, text: int, n_texts: int) -> TokenizedText | None:
        """What the encoder has read: in this pass, or in the one before it."""
        side = done.source
        if side is done.own or not side.n_new:
            return None
        if side.new is not None:
            return self._described(side.ids(n_texts)[text]).only(side.columns(text))
        ids = _read_last.get().get(id(self), [])
        copies = n_texts // len(ids) if ids else 0  # beams: each text several times
        read = ids[text // copies] if copies and len(ids[0]) == side.n_new else [None] * side.n_new
        return self._described(read).only(side.columns(text))

    def _described(self, ids: Sequence[int | None]) -> TokenizedText:
        if self.tokenizer is None or None in ids or not ids:
            return TokenizedText.from_tokens([str(position if number is None else number) for position, number in enumerate(ids)])
        return describe(self.tokenizer, [number for number in ids if number is not None])

    def _about(self, notices: Iterable[Message]) -> TraceFacts:
        around = context(self.hf)
        trains = [Message("notice.watch.training")] if any(_drops(module) for module in self.hf.modules()) else []
        about: TraceFacts = {
            "model": self.name,
            "class": type(self.hf).__name__,
            "dtype": str(self.hf.dtype).removeprefix("torch."),
            "device": self.hf.device.type,
            "eyeline": __version__,
            "notices": [*self.layout.notices, *context_notices(around), *trains, *notices],
        }
        return {**about, "context": around} if around else about


def _at(tensor: torch.Tensor, columns: list[int], offset: int, missing: float) -> torch.Tensor:
    """These columns of the last axis, which begins at position `offset`; those before it are filled. A copy: caches change in place."""
    inside = [column - offset for column in columns if column >= offset]
    chosen = tensor[..., inside]
    return torch.cat([chosen.new_full((*chosen.shape[:-1], len(columns) - len(inside)), missing), chosen], -1)


def _near(marks: torch.Tensor | None, others: torch.Tensor | None, row: int) -> bool:
    """Whether keys are the same but for rounding: two bits of a number are off by a third of it, other keys by more than all of it."""
    if marks is None or others is None or marks.shape[1:] != others.shape[1:]:
        return False
    apart = torch.linalg.vector_norm(marks[row].float() - others[row].float())
    return bool(apart <= 0.5 * torch.linalg.vector_norm(marks[row].float()))


# ---- The order of a cache's rows
#
# Rows are known again by their keys; those of a cache that rounds its keys by what was done to it. While it is followed, its methods that
# change the order say so.


#: Method of a cache → the rows that it leaves, from how many there were and from its argument.
REORDERING: Mapping[str, Callable[[int, Any], list[int]]] = {
    "reorder_cache": lambda _n, rows: [int(row) for row in rows],
    "batch_select_indices": lambda n, rows: torch.arange(n)[torch.as_tensor(rows).cpu()].tolist(),
    "batch_repeat_interleave": lambda n, repeats: [row for row in range(n) for _ in range(int(repeats))],
}

_followed: weakref.WeakKeyDictionary[Any, list[_Watcher]] = weakref.WeakKeyDictionary()


def _is_followed(cache: Any, watcher: _Watcher) -> bool:
    return any(other is watcher for other in _followed.get(cache, ()))


def _follow(cache: Any, watcher: _Watcher) -> None:
    with _borrowing:
        if _is_followed(cache, watcher):
            return
        watchers = _followed.setdefault(cache, [])
        if not watchers:
            if any(name in vars(cache) for name in REORDERING):  # somebody else has put a method of their own there
                del _followed[cache]
                return
            for name in REORDERING:
                if hasattr(type(cache), name):
                    vars(cache)[name] = _telling(weakref.ref(cache), name)
        watchers.append(watcher)


def _telling(cache: weakref.ref[Any], name: str) -> Callable[[Any], None]:
    def method(argument: Any) -> None:
        own = cache()
        getattr(type(own), name)(own, argument)
        for watcher in list(_followed.get(own, ())):
            ids, _ = watcher.histories.get(own, ([], None))
            watcher.reordered(own, REORDERING[name](len(ids), argument))

    return method


def _follow_no_more(watcher: _Watcher) -> None:
    with _borrowing:
        for cache, watchers in list(_followed.items()):
            watchers[:] = [other for other in watchers if other is not watcher]
            if not watchers:
                del _followed[cache]
                for name in REORDERING:
                    vars(cache).pop(name, None)


def _equal(marks: torch.Tensor | None, row: int, others: torch.Tensor | None, other: int) -> bool:
    return marks is not None and others is not None and torch.equal(marks[row], others[other])


def _matrix(value: Any) -> torch.Tensor | None:
    """A tensor with a row for each text; None for everything else (masks of four axes, no mask)."""
    return value.detach() if isinstance(value, torch.Tensor) and value.ndim == 2 else None


def _field(output: Any, name: str) -> Any:
    return output.get(name) if isinstance(output, Mapping) else getattr(output, name, None)


def _drops(module: nn.Module) -> bool:
    """Whether a module that is training drops numbers at random."""
    return module.training and any(
        float(value) > 0
        for name, value in vars(module).items()
        if name in ("p", "dropout", "attention_dropout") and isinstance(value, float)
    )
