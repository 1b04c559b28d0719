"""Forward passes of a model, in evaluation mode: its attention goes to a receiver, layer by layer, or its output is returned."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from types import MethodType
from typing import Any, Literal, TypeVar

import torch
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from eyeline.errors import EyelineError, ModelError, nearest
from eyeline.heads import HeadRef
from eyeline.look.interventions import Ablate, Intervention
from eyeline.messages import Message
from eyeline.models.attention import (
    AttentionCall,
    Changes,
    LayerAttention,
    Receive,
    ReceiveStreamed,
    changing,
    following_gradients,
    reading_gates,
    recording,
    skip_calls,
    streaming,
)
from eyeline.models.changes import Gates, ReceiveOutputs, changes_of
from eyeline.models.evaluation import evaluating, is_placed, lean_pass, no_cache, rebind_placed
from eyeline.models.inputs import Example, batch_inputs
from eyeline.models.kernels import KeySets
from eyeline.models.layout import CallsOfPass, Capabilities, Layout, Slot, check_calls

Layer = TypeVar("Layer")

Result = TypeVar("Result")

Lengths = tuple[tuple[int, ...], tuple[int, ...]]

#: Copies of a batch under different interventions go through a model together, up to this many tokens.
VARIANT_TOKENS = 1024


@dataclass(frozen=True)
class Passes:
    """Runs one model. Every pass is made in evaluation mode, whatever mode the model is in before and after."""

    hf: PreTrainedModel
    body: PreTrainedModel  # hf without its head: attention is recorded there
    tokenizer: PreTrainedTokenizerBase | None
    name: str
    layout: Layout

    def inputs(self, examples: Sequence[Example]) -> dict[str, torch.Tensor]:
        """The padded tensors of one batch of texts."""
        pad = getattr(self.tokenizer, "pad_token_id", None) or 0
        return batch_inputs(self.hf, examples, pad)

    @property
    def gives(self) -> Capabilities:
        """What the model makes available."""
        layout = self.layout
        stacks = {s: (layout.n_layers(s), layout.n_heads(s)[0], layout.n_key_heads(s)[0]) for s in layout.stacks}
        plain = all(bool(layout.plain(s)) for s in layout.stacks)
        return Capabilities(stacks, layout.recorded, plain, plain and bool(self.hf._supports_sdpa))

    def layers(
        self,
        examples: Sequence[Example] | None,
        receive: Receive,
        *,
        inputs: Mapping[str, torch.Tensor] | None = None,
        rows: int | None = None,
        interventions: Sequence[Intervention] = (),
        answered: bool = False,
    ) -> Any:
        """One forward pass over one batch of texts that were read; each layer goes to `receive` while it is there.

        inputs         the tensors of the batch; otherwise made from `examples`. Without examples: of one input, without padding
        rows           a layer with more queries comes this many rows at a time, and its map is never whole (models that can be recorded)
        interventions  are made on every text of the batch
        answered       the answer will be computed from what is returned, the output of the body (`head`)
        """
        inputs = self.inputs(examples or ()) if inputs is None else inputs
        with ExitStack() as block:
            block.enter_context(model_errors(self.hf, self.name, inputs))
            if interventions:
                texts = examples or ()
                block.enter_context(changing(changes_of([interventions] * len(texts), texts, self.layout, self.name)))
            block.enter_context(evaluating(self.hf))
            block.enter_context(torch.inference_mode())
            options = no_cache(self.body) if answered and self.body is self.hf else lean_pass(self.body)
            if self.layout.recorded:
                return self._recorded({**inputs, **options}, examples, _with_marked_errors(receive), rows)
            return self._reported({**inputs, **options}, examples, _with_marked_errors(receive))

    def _recorded(self, arguments: Mapping[str, Any], examples: Sequence[Example] | None, receive: Receive, rows: int | None) -> Any:
        calls = CallsOfPass(self.layout)
        slot: Slot | None = None
        failed: Exception | None = None
        lengths = {stack: _lengths(examples, stack) for stack in self.layout.stacks} if examples is not None else {}

        def receive_call(call: AttentionCall) -> None:
            nonlocal slot, failed
            slot = calls.next_slot() if call.first == 0 else slot
            if slot is None or failed is not None:
                return
            try:
                sizes = lengths.get(slot.stack) or _sizes(call.weights)
                receive(LayerAttention(slot.stack, slot.layer, *sizes, recorded=call.on(self.hf.device), sink=slot.sink))
            except Exception as error:  # noqa: BLE001 - raised after the pass, unless the calls were not those of the layers
                failed = error

        with recording(receive_call, rows), reading_gates(self.layout.readers):
            output = self.body(**arguments)
        calls.check(self.name, _tensors(arguments))
        if failed is not None:
            raise failed
        return output

    def _reported(self, arguments: Mapping[str, Any], examples: Sequence[Example] | None, receive: Receive) -> Any:
        """The maps that the model reports itself, where its calls cannot be recorded."""
        if self.layout.parts:
            self.body(**arguments)  # it replaces parts of itself before they can report anything
            if class_names(self.hf) != self.layout.parts:
                raise ModelError(
                    Message("refusal.other_parts", model=self.name),
                    Message("refusal.shorter_text"),
                )
        output = self.body(**arguments, output_attentions=True)
        for stack, name in self.layout.outputs.items():
            slots = [slot for slot in self.layout.slots if slot.stack == stack]
            maps = [output[name][index] for index in self.layout.indices[stack]]
            lengths = None if examples is None else _lengths(examples, stack)
            for slot, weights in zip(slots, maps, strict=True):
                receive(LayerAttention(slot.stack, slot.layer, *(lengths or _sizes(weights)), reported=weights.to(self.hf.device)))
        return output

    def output(
        self,
        examples: Sequence[Example],
        each: Sequence[Sequence[Intervention]] | None = None,
        *,
        inputs: Mapping[str, torch.Tensor] | None = None,
        gates: Gates | None = None,
        receive: ReceiveOutputs | None = None,
        stored: StoredPass | None = None,
        at: torch.Tensor | None = None,
        gradients: bool = False,
        fused: bool = False,
    ) -> Any:
        """What the model itself returns for one batch of texts (logits, where it has a head), while interventions change it.

        each       a list of interventions for each text of the batch
        inputs     the tensors of the batch, where they are not those of the texts (masked tokens); otherwise made from `examples`
        gates      stack and layer → a tensor [head] or [text, head] that the heads' outputs are multiplied with: ask for gradients and
                   torch.autograd.grad gives ∂L/∂ξ
        receive    is given every slot and what its heads wrote, interventions included: [text, query, head, dim]; with gradients, of one
                   graph with the output
        stored     a pass over the same texts without interventions (`store`): layers below the first one that is changed are not computed.
                   It serves copies of these texts, one batch after the other, too: see `variants`
        at         compute a language-modelling head at these positions alone, [text, position]: the logits have them in this order, and
                   most of the cost of a short text is gone. Not for heads that read the whole text
        gradients  keep the graph
        fused      run attention through the fused kernel (`gives.streamed`): faster for long texts, the same to rounding
        """
        each = [()] * len(examples) if each is None else each
        tensors = dict(self.inputs(examples) if inputs is None else inputs)
        changes = changes_of(each, examples, self.layout, self.name, gates, receive)
        with model_errors(self.hf, self.name, tensors), self._answering(gradients, fused), changing(changes):
            part = self.hf if at is None else self.body
            arguments = {**tensors, **no_cache(part)}
            result = part(**arguments) if stored is None else run_from(part, arguments, stored, changes.first)
            self._check_calls(changes, tensors)
            return result if at is None else self.head(result, tensors, at)

    def variants(
        self,
        examples: Sequence[Example],
        variants: Sequence[Sequence[Intervention]],
        *,
        inputs: Mapping[str, torch.Tensor] | None = None,
        stored: StoredPass | None = None,
        at: torch.Tensor | None = None,
    ) -> Iterator[tuple[slice, Any]]:
        """What the model returns for a batch of texts under each list of interventions: copies of the batch go through it together.

        Gives which of the lists, and the output of [list · text, …]. The rest is as in `output`.
        """
        tensors = dict(self.inputs(examples) if inputs is None else inputs)
        longest = max(len(text) for example in examples for text in (example.source, example.target or example.source))
        together = max(1, VARIANT_TOKENS // (longest * len(examples)))
        for start in range(0, len(variants), together):
            part = variants[start : start + together]
            copies = {name: tensor.repeat(len(part), *[1] * (tensor.ndim - 1)) for name, tensor in tensors.items()}
            yield (
                slice(start, start + len(part)),
                self.output(
                    [*examples] * len(part),
                    [interventions for interventions in part for _ in examples],
                    inputs=copies,
                    stored=stored,
                    at=None if at is None else at.repeat(len(part), 1),
                ),
            )

    def without_each_head(
        self,
        examples: Sequence[Example],
        slots: Iterable[Slot],
        *,
        by: Literal["zero", "mean"] = "zero",
        inputs: Mapping[str, torch.Tensor] | None = None,
        stored: StoredPass | None = None,
        at: torch.Tensor | None = None,
    ) -> Iterator[tuple[Slot, slice, Any]]:
        """What the model returns for a batch of texts with one head of these layers ablated, and then the next.

        Gives the layer, which of its heads, and the output of [head · text, …]. The rest is as in `variants`.
        """
        for slot in slots:
            ablated = [[Ablate([HeadRef(slot.stack, slot.layer, head)], by=by)] for head in range(slot.n_heads)]
            for heads, output in self.variants(examples, ablated, inputs=inputs, stored=stored, at=at):
                yield slot, heads, output

    def head(self, result: Any, inputs: Mapping[str, torch.Tensor], at: torch.Tensor | None = None) -> Any:
        """The model's output, from the output of its body: only the head is computed, `at` some positions or at all."""
        with model_errors(self.hf, self.name, inputs), evaluating(self.hf):
            return run_head(self.hf, self.body, result, {**inputs, **no_cache(self.hf)}, at)

    def store(
        self,
        examples: Sequence[Example],
        *,
        inputs: Mapping[str, torch.Tensor] | None = None,
        at: torch.Tensor | None = None,
        fused: bool = False,
    ) -> tuple[Any, StoredPass]:
        """What the model returns for one batch of texts (at: as in `output`), and the results of its layers, from which passes begin."""
        tensors = dict(self.inputs(examples) if inputs is None else inputs)
        changes = changes_of([()] * len(examples), examples, self.layout, self.name)
        with model_errors(self.hf, self.name, tensors), self._answering(False, fused), changing(changes):
            part = self.hf if at is None else self.body
            output, stored = run_and_store(part, {**tensors, **no_cache(part)}, changes)
            self._check_calls(changes, tensors)
            return (output if at is None else self.head(output, tensors, at)), stored

    def _check_calls(self, changes: Changes, inputs: Mapping[str, torch.Tensor]) -> None:
        if self.layout.recorded:
            check_calls(changes.calls_made, self.layout, self.name, inputs)

    @contextmanager
    def _answering(self, gradients: bool, fused: bool) -> Iterator[None]:
        """A pass whose output is read. Not in inference mode: what is stored may meet gradients later."""
        fused_pass = streaming(lambda _call: None, self.layout.causal) if fused else nullcontext()
        with (
            evaluating(self.hf),
            following_gradients(self.hf) if gradients else torch.no_grad(),
            fused_pass,
            reading_gates(self.layout.readers),
        ):
            yield

    def layers_without_maps(
        self,
        examples: Sequence[Example],
        receive: ReceiveStreamed,
        sets: Mapping[tuple[str, int], KeySets] | None = None,
        *,
        answered: bool = False,
    ) -> Any:
        """The same without ever forming a map: for models whose attention is plain softmax, and that transformers itself lets run through
        a fused kernel (`gives.streamed`). sets: of keys, by stack and layer; those layers come with the numbers of their rows."""
        if not self.gives.streamed:
            why = (
                f"transformers runs {self.name} through no fused kernel (SDPA)" if self.gives.plain else "it is more than a softmax of q·k"
            )
            raise ModelError(f"The attention of {self.name} cannot be streamed: {why}.", "Ask for its maps: model.each_layer.")
        calls = CallsOfPass(self.layout)
        marked_receive = _with_marked_errors(receive)
        lengths = {stack: _lengths(examples, stack) for stack in self.layout.stacks}

        def receive_call(call: AttentionCall) -> torch.Tensor | None:
            slot = calls.next_slot()
            if slot is None:
                return None
            attention = LayerAttention(slot.stack, slot.layer, *lengths[slot.stack], recorded=call.on(self.hf.device))
            other = marked_receive(attention)
            return None if other is None else other.to(call.queries.device)

        inputs = self.inputs(examples)
        if len({parameter.device for parameter in self.hf.parameters()}) > 1:
            sets = None  # the one-pass kernel reads sets where its layer lies
        sets_of_calls = [sets.get((slot.stack, slot.layer)) if slot is not None else None for slot in self.layout.calls] if sets else None
        with (
            model_errors(self.hf, self.name, inputs),
            evaluating(self.hf),
            torch.inference_mode(),
            streaming(receive_call, self.layout.causal, sets_of_calls),
        ):
            output = self.body(**inputs, **(no_cache if answered and self.body is self.hf else lean_pass)(self.body))
            calls.check(self.name, inputs)
            return output


