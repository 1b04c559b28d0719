"""The blocks of a model on one text, and what each token contributes to them as vectors, whose sum is what the block writes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook

from eyeline.errors import ModelError
from eyeline.messages import Message
from eyeline.models.attention import AttentionCall, recording
from eyeline.models.evaluation import evaluating, no_cache
from eyeline.models.layout import CallsOfPass, Layout, Slot
from eyeline.models.passes import model_errors
from eyeline.models.single_precision import in_single_precision


@dataclass(frozen=True)
class Norms:
    """Where the norms of a block are.

    form     "post": norm(x + attention), then norm(… + feed-forward); "pre": the norms are before the two parts, outside the residual
    first    the norm after attention (post); None (pre)
    second   the norm after the feed-forward part (post), or before it (pre)
    middle   the residual to which the feed-forward part adds: [token, dim]
    forward  what the feed-forward part adds: [token, dim]
    forward_input  what the feed-forward part reads: [token, dim]
    """

    form: Literal["post", "pre"]
    first: FrozenNorm | None
    second: FrozenNorm
    middle: torch.Tensor
    forward: torch.Tensor
    forward_input: torch.Tensor


@dataclass(frozen=True)
class Block:
    """One layer on one text.

    layer    the call of the layer's module, from what enters to what leaves
    weights  [head, query, key]
    values   [head, key, dim], repeated where heads share them
    output   the call of the output projection: what the heads wrote side by side, [token, head · dim] → [token, hidden]
    watched  the layer with every module call within it
    """

    slot: Slot
    layer: ModulePass
    weights: torch.Tensor
    values: torch.Tensor
    output: ModulePass
    watched: WatchedLayer
    name: str

    @property
    def steps(self) -> tuple[ModulePass, ...]:
        """Every module call within the layer, in order."""
        return self.watched.steps

    @cached_property
    def value(self) -> ModulePass | None:
        """The call of the value projection, whose last columns are the values; None where no module computes them like that."""
        columns = self.watched.call.values[0].transpose(0, 1).reshape(self.values.shape[1], -1)  # [token, key head · dim]
        return next((step for step in reversed(self.watched.before) if _holds_columns(step.left, columns) and is_linear(step)), None)

    @cached_property
    def written(self) -> torch.Tensor:
        """f_h(x_j): what each head would write of each token at a weight of 1: [head, key, hidden]"""
        heads, keys, dim = self.values.shape
        if type(self.output.module) is nn.Linear:  # its columns by head, without the zeros of the other heads
            columns: torch.Tensor = (
                self.output.module.weight.detach().to(self.values.dtype).T.reshape(heads, dim, -1)
            )  # [head, dim, hidden]
            return self.values @ columns
        apart = self.values.new_zeros(heads, keys, heads, dim)
        each = torch.arange(heads)
        apart[each, :, each] = self.values
        return linear_parts(self.output, apart.reshape(heads, keys, heads * dim))

    @cached_property
    def parts(self) -> torch.Tensor:
        """What each key adds to each query: [query, key, hidden]"""
        return attention_parts(self.weights, self.written)

    @cached_property
    def norms(self) -> Norms:
        """Where the norms are, found by comparing sums; a block of another form is an error."""
        entered, left, attended = self.layer.entered, self.layer.left, self.output.left
        middle = entered + attended
        after_sum = [step for step in self.steps if same(step.entered, middle)]
        first = next((norm for step in after_sum if (norm := frozen_norm(step)) is not None), None)
        if first is None:
            raise self._other_form()
        normed = next(step for step in after_sum if frozen_norm(step) is not None).left
        for step in self.steps:
            if same(step.left, left) and not same(step.entered, entered) and (second := frozen_norm(step)) is not None:
                return Norms("post", first, second, normed, step.entered - normed, normed)
        forward = left - middle
        if any(same(step.left, forward, 1e-3) for step in self.steps):
            return Norms("pre", None, first, middle, forward, normed)
        raise self._other_form()

    def _other_form(self) -> ModelError:
        return ModelError(
            f"Layer {self.slot.layer} of {self.name} is neither norm(x + attention) nor x + attention(norm(x)).",
            "Residual and norm cannot be taken apart. Quantities that need neither: norms, rollout, flow, value-zeroing, gradient.",
        )

    @cached_property
    def block_parts(self) -> torch.Tensor:
        """What each token adds to the attention block's output, residual and norm included: [query, key, hidden]"""
        together = with_residual_parts(self.parts, self.layer.entered)
        return together if self.norms.first is None else self.norms.first.of_parts(together)

    @property
    def block_output(self) -> torch.Tensor:
        """The output of the attention block: [token, hidden]"""
        return self.norms.middle


