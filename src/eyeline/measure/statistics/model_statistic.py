"""Statistics that run the model themselves: they need its loss or its answers, and not only rows of attention."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch

from eyeline.measure.statistics.rows import Rows
from eyeline.measure.statistics.statistic import Batch, Statistic
from eyeline.models.inputs import Example
from eyeline.models.model import Model
from eyeline.models.objective import Objective, objective_of

#: The results of every layer are held: batches are smaller than those of other statistics.
HELD_TOKENS = 1024


class ModelStatistic(Statistic):
    """The base class of statistics that run the model.

    rate      the share of tokens that a masked language model has to predict
    longest   texts of more tokens are left out, and counted
    """

    from_rows = False

    def __init__(self, rate: float, longest: int) -> None:
        super().__init__()
        self.rate, self.longest = rate, longest
        self._model: Model | None = None
        self._objective: Objective | None = None
        self._seed = 0

    def fresh(self) -> Self:
        fresh = super().fresh()
        fresh._model, fresh._objective, fresh._seed = self._model, self._objective, self._seed
        return fresh

    def prepare(self, model: Model, seed: int) -> None:
        self._model, self._objective, self._seed = model, self.objective(model), seed

    def objective(self, model: Model) -> Objective:
        """What the model predicts; an error where it has no head for that."""
        return objective_of(model)

    def batch_tokens(self, model: Model) -> int | None:
        return HELD_TOKENS

    def update(self, rows: Rows, batch: Batch) -> None:
        """Rows are not used: `finish` runs the model on the batch."""

    def finish(self, batch: Batch) -> None:
        if self._model is None or self._objective is None:
            raise RuntimeError(f"{type(self).__name__} runs within el.analyse, which gives it the model.")
        short = batch.up_to(self.longest)
        self.leave_out(len(batch.examples) - len(short.examples))
        if short.examples:
            self.measure_batch(self._model, self._objective, short)

    @abstractmethod
    def measure_batch(self, model: Model, objective: Objective, batch: Batch) -> None:
        """Run the model on a batch of texts that are short enough, and add what it gives."""


# ---- What a model has to predict in a batch of texts, and how well it does


@dataclass(frozen=True)
class TokenTask:
    """The predictions of one batch.

    inputs     the tensors of the batch, masked tokens included
    labels     the right tokens: [text, token], or [text, k] at `positions` alone; -100 where nothing is predicted. Of a classifier, its own
               answers: [text, 1]
    positions  [text, k]: where the head has to run; None: everywhere
    """

    inputs: dict[str, torch.Tensor]
    labels: torch.Tensor
    positions: torch.Tensor | None

    def rows(self, logits: torch.Tensor) -> torch.Tensor:
        """Logits as [text, token, choice]; a classifier's [text, label] are one row a text."""
        return logits[:, None] if logits.ndim == 2 else logits

    def of_variants(self, logits: torch.Tensor) -> torch.Tensor:
        """The same of copies of the batch that went through the model together: [copy, text, token, choice]."""
        rows = self.rows(logits)
        return rows.view(-1, len(self.labels), *rows.shape[1:])

    def at_positions(self, logits: torch.Tensor) -> torch.Tensor:
        """Logits of every token [text, token, vocabulary] at the positions alone."""
        logits = self.rows(logits)
        return logits if self.positions is None else logits.gather(1, self.positions[..., None].expand(-1, -1, logits.shape[-1]))


def token_task(objective: Objective, inputs: dict[str, torch.Tensor], examples: Sequence[Example], seed: int, rate: float) -> TokenTask:
    """The predictions of a batch; `inputs` get their masks."""
    labels = token_labels(objective, examples, inputs, seed, rate)
    positions, at_positions = predicted_positions(labels)
    return TokenTask(inputs, at_positions, positions)


