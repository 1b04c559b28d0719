"""What a model has to predict in a batch of texts, and how well it does: for statistics about what its answers depend on."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from eyeline.capture.collect import Sides
from eyeline.models.objective import Objective


def token_labels(objective: Objective, sides: Sequence[Sides], inputs: dict[str, torch.Tensor], seed: int, rate: float) -> torch.Tensor:
    """The tokens to predict [text, token], -100 where nothing is predicted.

    Masked language models: a share `rate` of the tokens, at least one, is replaced by the mask token in `inputs`. Masks are drawn by seed
    and text alone: a part of a corpus has the same masks as the whole. Decoders: every next token is predicted.
    """
    labels = torch.full_like(inputs["input_ids"], -100)
    for index, side in enumerate(sides):
        text = side.source
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

    def at_positions(self, logits: torch.Tensor) -> torch.Tensor:
        """Logits of every token [text, token, vocabulary] at the positions alone."""
        logits = self.rows(logits)
        return logits if self.positions is None else logits.gather(1, self.positions[..., None].expand(-1, -1, logits.shape[-1]))


def token_task(objective: Objective, inputs: dict[str, torch.Tensor], sides: Sequence[Sides], seed: int, rate: float) -> TokenTask:
    """The predictions of a batch; `inputs` get their masks."""
    labels = token_labels(objective, sides, inputs, seed, rate)
    if objective.kind == "next":
        return TokenTask(inputs, labels, None)
    positions, at_positions = predicted_positions(labels)
    return TokenTask(inputs, at_positions, positions)


def text_losses(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The mean cross-entropy of each text's predictions, in nats: [text]. logits [text, token, vocabulary], labels [text, token]."""
    losses = torch.nn.functional.cross_entropy(logits.float().transpose(1, 2), labels, reduction="none")
    return losses.sum(-1) / (labels >= 0).sum(-1).clamp_min(1)


@dataclass(frozen=True)
class Answers:
    """What the whole model answers: its loss [text], and the most likely token at every predicted position [text, token]."""

    labels: torch.Tensor
    losses: torch.Tensor
    tokens: torch.Tensor
    shares: torch.Tensor  # [text]: the mean probability of these tokens

    @classmethod
    def of(cls, logits: torch.Tensor, labels: torch.Tensor) -> Answers:
        tokens = logits.argmax(-1)
        return cls(labels, text_losses(logits, labels), tokens, _mean_share(logits, tokens, labels))

    def loss_change(self, logits: torch.Tensor) -> torch.Tensor:
        """How much the loss rises, in nats: [text]."""
        return text_losses(logits, self.labels) - self.losses

    def answer_change(self, logits: torch.Tensor) -> torch.Tensor:
        """How much less probable the whole model's own answers become: [text]."""
        return self.shares - _mean_share(logits, self.tokens, self.labels)

    def kept(self, logits: torch.Tensor) -> torch.Tensor:
        """The share of predictions whose most likely token is still the same: [text]."""
        inside = self.labels >= 0
        same = (logits.argmax(-1) == self.tokens) & inside
        return same.sum(-1) / inside.sum(-1).clamp_min(1)


def _mean_share(logits: torch.Tensor, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    inside = (labels >= 0).float()
    of_tokens = logits.float().gather(-1, tokens[..., None])[..., 0] - logits.float().logsumexp(-1)  # [text, token]
    return (of_tokens.exp() * inside).sum(-1) / inside.sum(-1).clamp_min(1)
