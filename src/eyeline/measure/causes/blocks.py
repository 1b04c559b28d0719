"""The blocks of a model on one text, and what each token contributes to them as vectors, whose sum is what the block writes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from eyeline.errors import ModelError
from eyeline.messages import Message
from eyeline.models.attention import AttentionCall, reading_gates, recording
from eyeline.models.evaluation import evaluating, no_cache
from eyeline.models.layout import CallsOfPass, Layout, Slot
from eyeline.models.passes import model_errors
from eyeline.models.single_precision import in_single_precision


@dataclass(frozen=True)
class Residual:
    """How a block adds to its residual stream, and where its norms are.

        middle = entered + factor · branch(attention)          left = scale · (middle + forward)

    form     "post": norm(x + attention), then norm(… + feed-forward), and `left` is behind that norm; "pre": no norm is on the stream
    first    the norm after the sum with attention (post); None (pre)
    second   the norm after the feed-forward part (post), or the first that reads `middle` (pre); None where there is none
    middle   the residual stream between the two parts, behind its norm where there is one: [token, dim]
    forward  what the feed-forward part adds: [token, dim]
    forward_input  what the feed-forward part reads: [token, dim]
    branch   what attention passes behind its output projection before it is added: norms (Gemma 2, OLMo 2), linear modules (layer scales)
    factor   what it is multiplied with then (Granite)
    scale    what the whole stream is multiplied with at the end of the layer (Gemma 4)
    """

    form: Literal["post", "pre"]
    first: FrozenNorm | None
    second: FrozenNorm | None
    middle: torch.Tensor
    forward: torch.Tensor
    forward_input: torch.Tensor
    branch: tuple[FrozenNorm | ModulePass, ...] = ()
    factor: float = 1.0
    scale: float = 1.0

    def added(self, parts: torch.Tensor, token: int | None = None) -> torch.Tensor:
        """What parts of the attention's output add to the stream, biases left out: [token, part, dim] → the same; [1, …] of one token."""
        for link in self.branch:
            if isinstance(link, FrozenNorm):
                parts = (link if token is None else link.at(token)).of_parts(parts)
            else:
                parts = linear_parts(link, parts)
        return parts * self.factor


