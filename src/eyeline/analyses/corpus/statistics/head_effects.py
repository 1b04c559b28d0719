"""What each head does to the model's answer: ablated one at a time (exact), and estimated by gradients (Michel et al. 2019; Nanda 2023)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch

from eyeline.analyses.corpus.batch import Batch
from eyeline.analyses.corpus.statistics.answer_statistic import AnswerStatistic, By
from eyeline.analyses.corpus.statistics.predictions import Answers, TokenTask, text_losses
from eyeline.analyses.corpus.sums import SumKey
from eyeline.analyses.tables import head_table
from eyeline.capture.collect import Sides
from eyeline.capture.interventions.records import Ablate
from eyeline.capture.layout import Slot
from eyeline.errors import ModelError
from eyeline.heads import HeadRef
from eyeline.models.model import Model
from eyeline.models.passes import Passes
from eyeline.results.table import Table

#: How far the loss of a pass from a stored layer may differ from that of a whole pass: in single precision, and in half precision.
SINGLE, HALF = 1e-4, 2e-2
COLUMNS = ("loss_change", "answer_change", "gradient", "attribution", "loss_change_error")


class HeadEffects(AnswerStatistic):
    """For every head, over the texts: how much the loss rises and the model's answers lose when the head is ablated.

    loss_change        mean of L(head ablated) − L, in nats
    answer_change      mean of p(the whole model's answer) − p(the same answer, head ablated)
    gradient           mean of |∂L/∂ξ|, where the head's output is multiplied by ξ = 1 (Michel et al. 2019)
    attribution        mean of (z_ablated − z)·∂L/∂z: the estimate of loss_change by attribution patching
    loss_change_error  standard error of loss_change over the texts
    """

    name: ClassVar[str] = "causes"
    _is_checked = False

    def measure(self, model: Model, batch: Batch, task: TokenTask) -> None:
        passes = model.passes
        output, stored = passes.store(batch.sides, inputs=task.inputs)
        answers = Answers.of(task.at_positions(output.logits), task.labels)
        if not bool(torch.isfinite(answers.losses).all()):
            raise ModelError(f"The loss of {model.name} is not a number.", "Open the model in float32: el.load(name, dtype=torch.float32).")
        estimates = estimates_of(passes, batch.sides, task, self.by)
        for slot in model.layout.slots:
            if batch.layers is not None and slot.layer not in batch.layers[slot.stack]:
                continue
            changes = np.zeros((slot.n_heads, len(batch.sides), 2))  # [head, text, (loss, answer)]
            for head in range(slot.n_heads):
                ablate = [Ablate([HeadRef(slot.stack, slot.layer, head)], by=self.by)]
                each = [ablate] * len(batch.sides)
                logits = task.rows(passes.output(batch.sides, each, inputs=task.inputs, stored=stored, at=task.positions).logits)
                if not self._is_checked:
                    self._check(passes, batch, task, ablate, answers.loss_change(logits))
                changes[head] = torch.stack([answers.loss_change(logits), answers.answer_change(logits)], -1).double().cpu().numpy()
            self._add_changes(slot, changes, estimates[slot.stack, slot.layer])

    def _check(self, passes: Passes, batch: Batch, task: TokenTask, ablate: list[Ablate], change: torch.Tensor) -> None:
        """Check the first ablation of a run against a pass through the whole model: every layer, every position."""
        self._is_checked = True
        each = [ablate] * len(batch.sides)
        ablated, whole = (task.at_positions(passes.output(batch.sides, e, inputs=task.inputs).logits) for e in (each, None))
        losses = text_losses(whole, task.labels)
        difference = float((text_losses(ablated, task.labels) - losses - change).abs().max())
        tolerance = HALF if whole.dtype in (torch.float16, torch.bfloat16) else SINGLE
        if difference > tolerance * max(1.0, float(losses.abs().max())):
            raise ModelError(
                f"{passes.name} gives another loss when a pass begins at a stored layer (difference {difference:.2g} nats).",
                "The effects of its heads cannot be measured this way.",
            )

    def _add_changes(self, slot: Slot, changes: np.ndarray, estimates: np.ndarray) -> None:
        """changes [head, text, (loss, answer)], estimates [head, text, (∂L/∂ξ, attribution)]."""
        sums = np.stack(
            [
                changes[..., 0].sum(1), changes[..., 1].sum(1), np.abs(estimates[..., 0]).sum(1), estimates[..., 1].sum(1),
                (changes[..., 0] ** 2).sum(1), np.full(slot.n_heads, float(changes.shape[1])),
            ],
            -1,
        )  # fmt: skip
        self.add(SumKey(slot.stack, slot.layer, "effect"), sums, range(slot.n_heads))

    def result(self) -> dict[str, Table]:
        records: list[tuple[str | int | float, ...]] = []
        for layer_sum in self.by_layer("effect"):
            for head, (*totals, squares, n) in enumerate(layer_sum.values):
                means = [float(total / n) for total in totals]
                spread = max(0.0, float(squares / n) - means[0] ** 2)
                error = float(np.sqrt(spread / (n - 1))) if n > 1 else float("nan")
                records.append((layer_sum.stack, layer_sum.layer, head, *means, error))
        return {self.name: head_table(records, COLUMNS)}


def estimates_of(passes: Passes, sides: Sequence[Sides], task: TokenTask, by: By) -> dict[tuple[str, int], np.ndarray]:
    """(∂L/∂ξ, attribution) of every head for every text, from one pass and its gradients: (stack, layer) → [head, text, 2]."""
    written: dict[tuple[str, int], torch.Tensor] = {}

    def receive(slot: Slot, output: torch.Tensor) -> None:
        written[slot.stack, slot.layer] = output  # [text, query, head, dim]

    logits = task.rows(passes.output(sides, inputs=task.inputs, receive=receive, gradients=True, at=task.positions).logits)
    gradients = torch.autograd.grad(text_losses(logits, task.labels).sum(), list(written.values()), allow_unused=True)
    estimates = {}
    for ((stack, layer), z), gradient in zip(written.items(), gradients, strict=True):
        slope = torch.zeros_like(z) if gradient is None else gradient
        if not bool(torch.isfinite(slope).all()):
            raise ModelError(f"Gradients of {passes.name} in layer {layer} are not finite (nan or infinite).", "Open the model in float32.")
        along = (z * slope).sum((1, 3))  # [text, head]
        ablated = torch.zeros_like(along) if by == "zero" else _along_mean(z, slope, [len(side.of(stack)[0]) for side in sides])
        estimates[stack, layer] = torch.stack([along, ablated - along], -1).transpose(0, 1).detach().double().cpu().numpy()
    return estimates


def _along_mean(z: torch.Tensor, slope: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
    """(mean of z over the positions of a text)·∂L/∂z for every text and head: [text, head]."""
    return torch.stack([(z[i, :n].mean(0, keepdim=True) * slope[i, :n]).sum((0, 2)) for i, n in enumerate(lengths)])
