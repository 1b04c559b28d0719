"""The quantities that `attribute` computes: one record each, with its name, its sign and the function that computes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch

from eyeline.analyses.causes.answer import AnsweredText
from eyeline.analyses.causes.quantities.blocks import Block, Pass, record_blocks
from eyeline.analyses.causes.quantities.decomposition import decomposed_layers, to_logit
from eyeline.analyses.causes.quantities.gradients import integrated_gradients, weight_gradients
from eyeline.analyses.causes.quantities.head_chain import find_chain, onto_answer
from eyeline.analyses.causes.quantities.value_zeroing import zeroed_distances
from eyeline.errors import ModelError
from eyeline.measures.causes.contributions import alti_contributions, norms_by_head
from eyeline.measures.causes.flow import attention_flow
from eyeline.measures.causes.rollout import relevance, rollout, rows_to_one, with_residual
from eyeline.models.model import Model
from eyeline.words.percent import percent


@dataclass(frozen=True)
class Subject:
    """The text that a method explains. `question`: the text with its answer, for models that answer and for methods that need an answer."""

    model: Model
    inputs: dict[str, torch.Tensor]
    position: int
    question: AnsweredText | None

    @property
    def answered(self) -> AnsweredText:
        if self.question is None:
            raise ModelError(f"{self.model.name} has no answer.", "This method needs a language model or a classifier.")
        return self.question

    @cached_property
    def recorded(self) -> Pass:
        hf = self.model.hf if self.question is None else self.question.hf
        return record_blocks(hf, self.model.layout, self.inputs, self.model.name)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.recorded.blocks

    @cached_property
    def weights(self) -> np.ndarray:
        """[layer, head, query, key]"""
        return _stacked([block.weights for block in self.blocks])

    @cached_property
    def mean_weights(self) -> np.ndarray:
        """[layer, query, key]"""
        return np.asarray(self.weights.mean(axis=1))


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
    notices: tuple[str, ...] = ()
    name: str = ""


@dataclass(frozen=True)
class Method:
    """name: for titles, in English; signed: whether numbers below zero mean something; needs_answer: whether it is about an answer."""

    name: str
    compute: Callable[[Subject], Outcome] = field(repr=False)
    signed: bool = False
    needs_answer: bool = False


def _stacked(tensors: list[torch.Tensor]) -> np.ndarray:
    array: np.ndarray = torch.stack(tensors).float().cpu().numpy()
    return array


def _one_head(maps: np.ndarray) -> Outcome:
    """[layer, query, key] → an outcome with a single head"""
    return Outcome(maps[:, None].astype(np.float32))


def _attention(subject: Subject) -> Outcome:
    return Outcome(subject.weights)


def _norms(subject: Subject) -> Outcome:
    return Outcome(_stacked([norms_by_head(block.weights, block.written) for block in subject.blocks]))


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
    norms = block.norms
    parts = norms.second.of_parts(block.block_parts) if norms.form == "post" else block.block_parts
    lengths: torch.Tensor = torch.linalg.vector_norm(parts, dim=-1)
    return lengths


def _globenc(subject: Subject) -> Outcome:
    return _one_head(rollout(rows_to_one(_stacked([globenc_maps(block) for block in subject.blocks]))))


def _alti(subject: Subject) -> Outcome:
    return _one_head(rollout(_stacked([alti_contributions(block.block_parts, block.block_output) for block in subject.blocks])))


def _integrated(subject: Subject) -> Outcome:
    result = integrated_gradients(subject.answered)
    off = percent(result.gap)
    notice = f"The integrated gradients are not complete: after {result.steps} steps their sum is {off} off the change of the logit."
    return _token_scores(subject, result.scores, () if result.complete else (notice,))


def _token_scores(subject: Subject, scores: np.ndarray, notices: tuple[str, ...] = ()) -> Outcome:
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
    if any(block.norms.form != "pre" for block in subject.blocks):
        raise ModelError(
            f"The layers of {subject.model.name} put a norm on the residual stream, so no head writes to the logits directly.",
            "Direct logit attribution is for pre-norm models (GPT-2, Llama …). Use decompx, integrated-gradients or gradient.",
        )
    row = answer.row(subject.recorded.output.logits)[0]
    links = find_chain(subject.blocks[-1].layer.left, subject.recorded.behind, row, answer.position, subject.model.name)
    if any(link.kind == "activation" for link in links):
        raise ModelError(f"The head of {subject.model.name} is not linear, so no attention head writes to the logits directly.")
    maps = []
    for block in subject.blocks:
        heads, n, hidden = block.written.shape
        parts = block.weights[:, answer.position, :, None] * block.written  # [head, key, hidden]
        whole = parts.new_zeros(heads, n, n)
        whole[:, answer.position] = onto_answer(links, parts.reshape(1, heads * n, hidden), answer.index).reshape(heads, n)
        maps.append(whole)
    stacked = _stacked(maps)
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
    "integrated-gradients": Method("Integrated gradients", _integrated, signed=True, needs_answer=True),
    "globenc": Method("GlobEnc", _globenc),
    "alti": Method("ALTI", _alti),
    "decompx": Method("DecompX", _decompx, signed=True),
    "logits": Method("Direct logit attribution", _direct_logits, signed=True, needs_answer=True),
}
