"""Forward passes of a model, in evaluation mode: its attention goes to a receiver, layer by layer, or its output is returned."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from eyeline.capture.collect import Sides
from eyeline.capture.inputs import batch_inputs
from eyeline.capture.interventions.apply import Gates, ReceiveOutputs, changes_of
from eyeline.capture.interventions.change import changing
from eyeline.capture.interventions.records import Intervention
from eyeline.capture.interventions.stored import StoredPass, run_and_store, run_from, run_head
from eyeline.capture.layer import LayerAttention, LayerScores, Receive, ReceiveScores
from eyeline.capture.layout import Layout, Slot
from eyeline.capture.model_state import EvaluationMode
from eyeline.capture.opening.tiny_pass import lean_pass, no_cache
from eyeline.capture.recorder import Call, ScoreTerms, recording, recording_scores
from eyeline.errors import EyelineError, ModelError, nearest
from eyeline.measures.kernels.one_pass import KeySets

Layer = TypeVar("Layer")


class _ReceiverError(Exception):
    """Carries an error of a receiver through the model's code."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


def _with_marked_errors(receive: Callable[[Layer], None]) -> Callable[[Layer], None]:
    """The same receiver, with its errors marked, so that they are not taken for errors of the model."""

    def receive_or_raise(layer: Layer) -> None:
        try:
            receive(layer)
        except Exception as error:
            raise _ReceiverError(error) from error

    return receive_or_raise


