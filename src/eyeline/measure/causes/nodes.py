"""A pass cut into nodes: what the heads and the feed-forward block of each layer read of the residual stream, and what they write to it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn

from eyeline.errors import ModelError
from eyeline.heads import HeadRef
from eyeline.measure.causes.blocks import ModulePass, WatchedLayer, columns_by_head, output_projection, watched_layers
from eyeline.measure.causes.result import FeedForward
from eyeline.messages import Message
from eyeline.models.attention import AttentionCall, changing, following_gradients, reading_gates
from eyeline.models.evaluation import evaluating, no_cache
from eyeline.models.layout import Slot, check_calls
from eyeline.models.model import Model
from eyeline.models.objective import Answer, check_takes_vectors
from eyeline.models.passes import model_errors
from eyeline.models.single_precision import original


@dataclass(frozen=True)
class LayerEnds:
    """The modules of one layer at whose ends a pass is cut.

    output   takes what the heads write, side by side, and gives what they add; None where no linear module does: the pass is cut before it
    reader   the first module of the feed-forward block; None where the layer has none
    writer   the last module of the feed-forward block
    """

    slot: Slot
    output: nn.Module | None
    reader: nn.Module | None
    writer: nn.Module | None


def layer_ends(model: Model, inputs: Mapping[str, torch.Tensor]) -> list[LayerEnds]:
    """Where the nodes of each layer begin and end, found by what the modules take and give in a pass over one text."""
    layers, _, _ = watched_layers(model._body, model.layout, inputs, model.name)
    ends = []
    for layer in layers:
        output = output_projection(layer)
        steps = _feed_forward(layer, None if output is None else output.module)
        reader, writer = (original(steps[0].module), original(steps[-1].module)) if steps else (None, None)
        ends.append(LayerEnds(layer.slot, None if output is None else original(output.module), reader, writer))
    return ends


def _feed_forward(layer: WatchedLayer, output: nn.Module | None) -> list[ModulePass]:
    """The calls, in order, of the outermost modules of a layer that have a matrix, take one tensor, and have no part in attention."""
    attention = layer.call.module
    within, inside = set(layer.layer.module.modules()), set(attention.modules())
    apart = [
        step
        for step in layer.steps
        if _has_matrix(step.module)
        and step.module in within - inside
        and not {attention, output} & set(step.module.modules())
        and _tensors(step) == 1
    ]
    parts = {part for step in apart for part in step.module.modules() if part is not step.module}
    return [step for step in apart if step.module not in parts]


def _has_matrix(module: nn.Module) -> bool:
    return any(parameter.ndim > 1 for parameter in module.parameters())


def _tensors(step: ModulePass) -> int:
    return sum(isinstance(value, torch.Tensor) for value in (*step.args, *step.options.values()))


# ---- A pass in pieces


@dataclass
class Piece:
    """The heads of one layer, or its feed-forward block, on a batch of texts.

    names    who writes: the heads in order, or the feed-forward block
    sources  what the piece reads, of one graph with what lower pieces wrote: queries [text, head, token, dim], keys, values, and gates of
             models that have some; or what enters the block [text, token, hidden]
    reads    the same numbers as leaves
    heads    what the heads write, side by side: [text, token, head, dim]
    written  what the piece adds, of one graph with `reads`
    leaf     the same numbers as a leaf: what higher pieces and the answer read
    """

    names: tuple[HeadRef | FeedForward, ...]
    sources: tuple[torch.Tensor, ...]
    reads: tuple[torch.Tensor, ...]
    heads: torch.Tensor | None = None
    output: nn.Module | None = None
    written: torch.Tensor = field(init=False)
    leaf: torch.Tensor = field(init=False)

    def close(self, written: torch.Tensor, n_texts: int) -> torch.Tensor:
        """Cut the graph behind what the piece adds; the same numbers as they came, as a leaf."""
        self.written = _by_text(written, n_texts)
        self.leaf = _leaf(self.written)
        return self.leaf.reshape(written.shape)

    def added(self, change: torch.Tensor, heads: torch.Tensor | None) -> torch.Tensor:
        """What each name adds, for a change of what is written [token, …] and of the heads' outputs [token, head, dim]: [name, token, …]"""
        if heads is None:
            return change[None]
        n, n_heads, dim = heads.shape
        columns = columns_by_head(self.output, n_heads)
        if columns is not None:
            return heads.transpose(0, 1) @ columns
        apart = heads.new_zeros(n_heads, n, n_heads, dim)
        each = torch.arange(n_heads)
        apart[each, :, each] = heads.transpose(0, 1)
        if self.output is None:
            return apart
        with torch.no_grad():
            zero: torch.Tensor = self.output(apart.new_zeros(1, 1, n_heads * dim))
            return self.output(apart.reshape(n_heads, n, n_heads * dim)) - zero  # type: ignore[no-any-return]


