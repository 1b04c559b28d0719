"""The quantities that `attribute` computes: one record each, with its name, its sign and the function that computes it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from eyeline.errors import Advice, ModelError
from eyeline.look.answer import Prediction
from eyeline.measure.causes.blocks import Block, Pass, alti_contributions, cosine_distances, record_blocks, unwatched
from eyeline.measure.causes.decomposition import decomposed_layers, find_chain, onto_answer, to_logit
from eyeline.measure.causes.gradients import integrated_gradients, weight_gradients
from eyeline.messages import Message
from eyeline.models.answer import Answerer
from eyeline.models.evaluation import evaluating
from eyeline.models.inputs import Example
from eyeline.models.model import Model
from eyeline.models.objective import AnsweredText
from eyeline.models.single_precision import HALVES
from eyeline.words import percent


@dataclass(frozen=True)
class Subject:
    """The text that a method explains. One pass is made for what a method asks for: attention alone, or every block.

    question   the text with its answer, for models that answer and for methods that need an answer
    steps      at how many points gradients are taken, for methods along a line; None: as many as are needed
    """

    model: Model
    example: Example
    inputs: dict[str, torch.Tensor]
    position: int
    question: AnsweredText | None
    steps: int | None = None

    @property
    def answered(self) -> AnsweredText:
        if self.question is None:
            raise ModelError(f"{self.model.name} has no answer.", "This method needs a language model or a classifier.")
        return self.question

    @cached_property
    def recorded(self) -> Pass:
        """Every block. Without a question, of the model's body alone: the head is not run."""
        hf = self.model._passes.body if self.question is None else self.question.hf
        return record_blocks(hf, self.model.layout, self.inputs, self.model.name)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.recorded.blocks

    @cached_property
    def attended(self) -> tuple[tuple[torch.Tensor, ...], Any]:
        """[head, query, key] of each layer, also of a model that gives its weights alone; and the output of the model's body"""
        weights: list[torch.Tensor] = []
        output = self.model._passes.layers(None, lambda layer: weights.append(layer.weights[0].float().cpu()), inputs=self.inputs)
        return tuple(weights), output

    @property
    def weights_by_layer(self) -> tuple[torch.Tensor, ...]:
        return self.attended[0]

    @property
    def prediction(self) -> Prediction | None:
        """What the model answers, read from a pass that was made, where one was made without the head."""
        if self.question is None and "attended" in self.__dict__:
            output = self.attended[1]
        elif self.question is None and "recorded" in self.__dict__ and self.model._hf.dtype not in HALVES:  # else it was raised
            output = self.recorded.output
        else:
            return self.model._answerer.answer_to(self.example)
        return Answerer(self.model._passes).answers(output, self.inputs, [self.example])[0]

    @cached_property
    def weights(self) -> np.ndarray:
        """[layer, head, query, key]"""
        if len({weights.shape for weights in self.weights_by_layer}) > 1:
            raise ModelError(
                f"The layers of {self.model.name} have different numbers of heads.", "Use rollout or flow, which average them."
            )
        return _stacked(self.weights_by_layer)

    @cached_property
    def mean_weights(self) -> np.ndarray:
        """[layer, query, key]"""
        return _stacked([weights.mean(0) for weights in self.weights_by_layer])


@dataclass(frozen=True)
class Outcome:
    """The result of a method.

    maps     [layer, head, query, key]; one head or one layer where the method does not separate them
    scores   [token], where the method itself gives one number for each token; otherwise they are the answer's row of the last map
    notices  what a reader should know
    name     for titles, where this outcome is another quantity than the method's usual one
    """

    maps: np.ndarray
    scores: np.ndarray | None = None
    notices: tuple[Message, ...] = ()
    name: str = ""


@dataclass(frozen=True)
class Method:
    """What `attribute` computes.

    name          for titles, in English
    signed        whether numbers below zero mean something
    needs_answer  whether it is about an answer
    may_answer    whether it is about an answer where the model has one
    in_steps      whether it takes gradients at points of a line, so that their number can be chosen
    """

    name: str
    compute: Callable[[Subject], Outcome] = field(repr=False)
    signed: bool = False
    needs_answer: bool = False
    may_answer: bool = False
    in_steps: bool = False

    def of(self, subject: Subject) -> Outcome:
        """The quantity of one text. In evaluation mode from begin to end: some methods run single layers again."""
        with evaluating(subject.model._hf):
            return self.compute(subject)