@dataclass(frozen=True)
class Passes:
    """Runs one model. Every pass is made in evaluation mode, whatever mode the model is in before and after."""

    hf: PreTrainedModel
    body: PreTrainedModel  # hf without its head: attention is recorded there
    tokenizer: PreTrainedTokenizerBase | None
    name: str
    layout: Layout
    evaluation: EvaluationMode

    def inputs(self, sides: Sequence[Sides]) -> dict[str, torch.Tensor]:
        """The padded tensors of one batch of texts."""
        pad = getattr(self.tokenizer, "pad_token_id", None) or 0
        return batch_inputs(self.hf, sides, pad)

    def layers(
        self,
        inputs: Mapping[str, torch.Tensor],
        sides: Sequence[Sides] | None,
        receive: Receive,
        rows: int | None = None,
        interventions: Sequence[Intervention] = (),
    ) -> Any:
        """One forward pass; each layer goes to `receive` while it is there. Interventions are made on every text of the batch.

        Returns the output of the body, from which `head` computes the answer."""
        with ExitStack() as block:
            block.enter_context(self._our_errors(inputs))
            if interventions:
                texts = sides or ()
                block.enter_context(changing(changes_of([interventions] * len(texts), texts, self.layout, self.name)))
            block.enter_context(self.evaluation.for_a_pass())
            block.enter_context(torch.inference_mode())
            if self.layout.recorded:
                return self._recorded(inputs, sides, _with_marked_errors(receive), rows)
            return self._reported(inputs, sides, _with_marked_errors(receive))

    @contextmanager
    def _our_errors(self, inputs: Mapping[str, torch.Tensor]) -> Iterator[None]:
        """What a model's own code raises becomes an error that names the model; what a receiver raises stays as it is."""
        try:
            yield
        except _ReceiverError as error:
            raise error.reason from error.reason.__cause__
        except EyelineError:
            raise
        except Exception as error:
            takes = inspect.signature(self.hf.forward).parameters
            unknown = [name for name in inputs if name not in takes]
            raise ModelError(
                f"{self.name} could not be run on {'these tensors' if 'input_ids' not in inputs else 'this text'}.",
                f"{type(error).__name__}: {' '.join(str(error).split())[:300]}",
                *(f"It takes no {name!r}. {nearest(name, takes)}" for name in unknown),
                f"It reads {self.hf.main_input_name!r}.",
            ) from error

    def _recorded(self, inputs: Mapping[str, torch.Tensor], sides: Sequence[Sides] | None, receive: Receive, rows: int | None) -> Any:
        slots = iter(self.layout.calls)
        slot: Slot | None = None
        lengths = {stack: _lengths(sides, stack) for stack in self.layout.stacks} if sides is not None else {}

        def receive_call(call: Call) -> None:
            nonlocal slot
            slot = next(slots, None) if call.first == 0 else slot
            if slot is not None:
                receive(_layer(slot, call.weights, lengths.get(slot.stack), call))

        with recording(receive_call, rows):
            output = self.body(**inputs, **lean_pass(self.body))
        if next(slots, "end") != "end":
            raise ModelError(
                f"{self.name} made fewer attention calls than when it was opened.",
                "Its layers cannot be identified. Was its attention implementation changed? Wrap it again: el.wrap(hf, tokenizer).",
            )
        return output

    def _reported(self, inputs: Mapping[str, torch.Tensor], sides: Sequence[Sides] | None, receive: Receive) -> Any:
        """The maps that the model reports itself, where its calls cannot be recorded."""
        output = self.body(**inputs, **lean_pass(self.body), output_attentions=True)
        for stack, name in self.layout.outputs.items():
            slots = [slot for slot in self.layout.slots if slot.stack == stack]
            maps = [output[name][index] for index in self.layout.indices[stack]]
            lengths = None if sides is None else _lengths(sides, stack)
            for slot, weights in zip(slots, maps, strict=True):
                receive(_layer(slot, weights, lengths, None))
        return output

    def output(
        self,
        sides: Sequence[Sides],
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
        inputs     the tensors of the batch, where they are not those of the texts (masked tokens); otherwise made from `sides`
        gates      stack and layer → a tensor [head] or [text, head] that the heads' outputs are multiplied with: ask for gradients and
                   torch.autograd.grad gives ∂L/∂ξ
        receive    is given every slot and what its heads wrote, interventions included: [text, query, head, dim]; with gradients, of one
                   graph with the output
        stored     a pass over the same texts without interventions (`store`): layers below the first one that is changed are not computed.
                   Stored for one text, it serves a batch of copies of it: one pass gives the effect of each head of a layer by
                   `output([side] * 12, [[Ablate([(5, head)])] for head in range(12)], stored=store([side]))`
        at         compute a language-modelling head at these positions alone, [text, position]: the logits have them in this order, and
                   most of the cost of a short text is gone. Not for heads that read the whole text
        gradients  keep the graph
        fused      run attention through the fused kernel (`model.gives.streamed`): faster for long texts, the same to rounding
        """
        each = [()] * len(sides) if each is None else each
        tensors = dict(self.inputs(sides) if inputs is None else inputs)
        changes = changes_of(each, sides, self.layout, self.name, gates, receive)
        with self._our_errors(tensors), self._answering(gradients, fused), changing(changes):
            part = self.hf if at is None else self.body
            arguments = {**tensors, **no_cache(part)}
            result = part(**arguments) if stored is None else run_from(part, arguments, stored, changes.first)
            return result if at is None else self.head(result, tensors, at)

    def head(self, result: Any, inputs: Mapping[str, torch.Tensor], at: torch.Tensor | None = None) -> Any:
        """The model's output, from the output of its body: only the head is computed, `at` some positions or at all."""
        return run_head(self.hf, self.body, result, {**inputs, **no_cache(self.hf)}, at)

    def store(
        self, sides: Sequence[Sides], *, inputs: Mapping[str, torch.Tensor] | None = None, fused: bool = False
    ) -> tuple[Any, StoredPass]:
        """What the model returns for one batch of texts, and the results of its layers, from which other passes begin."""
        tensors = dict(self.inputs(sides) if inputs is None else inputs)
        changes = changes_of([()] * len(sides), sides, self.layout, self.name)
        with self._our_errors(tensors), self._answering(False, fused), changing(changes):
            return run_and_store(self.hf, {**tensors, **no_cache(self.hf)}, changes)

    @contextmanager
    def _answering(self, gradients: bool, fused: bool) -> Iterator[None]:
        """A pass whose output is read. Not in inference mode: what is stored may meet gradients later."""
        streamed = recording_scores(lambda _terms: None, self.layout.causal) if fused else nullcontext()
        with self.evaluation.for_a_pass(), torch.set_grad_enabled(gradients), streamed:
            yield

    def scores(self, sides: Sequence[Sides], receive: ReceiveScores, sets: Mapping[tuple[str, int], KeySets] | None = None) -> None:
        """One forward pass in which no map is formed. sets: (stack, layer) → sets of keys; the numbers of those layers come along."""
        slots = iter(self.layout.calls)
        marked_receive = _with_marked_errors(receive)
        lengths = {stack: _lengths(sides, stack) for stack in self.layout.stacks}

        def receive_terms(terms: ScoreTerms) -> None:
            slot = next(slots, None)
            if slot is None:
                return
            n_queries, n_keys = lengths[slot.stack]
            marked_receive(
                LayerScores(
                    stack=slot.stack,
                    layer=slot.layer,
                    queries=terms.queries,
                    keys=terms.keys,
                    mask=terms.mask,
                    bias=terms.bias,
                    scale=terms.scale,
                    causal=terms.causal,
                    n_queries=n_queries,
                    n_keys=n_keys,
                    numbers=terms.numbers,
                )
            )

        inputs = self.inputs(sides)
        sets_of_calls = [sets.get((slot.stack, slot.layer)) if slot is not None else None for slot in self.layout.calls] if sets else None
        with (
            self._our_errors(inputs),
            self.evaluation.for_a_pass(),
            torch.inference_mode(),
            recording_scores(receive_terms, self.layout.causal, sets_of_calls),
        ):
            self.body(**inputs, **lean_pass(self.body))


Lengths = tuple[tuple[int, ...], tuple[int, ...]]


def _lengths(sides: Sequence[Sides], stack: str) -> Lengths:
    """How many queries and keys each text has in a stack."""
    texts = [side.of(stack) for side in sides]
    return tuple([len(query) for query, _ in texts]), tuple([len(key) for _, key in texts])


def _layer(slot: Slot, weights: torch.Tensor, lengths: Lengths | None, call: Call | None) -> LayerAttention:
    """The record of one layer. Without lengths: tensors of one input, without padding."""
    n_queries, n_keys = lengths or ((weights.shape[2],), (weights.shape[3],))
    if call is None:
        return LayerAttention(slot.stack, slot.layer, weights, n_queries=n_queries, n_keys=n_keys)
    return LayerAttention(
        stack=slot.stack,
        layer=slot.layer,
        weights=weights,
        queries=call.queries,
        keys=call.keys,
        values=call.values,
        mask=call.mask,
        bias=call.bias,
        scale=call.scale,
        n_queries=n_queries,
        n_keys=n_keys,
        first=call.first,
        in_blocks=call.in_blocks,
    )