def token_labels(
    objective: Objective, examples: Sequence[Example], inputs: dict[str, torch.Tensor], seed: int, rate: float
) -> torch.Tensor:
    """The tokens to predict [text, token], -100 where nothing is predicted.

    Masked language models: a share `rate` of the tokens, at least one, is replaced by the mask token in `inputs`. Masks are drawn by seed
    and text alone: a part of a corpus has the same masks as the whole. Decoders: every next token is predicted.
    """
    labels = torch.full_like(inputs["input_ids"], -100)
    for index, example in enumerate(examples):
        text = example.source
        if objective.kind == "next":
            labels[index, : len(text) - 1] = inputs["input_ids"][index, 1 : len(text)]
            continue
        candidates = [i for i, special in enumerate(text.special) if not special]
        draw = random.Random(f"{seed} {text.ids}")  # noqa: S311 - seeded, not a secret
        chosen = draw.sample(candidates, max(1, round(rate * len(candidates))))
        labels[index, chosen] = inputs["input_ids"][index, chosen]
        inputs["input_ids"][index, chosen] = objective.mask_id  # type: ignore[assignment]
    return labels


def predicted_positions(labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The positions at which something is predicted and their labels, both [text, k].

    A text with fewer predictions has its first one repeated, with the label -100.
    """
    counts = (labels >= 0).sum(-1)
    order = torch.argsort((labels < 0).to(torch.int8), dim=-1, stable=True)[:, : max(1, int(counts.max()))]  # predicted ones first
    inside = torch.arange(order.shape[1], device=labels.device)[None] < counts[:, None]
    positions = torch.where(inside, order, order[:, :1])
    return positions, torch.where(inside, labels.gather(1, positions), -100)


def log_probabilities(logits: torch.Tensor, *tokens: torch.Tensor) -> list[torch.Tensor]:
    """The logarithms of the probabilities of these tokens [..., token], in double precision, of logits [..., token, vocabulary].

    The vocabulary is added up in double precision: in single precision the sum over 262,144 tokens is exact only to 1e-5.
    """
    logits = logits.float()
    highest = logits.detach().amax(-1, keepdim=True)
    total = highest[..., 0].double() + (logits - highest).exp().sum(-1, dtype=torch.float64).log()  # [..., token]
    return [logits.gather(-1, of[..., None])[..., 0].double() - total for of in tokens]


def mean_of_predictions(values: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The mean over the positions at which something is predicted: values [..., text, token], labels [text, token] → [..., text]"""
    inside = labels >= 0
    return values.masked_fill(~inside, 0).sum(-1) / inside.sum(-1).clamp_min(1)


def text_losses(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The mean cross-entropy of each text's predictions, in nats: [text]. logits [text, token, vocabulary], labels [text, token]."""
    [logs] = log_probabilities(logits, labels.clamp_min(0))
    return mean_of_predictions(-logs, labels)


@dataclass(frozen=True)
class UnchangedAnswers:
    """What the model answers while nothing is changed: its loss [text], and the most likely token of each prediction [text, token]."""

    labels: torch.Tensor
    losses: torch.Tensor
    tokens: torch.Tensor
    shares: torch.Tensor  # [text]: the mean probability of these tokens

    @classmethod
    def of(cls, logits: torch.Tensor, labels: torch.Tensor) -> UnchangedAnswers:
        tokens = logits.argmax(-1)
        losses, shares = _losses_and_shares(logits, labels, tokens)
        return cls(labels, losses, tokens, shares)

    def changes(self, logits: torch.Tensor) -> np.ndarray:
        """How much the loss rises, in nats, and how much less probable the whole model's own answers become: [variant, text, 2].

        logits: [variant, text, token, choice]
        """
        losses, shares = _losses_and_shares(logits, self.labels, self.tokens)
        return torch.stack([losses - self.losses, self.shares - shares], -1).cpu().numpy()

    def kept(self, logits: torch.Tensor) -> torch.Tensor:
        """The share of predictions whose most likely token is still the same: [variant, text], of logits [variant, text, token, choice]."""
        inside = self.labels >= 0
        same = (logits.argmax(-1) == self.tokens) & inside
        return same.sum(-1) / inside.sum(-1).clamp_min(1)


def _losses_and_shares(logits: torch.Tensor, labels: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The losses, and the mean probabilities of these tokens: [..., text] each, of logits [..., text, token, choice]."""
    of_labels, of_tokens = log_probabilities(logits, *(of.expand(logits.shape[:-1]) for of in (labels.clamp_min(0), tokens)))
    return mean_of_predictions(-of_labels, labels), mean_of_predictions(of_tokens.exp(), labels)