@dataclass(frozen=True)
class Block:
    """One layer on one text.

    layer    the call of the layer's module, from what enters to what leaves
    weights  [head, query, key]
    values   [head, key, dim], repeated where heads share them
    gates    [head, query, dim], which the heads' outputs are multiplied with; None where the model has none. Held as they are in the pass,
             like the weights
    output   the call of the output projection: what the heads wrote side by side, [token, head · dim] → [token, hidden]
    watched  the layer with every module call within it
    """

    slot: Slot
    layer: ModulePass
    weights: torch.Tensor
    values: torch.Tensor
    gates: torch.Tensor | None
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
        """f_h(x_j): what each head would write of each token at a weight of 1, where it has no gates: [head, key, hidden]"""
        return self._through_output(self.values)

    def written_at(self, query: int) -> torch.Tensor:
        """The same for one query, through its gates: [head, key, hidden]"""
        return self.written if self.gates is None else self._through_output(self.values * self.gates[:, query, None])

    def _through_output(self, vectors: torch.Tensor) -> torch.Tensor:
        """What each head's vectors become behind the output projection, without its bias: [head, row, dim] → [head, row, hidden]"""
        heads, rows, dim = vectors.shape
        columns = columns_by_head(self.output.module, heads)
        if columns is not None:
            return vectors @ columns.to(vectors.dtype)
        apart = vectors.new_zeros(heads, rows, heads, dim)
        each = torch.arange(heads)
        apart[each, :, each] = vectors
        return linear_parts(self.output, apart.reshape(heads, rows, heads * dim))

    @cached_property
    def parts(self) -> torch.Tensor:
        """What each key adds to each query behind the output projection: [query, key, hidden]"""
        if self.gates is None:
            return attention_parts(self.weights, self.written)
        gated = torch.einsum("hqk,hqd,hkd->qkhd", self.weights, self.gates, self.values)
        return linear_parts(self.output, gated.flatten(2))

    @cached_property
    def norm_maps(self) -> torch.Tensor:
        """Norm-weighted attention, for each head: [head, query, key]"""
        if self.gates is None:
            return norms_by_head(self.weights, self.written)
        queries = range(self.weights.shape[1])
        return torch.stack([norms_by_head(self.weights[:, q, None], self.written_at(q))[:, 0] for q in queries], 1)

    @cached_property
    def residual(self) -> Residual:
        """What is added to the residual stream and where the norms are, found by comparing sums; a block of another form is an error."""
        for branch, attended in self._branches():
            residual = self._residual_after(branch, attended)
            if residual is not None:
                return residual
        raise self._other_form()

    @cached_property
    def _inside(self) -> list[ModulePass]:
        """The steps after the output projection that give vectors of the stream's size, in order, the layer itself left out."""
        index = next(i for i, step in enumerate(self.steps) if step is self.output)
        return [step for step in self.steps[index + 1 : -1] if step.left.shape == self.layer.left.shape]

    def _branches(self) -> Iterator[tuple[tuple[FrozenNorm | ModulePass, ...], torch.Tensor]]:
        """What attention may have passed before it is added, and what came of it: nothing, one norm or linear module, several in a row."""
        branch: tuple[FrozenNorm | ModulePass, ...] = ()
        current = self.output.left
        yield branch, current
        for step in self._inside:
            if same(step.entered, current) and not same(step.left, current):
                link = frozen_norm(step) or (step if is_linear(step) else None)
                if link is not None:
                    branch, current = (*branch, link), step.left
                    yield branch, current

    def _residual_after(self, branch: tuple[FrozenNorm | ModulePass, ...], attended: torch.Tensor) -> Residual | None:
        """The form of this block, if this is what its attention adds."""
        entered, left = self.layer.entered, self.layer.left
        for factor, after_sum in self._sums(attended):
            middle = entered + factor * attended
            reader = next((step for step in after_sum if frozen_norm(step) is not None), None)
            normed = middle if reader is None else reader.left
            first = None if reader is None else frozen_norm(reader)
            for step in self.steps if reader is not None else ():
                if same(step.left, left) and not same(step.entered, entered) and (second := frozen_norm(step)) is not None:
                    return Residual("post", first, second, normed, step.entered - normed, normed, branch, factor)
            scale = self._scale(middle)
            if scale is not None:
                return Residual("pre", None, first, middle, left / scale - middle, normed, branch, factor, scale)
        attention_and_forward = left - entered - attended  # both read the layer's input (GPT-NeoX, Cohere): nothing reads the sum of two
        if any(same(step.left, attention_and_forward, 1e-3) for step in self._inside):
            return Residual("pre", None, None, entered + attended, attention_and_forward, entered, branch)
        return None

    def _sums(self, attended: torch.Tensor) -> Iterator[tuple[float, list[ModulePass]]]:
        """The factors with which attention may be added to what entered, and the steps that read each sum."""
        entered = self.layer.entered
        plain = [step for step in self.steps if same(step.entered, entered + attended)]
        factors = []
        if plain:
            factors.append(1.0)
            yield 1.0, plain
        size = (attended * attended).sum().clamp_min(1e-30)
        for step in self._inside_readers:
            difference = step.entered - entered
            factor = float((difference * attended).sum() / size)
            known = any(abs(factor - other) < 1e-3 * abs(other) for other in factors)
            if not known and abs(factor) > LEAST_FACTOR and same(difference, factor * attended, 1e-3):
                factors.append(factor)
                yield factor, [other for other in self.steps if same(other.entered, entered + factor * attended)]

    @property
    def _inside_readers(self) -> list[ModulePass]:
        index = next(i for i, step in enumerate(self.steps) if step is self.output)
        return [step for step in self.steps[index + 1 : -1] if step.entered.shape == self.layer.entered.shape]

    def _scale(self, middle: torch.Tensor) -> float | None:
        """What the stream is multiplied with in the end, where only outputs of modules, times a number, were added after the middle."""
        left = self.layer.left
        forward = left - middle
        if any(same(step.left, forward, 1e-3) for step in self.steps):
            return 1.0
        outputs = [step.left for step in self._inside if not same(step.left, middle)]
        for n in (1, 2):
            for added in combinations(outputs, n):
                factors = fitted(left, [middle, *added])
                if factors is not None and all(abs(factor) > LEAST_FACTOR for factor in factors):
                    return 1.0 if abs(factors[0] - 1) < WITHIN else factors[0]
        return None

    def _other_form(self) -> ModelError:
        return ModelError(
            f"Layer {self.slot.layer} of {self.name} is neither of the form norm(x + attention) nor x + c · norm(attention(…)).",
            "Residual and norm cannot be taken apart. Quantities that need neither: norms, rollout, flow, value-zeroing, gradient.",
        )

    @cached_property
    def block_parts(self) -> torch.Tensor:
        """What each token adds to the attention block's output, residual and norm included: [query, key, hidden]"""
        residual = self.residual
        together = with_residual_parts(residual.added(self.parts), self.layer.entered)
        return together if residual.first is None else residual.first.of_parts(together)

    @property
    def block_output(self) -> torch.Tensor:
        """The output of the attention block: [token, hidden]"""
        return self.residual.middle


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

    with (
        model_errors(hf, name, inputs),
        evaluating(hf),
        torch.no_grad(),
        recording(receive),
        reading_gates(layout.readers),
        watching_steps(events.append),
    ):
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
            what = "is not a module of its own" if layer is None else "does not take and give one vector for each token"
            raise ModelError(f"Layer {slot.layer} of {name} {what}.", "Its block cannot be taken apart.")
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
        written = call.head_outputs()[0].transpose(0, 1).flatten(1)
        reader = next((type(step.module).__name__ for step in watched.after if same(step.entered, written)), "")
        raise ModelError(
            f"No linear module of layer {watched.slot.layer} of {name} takes what the heads write, side by side.",
            *(
                [f"A {reader} takes it, which is not linear. If it rounds what it reads (8 bits), open the model in bf16."]
                if reader
                else ()
            ),
            "What each head adds to the residual stream is not known.",
        )
    gates = None if call.gates is None else call.gates[0].transpose(0, 1)
    return Block(watched.slot, watched.layer, call.weights[0], call.values_by_head()[0], gates, output, watched, name)