def _stacked(tensors: Sequence[torch.Tensor]) -> np.ndarray:
    array: np.ndarray = torch.stack([tensor.float().cpu() for tensor in tensors]).numpy()  # layers may lie on several devices
    return array


def _one_head(maps: np.ndarray) -> Outcome:
    """[layer, query, key] → an outcome with a single head"""
    return Outcome(maps[:, None].astype(np.float32))


def _attention(subject: Subject) -> Outcome:
    return Outcome(subject.weights)


def _norms(subject: Subject) -> Outcome:
    return Outcome(_stacked([block.norm_maps for block in subject.blocks]))


def _summed_norms(subject: Subject) -> Outcome:
    return _one_head(_stacked([block.parts.norm(dim=-1) for block in subject.blocks]))


def _residual_norms(subject: Subject) -> Outcome:
    return _one_head(_stacked([block.block_parts.norm(dim=-1) for block in subject.blocks]))


def _rollout(subject: Subject) -> Outcome:
    return _one_head(rollout(with_residual(subject.mean_weights)))


def _flow(subject: Subject) -> Outcome:
    return _one_head(attention_flow(with_residual(subject.mean_weights).astype(np.float64))[None])


def _value_zeroing(subject: Subject) -> Outcome:
    return _one_head(_stacked([zeroed_distances(block) for block in subject.blocks]))


def _value_zeroing_rollout(subject: Subject) -> Outcome:
    return _one_head(rollout(_value_zeroing(subject).maps[:, 0]))


def _gradient(subject: Subject) -> Outcome:
    both = weight_gradients(subject.answered)
    return Outcome(both.weights * both.gradients)


def _relevance(subject: Subject) -> Outcome:
    both = weight_gradients(subject.answered)
    return _one_head(relevance(both.weights, both.gradients))


def globenc_maps(block: Block) -> torch.Tensor:
    """‖contribution of j to the layer's output i‖, the feed-forward part left out except for the norm after it: [query, key]"""
    norms = block.residual
    parts = norms.second.of_parts(block.block_parts) if norms.form == "post" and norms.second is not None else block.block_parts
    lengths: torch.Tensor = torch.linalg.vector_norm(parts, dim=-1)
    return lengths


def _globenc(subject: Subject) -> Outcome:
    return _one_head(rollout(rows_to_one(_stacked([globenc_maps(block) for block in subject.blocks]))))


def _alti(subject: Subject) -> Outcome:
    return _one_head(rollout(_stacked([alti_contributions(block.block_parts, block.block_output) for block in subject.blocks])))


class IncompleteError(ModelError):
    """Integrated gradients of a text that do not add up to the change of the logit."""


def _integrated(subject: Subject) -> Outcome:
    result, name = integrated_gradients(subject.answered, subject.steps), subject.model.name
    off = percent(result.gap)
    if result.complete:
        return _token_scores(subject, result.scores)
    if subject.steps is None and subject.model._hf.dtype not in HALVES:  # there rounding bends the line, whatever the number of steps
        raise IncompleteError(
            Message("refusal.integrated_gap", model=name, steps=str(result.steps), off=off),
            Message("refusal.integrated_jumps"),
            Message("refusal.integrated_others"),
            Advice("steps=… gives the numbers as they are.", "--steps gives the numbers as they are."),
        )
    notice = Message("notice.incomplete_gradients", steps=str(result.steps), off=off)
    return _token_scores(subject, result.scores, (notice,))


def _token_scores(subject: Subject, scores: np.ndarray, notices: tuple[Message, ...] = ()) -> Outcome:
    """One number for each token, as the row of the token that answers."""
    maps = np.zeros((1, 1, len(scores), len(scores)), dtype=np.float32)
    maps[0, 0, subject.position] = scores
    return Outcome(maps, scores, notices)


def _decompx(subject: Subject) -> Outcome:
    """The parts of the answer's logit where there is an answer; otherwise the lengths of the parts of each layer's output."""
    layers = list(decomposed_layers(subject.blocks))
    if subject.question is None:
        lengths = _one_head(_stacked([parts.norm(dim=-1) for parts in layers]))
        return replace(lengths, name="DecompX, lengths of the parts (no answer, so no sign)")
    question = subject.question
    answer = question.answer
    row = answer.row(subject.recorded.output.logits)[0]
    last = subject.blocks[-1].layer.left
    links = find_chain(last, subject.recorded.behind, row, answer.position, subject.model.name)
    return _token_scores(subject, to_logit(layers[-1], answer.position, links, answer.index).float().cpu().numpy())