def _by_text(tensor: torch.Tensor, n_texts: int) -> torch.Tensor:
    """[text, token, hidden], where a model puts the tokens of all texts into one row too ([text · token, hidden]: OPT, experts)."""
    return tensor.reshape(n_texts, -1, tensor.shape[-1]) if tensor.ndim == 2 else tensor


def _leaf(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().requires_grad_()


@dataclass(frozen=True)
class PassInPieces:
    """The embeddings of a batch of texts as a leaf, the pieces in the order in which they were computed, and the logits of the answer.

    row   [text, vocabulary or label], at the answer's position; None where no answer was asked for
    """

    embeddings: torch.Tensor
    pieces: list[Piece]
    row: torch.Tensor | None

    @property
    def row_of_answer(self) -> torch.Tensor:
        if self.row is None:
            raise RuntimeError("This pass was run without its answer.")
        return self.row


def run_in_pieces(
    model: Model,
    embeddings: torch.Tensor,
    inputs: Mapping[str, torch.Tensor],
    ends: Sequence[LayerEnds],
    answer: Answer | None = None,
    *,
    mlps: bool,
) -> PassInPieces:
    """A pass over texts given by their embeddings [text, token, hidden], cut at both ends of every piece.

    What a piece adds keeps its numbers but no longer depends on what it read, so that a gradient stops there. Between two pieces is left
    what the model does with the residual stream: norms, sums, whatever is no node. mlps: whether feed-forward blocks are pieces. The head
    runs for an answer alone, and where it is read.
    """
    hf, leaf = model._hf, _leaf(embeddings)
    check_takes_vectors(hf, model.name)
    cuts = _Cuts(model.layout.calls, {(end.slot.stack, end.slot.layer): end for end in ends}, len(embeddings))
    others = {name: tensor.expand(len(embeddings), *tensor.shape[1:]) for name, tensor in inputs.items()}
    tensors = {"inputs_embeds": leaf, **{name: tensor for name, tensor in others.items() if name != "input_ids"}}
    with model_errors(hf, model.name, tensors), evaluating(hf), following_gradients(hf):
        with changing(cuts), reading_gates(model.layout.readers), _hooked(cuts, ends, mlps=mlps):
            result = model._body(**tensors, **no_cache(model._body))
        at = None if answer is None else answer.at(len(leaf))
        row = None if answer is None else answer.row_at(model._passes.head(result, tensors, at).logits)
    check_calls(cuts.calls_made, model.layout, model.name, inputs)
    return PassInPieces(leaf, cuts.pieces, row)


@dataclass
class _Cuts:
    """The changes of one pass (`models.attention.Changes`) and its pieces so far."""

    calls: Sequence[Slot | None]
    ends: Mapping[tuple[str, int], LayerEnds]
    n_texts: int
    pieces: list[Piece] = field(default_factory=list)
    calls_made: int = 0

    def next_change(self) -> _Cut | None:
        slot = self.calls[self.calls_made] if self.calls_made < len(self.calls) else None
        self.calls_made += 1
        return None if slot is None else _Cut(self, slot)

    def open(self, names: Sequence[HeadRef | FeedForward], sources: tuple[torch.Tensor, ...], output: nn.Module | None = None) -> Piece:
        piece = Piece(tuple(names), sources, tuple(map(_leaf, sources)), output=output)
        self.pieces.append(piece)
        return piece


@dataclass(frozen=True)
class _Cut:
    cuts: _Cuts
    slot: Slot

    @property
    def needs_weights(self) -> bool:
        return False

    def before(self, call: AttentionCall) -> AttentionCall:
        slot = self.slot
        heads = [HeadRef(slot.stack, slot.layer, head) for head in range(slot.n_heads)]
        end = self.cuts.ends[slot.stack, slot.layer]
        piece = self.cuts.open(heads, (call.queries, call.keys, call.values), end.output)
        queries, keys, values = piece.reads
        return replace(call, queries=queries, keys=keys, values=values)

    def after(self, output: torch.Tensor, weights: torch.Tensor | None, call: AttentionCall) -> tuple[torch.Tensor, torch.Tensor | None]:
        return output, weights

    def gated(self, gates: torch.Tensor) -> torch.Tensor:
        piece = self.cuts.pieces[-1]
        by_head = gates.transpose(1, 2)  # [text, head, token, dim], as queries are
        read = _leaf(by_head)
        piece.sources, piece.reads = (*piece.sources, by_head), (*piece.reads, read)
        return read.transpose(1, 2)

    def written(self, output: torch.Tensor) -> torch.Tensor:
        piece = self.cuts.pieces[-1]
        piece.heads = output
        return output if piece.output is not None else piece.close(output, self.cuts.n_texts)


@contextmanager
def _hooked(cuts: _Cuts, ends: Sequence[LayerEnds], *, mlps: bool) -> Iterator[None]:
    """Within this block, and this thread alone, the pass is cut behind output projections and, with `mlps`, around feed-forward blocks."""
    thread = threading.get_ident()
    blocks = iter([end.slot for end in ends if end.reader is not None])

    def leave_heads(_module: nn.Module, _args: Any, output: Any) -> Any:
        return cuts.pieces[-1].close(output, cuts.n_texts) if threading.get_ident() == thread else None

    def enter(_module: nn.Module, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if threading.get_ident() != thread:
            return None
        name, entered = (None, args[0]) if args else next((k, v) for k, v in options.items() if isinstance(v, torch.Tensor))
        slot = next(blocks)
        (read,) = cuts.open([FeedForward(slot.stack, slot.layer)], (_by_text(entered, cuts.n_texts),)).reads
        leaf = read.reshape(entered.shape)
        return ((leaf, *args[1:]), options) if name is None else (args, {**options, name: leaf})

    def leave_block(_module: nn.Module, _args: Any, output: Any) -> Any:
        if threading.get_ident() != thread:
            return None
        written = output[0] if isinstance(output, tuple) else output
        leaf = cuts.pieces[-1].close(written, cuts.n_texts)
        return (leaf, *output[1:]) if isinstance(output, tuple) else leaf

    handles = [module.register_forward_hook(leave_heads) for module in {end.output for end in ends} - {None}]  # type: ignore[union-attr]
    if mlps:
        handles += [module.register_forward_pre_hook(enter, with_kwargs=True) for module in {end.reader for end in ends} - {None}]  # type: ignore[union-attr]
        handles += [module.register_forward_hook(leave_block) for module in {end.writer for end in ends} - {None}]  # type: ignore[union-attr]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


# ---- Gradients, piece by piece from the last to the first


def own_slopes(piece: Piece, slope: torch.Tensor, below: Sequence[torch.Tensor], name: str) -> list[torch.Tensor]:
    """The gradient of the metric by what a piece reads, from that by what it adds; a piece with another entrance is an error."""
    gradients = torch.autograd.grad(piece.written, [*piece.reads, *below], slope, allow_unused=True)
    if any(gradient is not None for gradient in gradients[len(piece.reads) :]):
        raise ModelError(
            f"{piece.names[0]} of {name} reads the residual stream in more than one place, so its edges cannot be told apart.",
            'Use method="eap-ig-through-mlps" (edges between heads).',
        )
    slopes = [torch.zeros_like(t) if g is None else g for t, g in zip(piece.reads, gradients, strict=False)]
    if not all(bool(torch.isfinite(slope).all()) for slope in slopes):
        raise ModelError(Message("refusal.gradients_of_model", model=name), Message("refusal.load_float32"))
    return slopes
