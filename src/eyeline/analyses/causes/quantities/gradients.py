"""Quantities from gradients of the answer's logit: of the attention weights, and of the embeddings along a path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from eyeline.analyses.causes.answer import AnsweredText
from eyeline.capture.model_state import EvaluationMode
from eyeline.capture.opening.tiny_pass import no_cache
from eyeline.capture.recorder import Call, recording
from eyeline.errors import ModelError

#: Steps of the path integral: the first number, and the greatest. They are doubled until the sum is complete.
STEPS, MOST_STEPS = 32, 128
#: Points of the path that go through the model together: this many tokens at most.
TOGETHER = 256
#: How far the sum of integrated gradients may lie from the change of the logit, as a part of that change.
COMPLETE_WITHIN = 0.02


@dataclass(frozen=True)
class WeightGradients:
    """weights, gradients: [layer, head, query, key], the second of the answer's logit."""

    weights: np.ndarray
    gradients: np.ndarray


def weight_gradients(question: AnsweredText) -> WeightGradients:
    """The attention weights of every layer, and the gradient of the answer's logit for them."""
    calls: list[Call] = []
    slots = iter(question.model.layout.calls)

    def keep(call: Call) -> None:
        if next(slots, None) is not None:
            calls.append(call)

    with EvaluationMode(question.hf).for_a_pass(), torch.enable_grad(), recording(keep):
        logits = question.hf(**question.inputs, **no_cache(question.hf)).logits
        weights = [call.weights for call in calls]
        if not all(tensor.requires_grad for tensor in weights):
            raise ModelError(f"The weights of {question.model.name} are frozen, so there are no gradients.", "Call requires_grad_() on it.")
        gradients = torch.autograd.grad(question.answer.logit(logits).sum(), weights)
    stacked = torch.stack([gradient[0] for gradient in gradients])
    _check_finite(stacked, question)
    return WeightGradients(_numpy(torch.stack([tensor[0].detach() for tensor in weights])), _numpy(stacked))


@dataclass(frozen=True)
class Integrated:
    """Integrated gradients of each token, the number of steps, and how far their sum lies from the change of the logit (a share)."""

    scores: np.ndarray  # [token]
    steps: int
    gap: float

    @property
    def complete(self) -> bool:
        return self.gap <= COMPLETE_WITHIN


def integrated_gradients(question: AnsweredText, steps: int = STEPS, most: int = MOST_STEPS) -> Integrated:
    """Gradients of the answer's logit along the straight line from a text without words to this text.

        IG[t] = (x_t − b_t) · ∫₀¹ ∂L/∂x_t (b + α (x − b)) dα          Σ_t IG[t] = L(x) − L(b)

    x are the token embeddings; b are those of the mask token, or their mean over the vocabulary where there is none. Special tokens and
    the mask that is answered stay as they are. Gauss–Legendre steps, doubled until the sum is complete. Source: Sundararajan et al. 2017.
    """
    vectors, baseline = path_ends(question)
    with torch.no_grad():
        change = float(logit_sum(question, vectors) - logit_sum(question, baseline))
    while True:
        scores = ((vectors - baseline)[0] * _path_gradient(question, vectors, baseline, steps)).sum(-1)  # [token]
        _check_finite(scores, question)
        gap = abs(float(scores.sum()) - change) / max(abs(change), 1e-6)
        if gap <= COMPLETE_WITHIN or steps * 2 > most:
            return Integrated(_numpy(scores), steps, gap)
        steps *= 2


def _path_gradient(question: AnsweredText, vectors: torch.Tensor, baseline: torch.Tensor, steps: int) -> torch.Tensor:
    """The gradient averaged over the path: [token, hidden]"""
    points, weights = np.polynomial.legendre.leggauss(steps)
    alphas = torch.tensor((points + 1) / 2, dtype=vectors.dtype, device=vectors.device)[:, None, None]
    shares = torch.tensor(weights / 2, dtype=vectors.dtype, device=vectors.device)[:, None, None]
    together = max(1, TOGETHER // vectors.shape[1])
    total = torch.zeros_like(vectors[0])
    for first in range(0, steps, together):
        part = slice(first, first + together)
        embeddings = (baseline + alphas[part] * (vectors - baseline)).detach().requires_grad_()  # [step, token, hidden]
        with torch.enable_grad():
            (gradient,) = torch.autograd.grad(logit_sum(question, embeddings), embeddings)
        total += (shares[part] * gradient).sum(0)
    return total.detach()


def path_ends(question: AnsweredText) -> tuple[torch.Tensor, torch.Tensor]:
    """The embeddings of the text and of the text without words: [1, token, hidden] each."""
    table = question.model.hf.get_input_embeddings()
    with torch.no_grad():
        vectors = table(question.inputs["input_ids"]).detach()
        mask_id = getattr(question.model.tokenizer, "mask_token_id", None)
        blank = table.weight.mean(0) if mask_id is None else table(torch.tensor(mask_id, device=vectors.device))
    text = question.text
    kept = torch.tensor([[special or text.ids[i] == mask_id for i, special in enumerate(text.special)]], device=vectors.device)
    return vectors, torch.where(kept[..., None], vectors, blank)


def logit_sum(question: AnsweredText, vectors: torch.Tensor) -> torch.Tensor:
    """The answer's logit for embeddings [text, token, hidden], summed over the texts: a single number."""
    others = {name: tensor for name, tensor in question.inputs.items() if name != "input_ids"}
    inputs = {name: tensor.expand(len(vectors), -1) for name, tensor in others.items()}
    with EvaluationMode(question.hf).for_a_pass():
        logits = question.hf(inputs_embeds=vectors, **inputs, **no_cache(question.hf)).logits
    return question.answer.logit(logits).sum()


def _check_finite(tensor: torch.Tensor, question: AnsweredText) -> None:
    if not bool(torch.isfinite(tensor).all()):
        raise ModelError(
            f"The gradients of {question.model.name} are not finite (nan or infinite) for the answer {question.answer.name!r}.",
            "Its precision may be too small: load it in float32.",
        )


def _numpy(tensor: torch.Tensor) -> np.ndarray:
    array: np.ndarray = tensor.float().cpu().numpy()
    return array