@contextmanager
def model_errors(hf: PreTrainedModel, name: str, inputs: Mapping[str, torch.Tensor]) -> Iterator[None]:
    """What a model's own code raises becomes an error that names the model; what a receiver raises stays as it is."""
    try:
        yield
    except _ReceiverError as error:
        raise error.reason from error.reason.__cause__
    except EyelineError:
        raise
    except Exception as error:
        takes = inspect.signature(hf.forward).parameters
        about_arguments = isinstance(error, TypeError) or hf.main_input_name not in inputs
        unknown = [key for key in inputs if key not in takes] if about_arguments else []
        raise ModelError(
            f"{name} could not be run on {'this text' if {'input_ids', 'inputs_embeds'} & set(inputs) else 'these tensors'}.",
            f"{type(error).__name__}: {' '.join(str(error).split())[:300]}",
            *(f"It takes no {key!r}. {nearest(key, takes)}" for key in unknown),
            f"It reads {hf.main_input_name!r}.",
        ) from error


class _ReceiverError(Exception):
    """Carries an error of a receiver through the model's code."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


def _with_marked_errors(receive: Callable[[Layer], Result]) -> Callable[[Layer], Result]:
    """The same receiver, with its errors marked, so that they are not taken for errors of the model."""

    def receive_or_raise(layer: Layer) -> Result:
        try:
            return receive(layer)
        except Exception as error:
            raise _ReceiverError(error) from error

    return receive_or_raise


def class_names(model: nn.Module) -> tuple[str, ...]:
    """The classes of all parts of a model, in order."""
    return tuple(type(module).__name__ for module in model.modules())


def _tensors(arguments: Mapping[str, Any]) -> list[str]:
    return [name for name, value in arguments.items() if isinstance(value, torch.Tensor)]


def _lengths(examples: Sequence[Example], stack: str) -> Lengths:
    """How many queries and keys each text has in a stack."""
    texts = [example.of(stack) for example in examples]
    return tuple([len(query) for query, _ in texts]), tuple([len(key) for _, key in texts])


def _sizes(weights: torch.Tensor) -> Lengths:
    """How many queries and keys the tensors of one input have, which come without padding."""
    return (weights.shape[2],), (weights.shape[3],)


# ---- A pass whose layers' results are stored, so that a later pass can begin at any layer of it
#
# The model is not touched. A *twin* of it shares all weights and buffers: a shallow copy of the modules down to the lists of layers, whose
# items are replaced by stand-ins. A stand-in runs its layer and stores the result, or returns what was stored. Everything outside the
# lists (embeddings, masks, the final norm, the head) is the model's own code, run again.


@dataclass(frozen=True)
class StoredLayer:
    """What one layer returned; how many attention calls it made, and how many the pass had made when it ended."""

    result: Any
    calls: int
    end: int


@dataclass(frozen=True)
class StoredPass:
    """The results of every layer of one pass, in the order in which they ran; tensors begin with the batch."""

    layers: tuple[StoredLayer, ...]
    n_texts: int

    def layers_before(self, call: int) -> int:
        """How many layers had ended before attention call number `call` was made."""
        return next((index for index, layer in enumerate(self.layers) if layer.end > call), len(self.layers))


def run_and_store(hf: nn.Module, inputs: Mapping[str, Any], count: Changes) -> tuple[Any, StoredPass]:
    """The model's output, and the results of its layers."""
    stored: list[StoredLayer] = []

    def run(layer: nn.Module, *args: Any, **kwargs: Any) -> Any:
        before = count.calls_made
        result = layer(*args, **kwargs)
        stored.append(StoredLayer(result, count.calls_made - before, count.calls_made))
        return result

    output = _twin(hf, run)(**inputs)
    n_texts = len(next(value for value in inputs.values() if isinstance(value, torch.Tensor)))
    return output, StoredPass(tuple(stored), n_texts)


