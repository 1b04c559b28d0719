"""Quantities from gradients of the answer's logit: of the attention weights, and of the embeddings along a path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from eyeline.errors import ModelError
from eyeline.messages import Message
from eyeline.models.attention import AttentionCall, following_gradients, recording
from eyeline.models.evaluation import evaluating, no_cache
from eyeline.models.layout import CallsOfPass
from eyeline.models.objective import AnsweredText, check_gradients, check_takes_vectors
from eyeline.models.passes import model_errors

#: Parts of the line at first, how many of them are halved together, and at most how many points gradients are taken at.
PARTS, HALVED, MOST_STEPS = 16, 8, 257
#: Points of the line that go through the model together: this many tokens at most.
TOGETHER = 512
#: How far the sum of integrated gradients may lie from the change of the logit, as a part of that change or of the largest score.
COMPLETE_WITHIN = 0.02


@dataclass(frozen=True)
class WeightGradients:
    """weights, gradients: [layer, head, query, key], the second of the answer's logit."""

    weights: np.ndarray
    gradients: np.ndarray


def weight_gradients(question: AnsweredText) -> WeightGradients:
    """The attention weights of every layer, and the gradient of the answer's logit for them."""
    model = question.model
    if not model.layout.recorded:
        raise ModelError(Message("refusal.no_weight_gradients", model=model.name, why=model.layout.why_weights_only))
    check_gradients(question.hf, model.name)
    calls: list[AttentionCall] = []
    counted = CallsOfPass(model.layout)

    def keep(call: AttentionCall) -> None:
        if counted.next_slot() is not None:
            calls.append(call)

    with model_errors(question.hf, model.name, question.inputs), evaluating(question.hf), following_gradients(question.hf), recording(keep):
        logits = question.hf(**question.inputs, **no_cache(question.hf)).logits
        counted.check(model.name, question.inputs)
        weights = [call.weights for call in calls]
        gradients = torch.autograd.grad(question.answer.logit(logits).sum(), weights)
    stacked = torch.stack([gradient[0].cpu() for gradient in gradients])  # layers may lie on several devices
    _check_finite(stacked, question)
    return WeightGradients(_numpy(torch.stack([tensor[0].detach().cpu() for tensor in weights])), _numpy(stacked))


@dataclass(frozen=True)
class Integrated:
    """Integrated gradients of each token, at how many points gradients were taken, and how far their sum lies from the change of the logit.

    gap   |sum − change|, as a part of the change, or of the largest score where that is larger
    """

    scores: np.ndarray  # [token]
    steps: int
    gap: float

    @property
    def complete(self) -> bool:
        return self.gap <= COMPLETE_WITHIN

    @classmethod
    def of(cls, scores: np.ndarray, steps: int, change: float) -> Integrated:
        largest = max(abs(change), float(np.abs(scores).max(initial=0)), 1e-6)
        return cls(scores.astype(np.float32), steps, abs(float(scores.sum()) - change) / largest)


def integrated_gradients(question: AnsweredText, steps: int | None = None) -> Integrated:
    """Gradients of the answer's logit along the straight line from a text without words to this text.

        IG[t] = (x_t − b_t) · ∫₀¹ ∂L/∂x_t (b + α (x − b)) dα          Σ_t IG[t] = L(x) − L(b)

    x are the token embeddings; b are those of the mask token, or their mean over the vocabulary where there is none. Special tokens, the
    mask that is answered and the first token of a decoder stay as they are. Source: Sundararajan et al. 2017.

    steps   this many points, by Gauss and Legendre; otherwise the line is halved where the gradients do not add up to the change of the
            logit, and nothing is computed twice
    """
    line = Line(question)
    if steps is None:
        return _halved(line)
    points, weights = np.polynomial.legendre.leggauss(steps)
    _, slopes = line.at((points + 1) / 2)
    first, last = line.logits([0.0, 1.0])
    return Integrated.of(weights / 2 @ slopes, steps, last - first)


def _halved(line: Line) -> Integrated:
    """Simpson's rule on parts of the line. The logit at its ends says how wrong each part is; the most wrong ones are halved."""
    known: dict[float, tuple[float, np.ndarray]] = {}

    def look(points: list[float]) -> None:
        logits, slopes = line.at(points)
        known.update(zip(points, zip(logits.tolist(), slopes, strict=True), strict=True))

    look([i / (2 * PARTS) for i in range(2 * PARTS + 1)])
    parts = [(i / PARTS, (i + 1) / PARTS) for i in range(PARTS)]
    while True:
        scores = np.array([_simpson(*part, *(known[point][1] for point in _points(part))) for part in parts])  # [part, token]
        errors = np.abs(scores.sum(1) - [known[end][0] - known[begin][0] for begin, end in parts])
        result = Integrated.of(scores.sum(0), len(known), known[1.0][0] - known[0.0][0])
        scale = max(abs(known[1.0][0] - known[0.0][0]), float(np.abs(result.scores).max(initial=0)), 1e-6)
        if errors.sum() <= COMPLETE_WITHIN * scale or len(known) + 2 * HALVED > MOST_STEPS:
            return result
        worst = set(np.argsort(-errors, kind="stable")[:HALVED].tolist())
        halves = [_points(part) for part in parts]
        parts = [
            new
            for i, (begin, middle, end) in enumerate(halves)
            for new in ([(begin, middle), (middle, end)] if i in worst else [(begin, end)])
        ]
        look([point for part in parts for point in _points(part) if point not in known])