@dataclass(frozen=True)
class Pass:
    """One forward pass over one text: its blocks in the order of the layers, the steps after them (`behind`), and the model's output."""

    blocks: tuple[Block, ...]
    behind: tuple[ModulePass, ...]
    output: Any


@dataclass(frozen=True)
class WatchedLayer:
    """One layer of a pass over one text.

    layer          the call of the layer's module
    before, after  the calls of modules within the layer, in order, before and after its attention
    """

    slot: Slot
    call: AttentionCall
    layer: ModulePass
    before: tuple[ModulePass, ...]
    after: tuple[ModulePass, ...]

    @property
    def steps(self) -> tuple[ModulePass, ...]:
        return (*self.before, *self.after, self.layer)


def watched_layers(
    hf: nn.Module, layout: Layout, inputs: Mapping[str, torch.Tensor], name: str
) -> tuple[list[WatchedLayer], tuple[ModulePass, ...], Any]:
    """Run one text: its layers, the module calls after the last one, and the model's output.

    A model in half precision runs in single precision, and the modules are those of its copy (`in_single_precision`)."""
    hf = in_single_precision(hf)
    events: list[ModulePass | tuple[Slot, AttentionCall]] = []
    counted = CallsOfPass(layout)

    def receive(call: AttentionCall) -> None:
        slot = counted.next_slot()
        if slot is not None:
            events.append((slot, call))

    with model_errors(hf, name, inputs), evaluating(hf), torch.no_grad(), recording(receive), watching_steps(events.append):
        output = hf(**inputs, **no_cache(hf))
    counted.check(name, inputs)
    parents = _layer_of(hf)
    layers: list[WatchedLayer] = []
    begin = 0
    for index, event in enumerate(events):
        if isinstance(event, ModulePass):
            continue
        slot, call = event
        layer = parents.get(id(call.module))
        later = (i for i in range(index + 1, len(events)) if getattr(events[i], "module", None) is layer)
        end = next(later, None)
        if layer is None or end is None:
            raise ModelError(f"Layer {slot.layer} of {name} is not a module of its own.", "Its block cannot be taken apart.")
        before, after = (tuple(e for e in part if isinstance(e, ModulePass)) for part in (events[begin:index], events[index + 1 : end]))
        layers.append(WatchedLayer(slot, call, events[end], before, after))  # type: ignore[arg-type]
        begin = end + 1
    return layers, tuple(e for e in events[begin:] if isinstance(e, ModulePass)), output


def record_blocks(
    hf: nn.Module, layout: Layout, inputs: Mapping[str, torch.Tensor], name: str, wanted: Callable[[Slot], bool] = lambda _: True
) -> Pass:
    """Run one text and keep every block. hf: the model, or the same model with its head; inputs: a batch of one, without padding."""
    if not layout.recorded:
        raise ModelError(Message("refusal.no_blocks", model=name, why=layout.why_weights_only))
    layers, behind, output = watched_layers(hf, layout, inputs, name)
    return Pass(tuple(_block(layer, name) for layer in layers if wanted(layer.slot)), behind, output)