def run_from(hf: nn.Module, inputs: Mapping[str, Any], stored: StoredPass, first_call: int) -> Any:
    """The model's output, where no layer before attention call number `first_call` is computed: its stored result is used.

    A stored pass serves any number of copies of its batch, one after the other.
    """
    n_texts = len(next(value for value in inputs.values() if isinstance(value, torch.Tensor)))
    skipped, ran = stored.layers_before(first_call), 0

    def run(layer: nn.Module, *args: Any, **kwargs: Any) -> Any:
        nonlocal ran
        ran += 1
        if ran > skipped:
            return layer(*args, **kwargs)
        known = stored.layers[ran - 1]
        skip_calls(known.calls)
        return known.result if n_texts == stored.n_texts else _repeated(known.result, stored.n_texts, n_texts // stored.n_texts)

    return _twin(hf, run)(**inputs)


def run_head(hf: nn.Module, body: nn.Module, result: Any, inputs: Mapping[str, Any], at: torch.Tensor | None = None) -> Any:
    """The model's output, where the result of its body is known: only the head is computed.

    at   compute it at these positions alone: [text, position]. The output has them in this order.
    """
    known = copy.copy(result)
    if at is not None:
        name = "logits" if body is hf else next(iter(known))
        rows = known[name]  # [text, token, dim]
        known[name] = rows.gather(1, at.to(rows.device)[..., None].expand(-1, -1, rows.shape[2]))
    if body is hf:
        return known
    return _with_stand_in(hf, body, _StandIn(body, lambda *_, **__: known))(**inputs)


def _with_stand_in(module: nn.Module, part: nn.Module, stand_in: nn.Module) -> nn.Module:
    """A copy of the modules above `part`, with the stand-in in its place, sharing everything else."""
    if module is part:
        return stand_in
    if not any(inner is part for inner in module.modules()):
        return module
    if "forward" in vars(module) and _own_forward(module) is None and not is_placed(module):
        raise ModelError(
            f"The forward of {type(module).__name__} was replaced by code that is not its own: its head cannot be run alone.",
            "Open it again: el.wrap(hf, tokenizer).",
        )
    twin = _copied(module)
    twin.__dict__["_modules"] = {
        name: None if child is None else _with_stand_in(child, part, stand_in) for name, child in module._modules.items()
    }
    return twin


def _own_forward(module: nn.Module) -> Callable[..., Any] | None:
    """The function of a `forward` that was put on this module alone, where it is a method of this module, compiled or not."""
    forward = vars(module)["forward"]
    method = getattr(forward, "_torchdynamo_orig_callable", forward)
    return method.__func__ if isinstance(method, MethodType) and method.__self__ is module else None


def _copied(module: nn.Module) -> nn.Module:
    """A shallow copy that runs its own parts."""
    twin = copy.copy(module)
    if is_placed(twin):
        rebind_placed(twin)
    elif "forward" in vars(module) and (function := _own_forward(module)) is not None:
        twin.__dict__["forward"] = MethodType(function, twin)
    return twin


def _repeated(result: Any, n_texts: int, copies: int) -> Any:
    """The same result for copies of a batch."""
    if isinstance(result, torch.Tensor):
        if not result.ndim or result.shape[0] != n_texts:
            return result
        return result.expand(copies, *result.shape[1:]) if n_texts == 1 else result.repeat(copies, *[1] * (result.ndim - 1))
    if isinstance(result, tuple | list):
        return type(result)(_repeated(part, n_texts, copies) for part in result)
    if isinstance(result, dict):
        return type(result)({name: _repeated(part, n_texts, copies) for name, part in result.items()})
    return result


def _twin(module: nn.Module, run: Callable[..., Any]) -> nn.Module:
    """A copy of the modules down to the outermost lists of layers, sharing everything else."""
    if not any(isinstance(part, nn.ModuleList) for part in module.modules()):
        return module
    twin = _copied(module)
    children: dict[str, nn.Module | None] = {}
    for name, child in module._modules.items():
        if child is None:
            children[name] = None
        else:
            children[name] = _StandIn(child, run) if isinstance(module, nn.ModuleList) else _twin(child, run)
    twin.__dict__["_modules"] = children
    return twin


class _StandIn(nn.Module):
    """Stands for one layer in a twin: `run` decides whether the layer itself is called. Other attributes are the layer's."""

    def __init__(self, layer: nn.Module, run: Callable[..., Any]) -> None:
        super().__init__()
        self.__dict__["_layer"], self.__dict__["_run"] = layer, run
        self.training = layer.training

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["_run"](self.__dict__["_layer"], *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_layer"], name)