def _points(part: tuple[float, float]) -> tuple[float, float, float]:
    begin, end = part
    return begin, (begin + end) / 2, end


def _simpson(begin: float, end: float, first: np.ndarray, middle: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The integral from three values.

    >>> float(_simpson(0.0, 1.0, *(np.array(x**2) for x in (0.0, 0.5, 1.0))).round(6))
    0.333333
    """
    return np.asarray((end - begin) / 6 * (first + 4 * middle + last))


@dataclass(frozen=True)
class Line:
    """The answer's logit on the straight line from the text without words (0) to the text (1)."""

    question: AnsweredText

    @cached_property
    def ends(self) -> tuple[torch.Tensor, torch.Tensor]:
        check_takes_vectors(self.question.hf, self.question.model.name)
        return path_ends(self.question)

    @torch.enable_grad()
    def at(self, points: Sequence[float] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The logits [point], and how each token's way along the line changes them: (x − b) · ∂L/∂x, [point, token]."""
        vectors, blank = self.ends
        logits, slopes = [], []
        for embeddings in self._embeddings(points):
            embeddings.requires_grad_()
            values = self._logits(embeddings, gradients=True)
            (gradient,) = torch.autograd.grad(values.sum(), embeddings)
            slopes.append(((vectors - blank) * gradient).sum(-1))
            logits.append(values.detach())
        both = torch.cat(logits), torch.cat(slopes)
        _check_finite(both[1], self.question)
        return both[0].double().cpu().numpy(), both[1].double().cpu().numpy()

    def logits(self, points: Sequence[float]) -> np.ndarray:
        """[point]"""
        values = torch.cat([self._logits(embeddings, gradients=False) for embeddings in self._embeddings(points)])
        return np.asarray(values.double().cpu().numpy())

    def _embeddings(self, points: Sequence[float] | np.ndarray) -> Iterator[torch.Tensor]:
        """[point, token, hidden], some points at a time"""
        vectors, blank = self.ends
        alphas = torch.tensor(points, dtype=vectors.dtype, device=vectors.device)[:, None, None]
        for some in torch.split(alphas, max(1, TOGETHER // vectors.shape[1])):
            yield blank + some * (vectors - blank)

    def _logits(self, embeddings: torch.Tensor, *, gradients: bool) -> torch.Tensor:
        """[point]; a language model's head runs where the answer is read alone."""
        question, answer, n = self.question, self.question.answer, len(embeddings)
        others = {name: tensor.expand(n, -1) for name, tensor in question.inputs.items() if name != "input_ids"}
        output = question.model._passes.output(
            [question.example] * n, inputs={"inputs_embeds": embeddings, **others}, at=answer.at(n), gradients=gradients
        )
        return answer.row_at(output.logits)[:, answer.index]


def path_ends(question: AnsweredText) -> tuple[torch.Tensor, torch.Tensor]:
    """The embeddings of the text and of the text without words: [1, token, hidden] each."""
    table = question.model._hf.get_input_embeddings()
    with torch.no_grad():
        vectors = table(question.inputs["input_ids"]).detach()
        mask_id = getattr(question.model._tokenizer, "mask_token_id", None)
        blank = table.weight.mean(0) if mask_id is None else table(torch.tensor(mask_id, device=vectors.device))
    text = question.text
    stays = [special or text.ids[i] == mask_id for i, special in enumerate(text.special)]
    # Heads of a decoder that look for nothing look at its first token. Without it, all of them turn elsewhere and back along the line: the
    # logit jumps, and no number of steps adds up to its change.
    stays[0] = stays[0] or "decoder" in question.model.layout.stacks
    kept = torch.tensor([stays], device=vectors.device)
    return vectors, torch.where(kept[..., None], vectors, blank)


def _check_finite(tensor: torch.Tensor, question: AnsweredText) -> None:
    if not bool(torch.isfinite(tensor).all()):
        raise ModelError(
            Message("refusal.gradients", model=question.model.name, answer=repr(question.answer.name)),
            Message("refusal.gradients_precision"),
        )


def _numpy(tensor: torch.Tensor) -> np.ndarray:
    array: np.ndarray = tensor.float().cpu().numpy()
    return array