def _layer_of(hf: nn.Module) -> dict[int, nn.Module]:
    """Attention module → the innermost element of a list of modules that holds it: its layer."""
    modules = dict(hf.named_modules())
    layers: dict[int, nn.Module] = {}
    for name, module in modules.items():
        parts = name.split(".")
        for n in range(len(parts), 0, -1):
            above = modules.get(".".join(parts[: n - 1]))
            if isinstance(above, nn.ModuleList):
                layers[id(module)] = modules[".".join(parts[:n])]
                break
    return layers


def output_projection(layer: WatchedLayer) -> ModulePass | None:
    """The outermost linear module that takes what the heads write, side by side."""
    outputs = layer.call.head_outputs()[0].transpose(0, 1).flatten(1)  # [token, head · dim]
    return next((step for step in reversed(layer.after) if same(step.entered, outputs) and is_linear(step)), None)


def _block(watched: WatchedLayer, name: str) -> Block:
    call = watched.call
    output = output_projection(watched)
    if output is None:
        raise ModelError(
            f"No linear module of layer {watched.slot.layer} of {name} takes what the heads write, side by side.",
            "What each head adds to the residual stream is not known.",
        )
    return Block(watched.slot, watched.layer, call.weights[0], call.values_by_head()[0], output, watched, name)


def _holds_columns(wide: torch.Tensor, columns: torch.Tensor) -> bool:
    """Whether the last columns of a projection's output are these (a fused projection gives queries, keys and values side by side)."""
    return len(wide) == len(columns) and wide.shape[1] >= columns.shape[1] and same(wide[:, -columns.shape[1] :], columns)


# ---- A forward pass followed through every module: what entered it, what left it
# Nothing is read from names or classes. What a module is (linear, a norm) is decided by measurement: it is called again with test
# vectors.


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
    n = len(step.entered)
    try:
        both = step.of(torch.cat([torch.zeros_like(step.entered[:1]), 2 * step.entered, step.entered]))  # [row, dim]: one call, not three
    except Exception:  # noqa: BLE001 - any model's code runs here; a module that takes no plain matrix is not linear for us
        return False
    if len(both) != 2 * n + 1:
        return False
    zero, twice, again = both[:1], both[1 : n + 1], both[n + 1 :]
    return same(twice - step.left, step.left - zero, 1e-3) and same(again, step.left)


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


# ---- Sums of parts


@dataclass(frozen=True)
class FrozenNorm:
    """A layer norm as a linear function: the deviation of each row is a constant, as it was in the pass.

        norm(x) = (x − centre · mean(x)) · scale · weight + bias

    weight   [dim]; ones where the norm has none
    bias     [dim]; zeros where it has none
    scale    [token]: 1 / standard deviation (or 1 / root mean square) of the rows that went in
    centre   whether the mean is taken off first (layer norm: True, RMS norm: False)
    """

    weight: torch.Tensor
    bias: torch.Tensor
    scale: torch.Tensor
    centre: bool

    def of_parts(self, parts: torch.Tensor) -> torch.Tensor:
        """Each part through the norm without its bias: [token, part, dim] → the same. The sum of the results is the norm, less its bias."""
        centred = parts - parts.mean(-1, keepdim=True) if self.centre else parts
        return centred * self.scale[:, None, None] * self.weight


def attention_parts(weights: torch.Tensor, written: torch.Tensor) -> torch.Tensor:
    """What each key adds to each query, all heads together.

        part[i, j] = Σ_h A[h, i, j] · f_h(x_j)          f_h(x_j) = (x_j · W_V + b_V) · W_O^h

    weights: [head, query, key]; written: f, [head, key, dim] → [query, key, dim]

    >>> attention_parts(torch.tensor([[[0.5, 0.5]]]), torch.tensor([[[2.0], [4.0]]])).tolist()
    [[[1.0], [2.0]]]
    """
    return torch.einsum("hqk,hkd->qkd", weights, written)