def _direct_logits(subject: Subject) -> Outcome:
    """What each head writes of each key at the answer's position, through the final norm onto the answer: [layer, head, query, key]"""
    question = subject.answered
    answer = question.answer
    if any(block.residual.form != "pre" for block in subject.blocks):
        raise ModelError(
            f"The layers of {subject.model.name} put a norm on the residual stream, so no head writes to the logits directly.",
            "Direct logit attribution is for pre-norm models (GPT-2, Llama …). Use decompx, integrated-gradients or gradient.",
        )
    row = answer.row(subject.recorded.output.logits)[0]
    links = find_chain(subject.blocks[-1].layer.left, subject.recorded.behind, row, answer.position, subject.model.name)
    if any(link.kind == "activation" for link in links):
        raise ModelError(f"The head of {subject.model.name} is not linear, so no attention head writes to the logits directly.")
    maps = []
    later = 1.0  # what the stream is multiplied with between a layer and the last one
    for block in reversed(subject.blocks):
        later *= block.residual.scale
        parts = block.weights[:, answer.position, :, None] * block.written_at(answer.position)  # [head, key, hidden]
        heads, n, hidden = parts.shape
        added = later * block.residual.added(parts.reshape(1, heads * n, hidden), answer.position)
        whole = parts.new_zeros(heads, n, n)
        whole[:, answer.position] = onto_answer(links, added, answer.index).reshape(heads, n)
        maps.append(whole)
    stacked = _stacked(maps[::-1])
    return Outcome(stacked, stacked[:, :, answer.position].sum(axis=(0, 1)))


METHODS: dict[str, Method] = {
    "attention": Method("Attention", _attention),
    "norms": Method("Norm-weighted attention", _norms),
    "norms-summed": Method("Norm-weighted attention, heads summed", _summed_norms),
    "n-resout": Method("Contribution with residual and norm (N-ResOut)", _residual_norms),
    "rollout": Method("Attention rollout", _rollout),
    "flow": Method("Attention flow", _flow),
    "value-zeroing": Method("Value zeroing", _value_zeroing),
    "value-zeroing-rollout": Method("Value zeroing, rolled out", _value_zeroing_rollout),
    "gradient": Method("Gradient × attention", _gradient, signed=True, needs_answer=True),
    "relevance": Method("Gradient × attention, accumulated", _relevance, needs_answer=True),
    "integrated-gradients": Method("Integrated gradients", _integrated, signed=True, needs_answer=True, in_steps=True),
    "globenc": Method("GlobEnc", _globenc),
    "alti": Method("ALTI", _alti),
    "decompx": Method("DecompX", _decompx, signed=True, may_answer=True),
    "logits": Method("Direct logit attribution", _direct_logits, signed=True, needs_answer=True),
}


# ---- How much of each input token a layer's output holds: products of maps


def with_residual(weights: np.ndarray) -> np.ndarray:
    """Attention with the residual connection beside it, half and half: Ā = ½A + ½I.

    weights: [..., query, key], square → the same shape; rows that summed to 1 still do.

    >>> with_residual(np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    return np.asarray(0.5 * weights + 0.5 * np.eye(weights.shape[-1], dtype=weights.dtype))


def rollout(maps: np.ndarray) -> np.ndarray:
    """The product of the maps up to each layer: R[l] = M[l] · R[l − 1], and R[−1] = I.

    maps: [layer, query, key], with the residual in them where it counts → [layer, query, input token].
    Source: Abnar & Zuidema 2020, section 3.

    >>> rollout(np.array([[[0.5, 0.5], [0.0, 1.0]], [[0.5, 0.5], [0.0, 1.0]]]))[1].tolist()
    [[0.25, 0.75], [0.0, 1.0]]
    """
    products = [maps[0]]
    for layer_map in maps[1:]:
        products.append(layer_map @ products[-1])
    return np.stack(products)


def relevance(weights: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    """Gradient x attention, accumulated over the layers.

        Ā[l] = mean over heads of (∂L/∂A ⊙ A)⁺        R ← R + Ā · R,  beginning with I

    weights, gradients: [layer, head, query, key] → [layer, query, input token]: R after each layer.
    Source: Chefer, Gur & Wolf 2021 (Generic attention-model explainability), equations 5 and 6.

    >>> relevance(np.full((1, 1, 2, 2), 0.5), np.array([[[[2.0, -2.0], [0.0, 2.0]]]]))[0].tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    current = np.eye(weights.shape[-1], dtype=weights.dtype)  # [query, input token]
    after_layer = []
    for layer_weights, layer_gradients in zip(weights, gradients, strict=True):
        positive = np.maximum(layer_weights * layer_gradients, 0).mean(axis=0)  # [query, key]
        current = current + positive @ current
        after_layer.append(current)
    return np.stack(after_layer)