def columns_by_head(module: nn.Module | None, heads: int) -> torch.Tensor | None:
    """The columns of a plain output projection by head, [head, dim, hidden], without the zeros of the other heads; None where its weights
    are quantised, or it is another module."""
    if type(module) is not nn.Linear or is_traceable_wrapper_subclass(module.weight):
        return None
    return module.weight.detach().T.reshape(heads, -1, len(module.weight))


def _holds_columns(wide: torch.Tensor, columns: torch.Tensor) -> bool:
    """Whether the last columns of a projection's output are these (a fused projection gives queries, keys and values side by side)."""
    return len(wide) == len(columns) and wide.shape[1] >= columns.shape[1] and same(wide[:, -columns.shape[1] :], columns)


# ---- A forward pass followed through every module: what entered it, what left it
# Nothing is read from names or classes. What a module is (linear, a norm) is decided by measurement: it is called again with test
# vectors.


#: How far two tensors may differ, as a part of the largest number, and still count as equal.
WITHIN = 1e-4

#: A factor below this adds nothing that could be told from rounding.
LEAST_FACTOR = 1e-3

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
    if first.data_ptr() == second.data_ptr() and first.stride() == second.stride():
        return True
    size = max(float(first.abs().max()), float(second.abs().max()), 1e-12) if first.numel() else 1.0
    return bool((first - second).abs().max() <= within * size)


def fitted(target: torch.Tensor, parts: Sequence[torch.Tensor]) -> list[float] | None:
    """The numbers with which parts add up to the target; None where they do not.

    >>> [round(factor, 3) for factor in fitted(torch.tensor([[3.0, 4.0, 7.0]]), [torch.eye(3)[:1], torch.tensor([[0.0, 4.0, 7.0]])])]
    [3.0, 1.0]
    """
    columns = torch.stack([part.double().flatten() for part in parts], 1)
    factors = torch.linalg.lstsq(columns, target.double().flatten()[:, None]).solution
    return factors[:, 0].tolist() if same((columns @ factors)[:, 0], target.double().flatten()) else None


def is_linear(step: ModulePass) -> bool:
    """Whether the module is linear, apart from a bias: f(2x) − f(x) = f(x) − f(0) and f(x + y) − f(x) = f(y) − f(0), y being the rows of x
    one further; and it changes something. A module that rounds what it reads (int8) fails the second."""
    if step.entered.data_ptr() == step.left.data_ptr() or (step.entered.shape == step.left.shape and torch.equal(step.entered, step.left)):
        return False
    module = step.module
    if type(module) is nn.Linear and not {"forward"} & vars(module).keys() and not (module._forward_pre_hooks or module._forward_hooks):
        return True  # by its own code: no need to run it again
    n = len(step.entered)
    try:
        zeros, summed = torch.zeros_like(step.entered[:1]), step.entered + step.entered.roll(1, 0)
        both = step.of(torch.cat([zeros, 2 * step.entered, step.entered, summed]))  # [row, dim]: one call, not four
    except Exception:  # noqa: BLE001 - any model's code runs here; a module that takes no plain matrix is not linear for us
        return False
    if len(both) != 3 * n + 1:
        return False
    zero, twice, again, summed = both[:1], both[1 : n + 1], both[n + 1 : 2 * n + 1], both[2 * n + 1 :]
    doubles = same(twice - step.left, step.left - zero, 1e-3) and same(again, step.left)
    return doubles and same(summed - step.left, step.left.roll(1, 0) - zero, 1e-3)


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

    def at(self, token: int) -> FrozenNorm:
        """The same of one token."""
        return replace(self, scale=self.scale[token : token + 1])

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