def norms_by_head(weights: torch.Tensor, written: torch.Tensor) -> torch.Tensor:
    """Norm-weighted attention: ‖A[h, i, j] · f_h(x_j)‖, for each head.

    weights: [head, query, key]; written: [head, key, dim] → [head, query, key]. Source: Kobayashi et al. 2020, equation 5.

    >>> norms_by_head(torch.tensor([[[0.5, 0.5]]]), torch.tensor([[[3.0, 4.0], [0.0, 0.0]]])).tolist()
    [[[2.5, 0.0]]]
    """
    lengths: torch.Tensor = torch.linalg.vector_norm(written, dim=-1)  # [head, key]
    return weights * lengths[:, None]


def with_residual_parts(parts: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    """The same parts with the token's own vector added where query and key are the same token.

    parts: [query, key, dim]; residual: [token, dim] → [query, key, dim]
    """
    tokens = torch.arange(len(residual))
    together = parts.clone()
    together[tokens, tokens] += residual
    return together


def alti_contributions(parts: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    """How near each part comes to the block's output, by the 1-norm.

        c[i, j] = max(0, ‖y_i‖₁ − ‖y_i − T_i(x_j)‖₁),   rows divided by their sums

    parts: T, [query, key, dim]; output: y, [query, dim] → [query, key]. Source: Ferrando et al. 2022, equations 7 and 8.

    >>> alti_contributions(torch.tensor([[[3.0], [1.0]]]), torch.tensor([[4.0]])).tolist()
    [[0.75, 0.25]]
    """
    nearness = (output.abs().sum(-1)[:, None] - (output[:, None] - parts).abs().sum(-1)).clamp_min(0)  # [query, key]
    sums = nearness.sum(-1, keepdim=True)
    return torch.where(sums > 0, nearness / sums.clamp_min(torch.finfo(sums.dtype).tiny), torch.zeros_like(nearness))


def share_bias(parts: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """A bias divided among the parts of a sum by the size of their dot products with it, so that the parts add up to the sum with its bias.

        share_k = |b · z_k| / Σ_k |b · z_k|          (equal shares where every product is 0)

    parts: [token, part, dim]; bias: [dim] → parts with their shares. Source: Modarressi et al. 2023 (DecompX), section 3.

    >>> share_bias(torch.tensor([[[1.0], [3.0]]]), torch.tensor([4.0])).tolist()
    [[[2.0], [6.0]]]
    """
    sizes = (parts @ bias).abs()  # [token, part]
    sums = sizes.sum(-1, keepdim=True)
    shares = torch.where(sums > 0, sizes / sums.clamp_min(torch.finfo(sums.dtype).tiny), torch.full_like(sizes, 1 / sizes.shape[-1]))
    return parts + shares[..., None] * bias


def through_activation(parts: torch.Tensor, before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    """Parts of a sum through an elementwise function f with f(0) = 0, as if it were a line through the origin: part · f(x) / x.

    parts: [token, part, dim]; before, after: x and f(x), [token, dim]. The parts of x give parts of f(x). Where x is (nearly) 0 the slope
    is taken as 0: f(x) is then nearly 0 too. Source: Modarressi et al. 2023 (DecompX), section 3.
    """
    small = before.abs() < 1e-12
    slope = torch.where(small, torch.zeros_like(after), after / torch.where(small, torch.ones_like(before), before))  # [token, dim]
    return parts * slope[:, None]


def cosine_distances(original: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """How far the output of each token turns when another token's value is zero.

        C[i, j] = 1 − cos(y_i, y_i without v_j),   rows divided by their sums

    original: [query, dim]; changed: [key that was zeroed, query, dim] → [query, key]. Source: Mohebbi et al. 2023, equations 4 and 5.
    """
    similarity = torch.nn.functional.cosine_similarity(original[None].double(), changed.double(), dim=-1)  # [key, query]
    distances = (1 - similarity).clamp_min(0).T  # [query, key]
    sums = distances.sum(-1, keepdim=True)
    return torch.where(sums > 0, distances / sums.clamp_min(1e-300), torch.zeros_like(distances))