def rows_to_one(maps: np.ndarray) -> np.ndarray:
    """Rows divided by their sums; a row of zeros stays zero.

    >>> rows_to_one(np.array([[1.0, 3.0], [0.0, 0.0]])).tolist()
    [[0.25, 0.75], [0.0, 0.0]]
    """
    sums = maps.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(maps, sums, out=np.zeros_like(maps), where=sums > 0))


# ---- Attention flow


#: Capacities are whole numbers in scipy: a weight of 1 is this many units.
UNITS = 1_000_000


def attention_flow(maps: np.ndarray, queries: Sequence[int] | None = None) -> np.ndarray:
    """The maximum flow from each query of the top layer down to each input token, when weights are capacities.

    A node for each token before the first layer and after each layer; the edge from a query after layer l to a key before it has the
    capacity Ā[l, query, key].

    maps: [layer, query, key], with the residual in them → [query, input token]; queries: the rows to compute (all), others are 0.
    Source: Abnar & Zuidema 2020, section 3. The cost is a maximum-flow problem for each pair of tokens.

    >>> attention_flow(np.array([[[0.5, 0.5], [0.0, 1.0]]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    n_layers, n, _ = maps.shape
    capacities = np.rint(maps * UNITS).astype(np.int32)
    layer, query, key = np.nonzero(capacities)
    rows, columns = (((layer + 1) * n + query).astype(np.int32), (layer * n + key).astype(np.int32))  # scipy 1.13 takes no others
    graph = csr_array((capacities[layer, query, key], (rows, columns)), shape=((n_layers + 1) * n,) * 2)
    flows = np.zeros((n, n), dtype=np.float64)
    for source in range(n) if queries is None else queries:
        for token in range(n):
            flows[source, token] = maximum_flow(graph, n_layers * n + source, token).flow_value / UNITS
    return flows


# ---- Value zeroing


#: Copies of a layer that are run together: this many tokens at most.
TOGETHER = 4096


def zeroed_distances(block: Block) -> torch.Tensor:
    """[query, key]: cosine distances between the layer's output and its output with the key's value zero; rows sum to 1.

    The layer itself is run on what entered it; only what its heads write is replaced. Source: Mohebbi et al. 2023.
    """
    n = len(block.layer.entered)
    step = max(1, TOGETHER // n)
    changed = [_run_without(block, list(range(first, min(first + step, n)))) for first in range(0, n, step)]
    return cosine_distances(block.layer.left, torch.cat(changed))


def _run_without(block: Block, keys: list[int]) -> torch.Tensor:
    """The layer's output without the values of these keys, one copy for each: [copy, query, hidden]"""
    heads, n, dim = block.values.shape
    copies = block.values[None].repeat(len(keys), 1, 1, 1)  # [copy, head, key, dim]
    copies[torch.arange(len(keys)), :, keys] = 0
    outputs = torch.einsum("hqk,chkd->cqhd", block.weights.to(copies.dtype), copies)
    written = (outputs if block.gates is None else outputs * block.gates.transpose(0, 1)).reshape(len(keys), n, heads * dim)
    args = tuple(_repeated(value, block.layer.entered, len(keys)) for value in block.layer.args)
    options = {name: _repeated(value, block.layer.entered, len(keys)) for name, value in block.layer.options.items()}
    with _replaced_input(block, written), unwatched(), torch.no_grad():
        output = block.layer.module(*args, **options)
    result: torch.Tensor = output[0] if isinstance(output, tuple) else output
    return result


@contextmanager
def _replaced_input(block: Block, written: torch.Tensor) -> Iterator[None]:
    """Within this block and thread, the output projection takes `written` instead of what the heads wrote."""
    thread = threading.get_ident()

    def hook(_module: Any, args: tuple[Any, ...]) -> Any:
        if threading.get_ident() != thread:
            return None
        return (written.reshape(args[0].shape), *args[1:])

    handle = block.output.module.register_forward_pre_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def _repeated(value: Any, entered: torch.Tensor, copies: int) -> Any:
    """What enters a layer, once for each copy; what is shared (masks, positions) stays: it has a batch of one, which torch broadcasts."""
    if isinstance(value, torch.Tensor) and value.ndim == 3 and value.shape[1:] == entered.shape:
        return value.expand(copies, -1, -1)
    return value
