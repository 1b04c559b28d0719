"""What is left of the model's answers when more and more heads are ablated at once: the pruning curve of Michel et al. (2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch

from eyeline.analyses.corpus.batch import Batch
from eyeline.analyses.corpus.statistics.answer_statistic import LONGEST, AnswerStatistic, By
from eyeline.analyses.corpus.statistics.predictions import Answers, TokenTask
from eyeline.analyses.corpus.sums import SumKey
from eyeline.capture.interventions.records import Ablate
from eyeline.errors import TraceError
from eyeline.heads import HeadRef
from eyeline.models.model import Model
from eyeline.results.table import Table


class Pruning(AnswerStatistic):
    """The loss and the answers after 0, 10, … 100 % of the heads have been ablated, in one order or several.

    orders   name → heads as (stack, layer, head), in the order in which they are ablated
    steps    in how many steps all of them are ablated

    The table has a row for each order and step: `removed` heads, `loss` in nats, and `kept`, the share of predictions whose most likely
    token is still the one of the whole model.
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
        passes = model.passes
        output, stored = passes.store(batch.sides, inputs=task.inputs)
        answers = Answers.of(task.at_positions(output.logits), task.labels)
        for name, heads in self.orders.items():
            rows = [[float(answers.losses.sum()), float(len(batch.sides)), float(len(batch.sides))]]
            for size in self.sizes()[1:]:
                each = [[Ablate(heads[:size], by=self.by)]] * len(batch.sides)
                logits = task.rows(passes.output(batch.sides, each, inputs=task.inputs, stored=stored, at=task.positions).logits)
                losses = answers.losses + answers.loss_change(logits)
                rows.append([float(torch.nan_to_num(losses).sum()), float(answers.kept(logits).sum()), float(len(batch.sides))])
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
