"""What happens to a model's answers when heads are ablated: one head at a time, or more and more of them at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import torch
from scipy.stats import spearmanr

from eyeline.errors import ModelError, TraceError
from eyeline.heads import HeadRef
from eyeline.look.interventions import Ablate
from eyeline.measure.runs.table import Table, head_table, heads_of_rows
from eyeline.measure.statistics.model_statistic import ModelStatistic, TokenTask, UnchangedAnswers, text_losses, token_task
from eyeline.measure.statistics.statistic import Batch, SumKey
from eyeline.messages import Message
from eyeline.models.inputs import Example
from eyeline.models.layout import Slot
from eyeline.models.model import Model
from eyeline.models.objective import Objective, answer_objective_of, check_gradients
from eyeline.models.passes import Passes

#: Longer texts are left out.
LONGEST = 512

By = Literal["zero", "mean"]


class AnswerStatistic(ModelStatistic):
    """Sums of what happens to the model's answers when heads are ablated.

    by       "zero": a head's output becomes 0; "mean": its mean over the positions of the text
    rate     the share of tokens that a masked language model has to predict
    longest  texts of more tokens are left out, and counted
    """

    about_answers: ClassVar[bool] = True

    def __init__(self, by: By = "zero", rate: float = 0.15, longest: int = LONGEST) -> None:
        super().__init__(rate, longest)
        if by not in ("zero", "mean"):
            raise TraceError(f"Heads ablated by {by!r}.", 'Use "zero" or "mean".')
        self.by = by

    def options(self) -> dict[str, object]:
        return {"by": self.by, "rate": self.rate, "longest": self.longest}

    def objective(self, model: Model) -> Objective:
        return answer_objective_of(model)

    def measure_batch(self, model: Model, objective: Objective, batch: Batch) -> None:
        if objective.kind != "label":
            predicting = [example for example in batch.examples if _has_predictions(objective, example)]
            self.leave_out(len(batch.examples) - len(predicting))
            if not predicting:
                return
            batch = replace(batch, examples=tuple(predicting), _memo={})
        inputs = model._passes.inputs(batch.examples)
        if objective.kind == "label":
            own_answers = model._passes.output(batch.examples, inputs=inputs).logits.argmax(-1)
            self.measure(model, batch, TokenTask(inputs, own_answers[:, None], None))
        else:
            self.measure(model, batch, token_task(objective, inputs, batch.examples, self._seed, self.rate))

    @abstractmethod
    def measure(self, model: Model, batch: Batch, task: TokenTask) -> None:
        """Add what one batch gives."""


def _has_predictions(objective: Objective, example: Example) -> bool:
    """Whether a text has anything to predict: a next token, or a word to mask."""
    return len(example.source) > 1 if objective.kind == "next" else not all(example.source.special)


# ---- Each head alone


#: How far the loss of a pass from a stored layer may differ from that of a whole pass: in single precision, and in half precision.
SINGLE, HALF = 1e-4, 2e-2

EFFECT_COLUMNS = ("loss_change", "answer_change", "gradient", "attribution", "loss_change_error")


class HeadEffects(AnswerStatistic):
    """For every head, over the texts: how much the loss rises and the model's answers lose when the head is ablated.

    loss_change        mean of L(head ablated) − L, in nats
    answer_change      mean of p(the whole model's answer) − p(the same answer, head ablated)
    gradient           mean of |∂L/∂ξ|, where the head's output is multiplied by ξ = 1 (Michel et al. 2019)
    attribution        mean of (z_ablated − z)·∂L/∂z: the estimate of loss_change by attribution patching (Nanda 2023)
    loss_change_error  standard error of loss_change over the texts
    """

    name: ClassVar[str] = "causes"
    _is_checked = False

    def measure(self, model: Model, batch: Batch, task: TokenTask) -> None:
        passes = model._passes
        output, stored = passes.store(batch.examples, inputs=task.inputs, at=task.positions)
        answers = UnchangedAnswers.of(task.rows(output.logits), task.labels)
        if not bool(torch.isfinite(answers.losses).all()):
            raise ModelError(Message("refusal.loss_not_finite", model=model.name), Message("refusal.load_float32"))
        estimates = estimates_of(passes, batch.examples, task, self.by)
        slots = [slot for slot in model.layout.slots if batch.layers is None or slot.layer in batch.layers[slot.stack]]
        changes = {slot: np.zeros((slot.n_heads, len(batch.examples), 2)) for slot in slots}  # [head, text, (loss, answer)]
        ablated = passes.without_each_head(batch.examples, slots, by=self.by, inputs=task.inputs, stored=stored, at=task.positions)
        for slot, heads, output in ablated:
            changes[slot][heads] = answers.changes(task.of_variants(output.logits))
            if not self._is_checked:
                self._check(passes, batch, task, [Ablate([HeadRef(slot.stack, slot.layer, 0)], by=self.by)], changes[slot][0, :, 0])
        for slot in slots:
            self._add_changes(slot, changes[slot], estimates[slot.stack, slot.layer])

    def _check(self, passes: Passes, batch: Batch, task: TokenTask, ablate: list[Ablate], change: np.ndarray) -> None:
        """Check the first ablation of a run against a pass through the whole model: every layer, every position."""
        self._is_checked = True
        outputs = passes.variants(batch.examples, [ablate, []], inputs=task.inputs)
        copies = (copy for _, output in outputs for copy in output.logits.split(len(batch.examples)))
        ablated, whole = map(task.at_positions, copies)
        losses = text_losses(whole, task.labels)
        difference = float(np.abs((text_losses(ablated, task.labels) - losses).cpu().numpy() - change).max())
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
        return {self.name: head_table(records, EFFECT_COLUMNS)}


@torch.enable_grad()
def estimates_of(passes: Passes, examples: Sequence[Example], task: TokenTask, by: By) -> dict[tuple[str, int], np.ndarray]:
    """(∂L/∂ξ, attribution) of every head for every text, from one pass and its gradients: (stack, layer) → [head, text, 2]."""
    check_gradients(passes.hf, passes.name)
    written: dict[tuple[str, int], torch.Tensor] = {}

    def receive(slot: Slot, output: torch.Tensor) -> None:
        written[slot.stack, slot.layer] = output  # [text, query, head, dim]

    logits = task.rows(passes.output(examples, inputs=task.inputs, receive=receive, gradients=True, at=task.positions).logits)
    gradients = torch.autograd.grad(text_losses(logits, task.labels).sum(), list(written.values()), allow_unused=True)
    estimates = {}
    for ((stack, layer), z), gradient in zip(written.items(), gradients, strict=True):
        slope = torch.zeros_like(z) if gradient is None else gradient
        if not bool(torch.isfinite(slope).all()):
            raise ModelError(Message("refusal.gradients_of_layer", layer=str(layer)), Message("refusal.load_float32"))
        along = (z * slope).sum((1, 3))  # [text, head]
        ablated = torch.zeros_like(along) if by == "zero" else _along_mean(z, slope, [len(example.of(stack)[0]) for example in examples])
        estimates[stack, layer] = torch.stack([along, ablated - along], -1).transpose(0, 1).detach().double().cpu().numpy()
    return estimates


def _along_mean(z: torch.Tensor, slope: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
    """(mean of z over the positions of a text)·∂L/∂z for every text and head: [text, head]."""
    return torch.stack([(z[i, :n].mean(0, keepdim=True) * slope[i, :n]).sum((0, 2)) for i, n in enumerate(lengths)])


# ---- Many heads together: the pruning curve


class Pruning(AnswerStatistic):
    """The loss and the answers after 0, 10, … 100 % of the heads have been ablated, in one order or several.

    orders   name → heads as (stack, layer, head), in the order in which they are ablated
    steps    in how many steps all of them are ablated

    The table has a row for each order and step: `removed` heads, `loss` in nats, and `kept`, the share of predictions whose most likely
    token is still the one of the whole model. Source: Michel et al. 2019.
    """

    name: ClassVar[str] = "pruning"

    def __init__(
        self,
        orders: Mapping[str, Sequence[Sequence[object]]],
        steps: int = 10,
        by: By = "zero",
        rate: float = 0.15,
        longest: int = LONGEST,
    ) -> None:
        super().__init__(by, rate, longest)
        sizes = {len(heads) for heads in orders.values()}
        if len(sizes) != 1 or 0 in sizes or steps < 1:
            raise TraceError(f"Orders of {sorted(sizes)} heads in {steps} steps.", "Every order names the same heads, at least one.")
        self.orders = {name: [HeadRef(str(s), int(str(layer)), int(str(h))) for s, layer, h in heads] for name, heads in orders.items()}
        self.steps = steps

    def options(self) -> dict[str, object]:
        orders = {name: [list(head) for head in heads] for name, heads in self.orders.items()}
        return {**super().options(), "orders": orders, "steps": self.steps}

    def sizes(self) -> list[int]:
        """How many heads are ablated at each step."""
        n_heads = len(next(iter(self.orders.values())))
        return sorted({round(n_heads * step / self.steps) for step in range(self.steps + 1)})

    def measure(self, model: Model, batch: Batch, task: TokenTask) -> None:
        passes = model._passes
        output, stored = passes.store(batch.examples, inputs=task.inputs, at=task.positions)
        answers = UnchangedAnswers.of(task.rows(output.logits), task.labels)
        for name, heads in self.orders.items():
            rows = [[float(answers.losses.sum()), float(len(batch.examples)), float(len(batch.examples))]]
            without = [[Ablate(heads[:size], by=self.by)] for size in self.sizes()[1:]]
            for _, output in passes.variants(batch.examples, without, inputs=task.inputs, stored=stored, at=task.positions):
                logits = task.of_variants(output.logits)
                losses = np.nan_to_num(answers.losses.double().cpu().numpy() + answers.changes(logits)[..., 0]).sum(-1)
                kept = answers.kept(logits).sum(-1)
                rows += [[float(loss), float(same), float(len(batch.examples))] for loss, same in zip(losses, kept, strict=True)]
            self.add(SumKey("all", 0, "pruned", (name,)), np.array(rows), range(len(rows)))

    def result(self) -> dict[str, Table]:
        rows = []
        for key, values in self.sums.items():
            if key.quantity != "pruned":
                continue
            for size, (loss, kept, n) in zip(self.sizes(), values, strict=True):
                share = size / len(self.orders[key.details[0]])
                rows.append({"order": key.details[0], "removed": size, "share": share, "loss": loss / n, "kept": kept / n})
        return {self.name: Table.from_rows(rows, ("order", "removed", "share", "loss", "kept"))}


# ---- Agreement of estimates with ablations, and of effects with entropy


AGREEMENT_COLUMNS = ("first", "second", "correlation", "heads")


def rank_agreement(tables: Mapping[str, Table]) -> Table:
    """Spearman's rank correlation between columns of `causes`, and with the attention statistics that the run has.

    |loss_change| is the size of the effect, whichever its sign.
    """
    causes = tables["causes"]
    loss = causes["loss_change"].astype(float)
    pairs: list[tuple[str, str, np.ndarray, np.ndarray]] = [
        ("loss_change", "attribution", loss, causes["attribution"].astype(float)),
        ("|loss_change|", "gradient", np.abs(loss), causes["gradient"].astype(float)),
        ("loss_change", "answer_change", loss, causes["answer_change"].astype(float)),
    ]
    if "entropy" in tables:
        pairs.append(("|loss_change|", "entropy", np.abs(loss), _of_heads(causes, tables["entropy"], "all")))
    if "average_attention" in tables:
        average = tables["average_attention"]
        for target in ("sep", "first", "previous", "next", "self", "other"):
            part = average.where(target=target)
            if len(part):
                pairs.append(("|loss_change|", f"attention to {target}", np.abs(loss), _of_heads(causes, part, "mean")))
    rows = []
    for first, second, x, y in pairs:
        inside = np.isfinite(x) & np.isfinite(y)
        varies = inside.sum() > 2 and np.ptp(x[inside]) > 0 and np.ptp(y[inside]) > 0
        value = float(spearmanr(x[inside], y[inside]).statistic) if varies else float("nan")
        rows.append({"first": first, "second": second, "correlation": value, "heads": int(inside.sum())})
    return Table.from_rows(rows, AGREEMENT_COLUMNS)


def _of_heads(causes: Table, table: Table, column: str) -> np.ndarray:
    """A column of another table for the heads of `causes`, in its order; nan where the head is missing."""
    values = {key: float(value) for key, value in zip(heads_of_rows(table), table[column], strict=True)}
    return np.array([values.get(key, np.nan) for key in heads_of_rows(causes)])
