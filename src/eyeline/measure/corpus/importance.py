"""How much attention matters: the gradient of the model's own loss (figure 3 of Clark et al. 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import torch

from eyeline.errors import Advice, ModelError
from eyeline.measure.corpus.average_attention import check_targets, columns_of
from eyeline.measure.runs.table import Table, head_table
from eyeline.measure.statistics.model_statistic import ModelStatistic, text_losses, token_task
from eyeline.measure.statistics.rows import keys_seen
from eyeline.measure.statistics.statistic import Batch, SumKey
from eyeline.messages import Message
from eyeline.models.inputs import batch_inputs
from eyeline.models.model import Model
from eyeline.models.objective import Objective, logits_and_calls

#: The graph of every layer is held for the gradients: longer texts are left out.
LONGEST = 1024


class Importance(ModelStatistic):
    """Mean |∂L/∂α| by layer and target: over the heads, rows and visible keys of the target, of all texts.

    L is the mean cross-entropy of one text's predictions. Masked language models: a seeded 15 % of the tokens (at least one; `rate`) are
    replaced by the mask token, all of them, and predicted. Decoders: each next token is predicted. The paper leaves the rate and the
    averaging open: compare the shape, not the scale. Texts of more than `longest` tokens are left out of the importance alone, and counted.
    """

    name: ClassVar[str] = "importance"

    def __init__(self, rate: float = 0.15, targets: Mapping[str, str] | None = None, longest: int = LONGEST) -> None:
        super().__init__(rate, longest)
        self.targets = dict(targets or {})
        self._custom = check_targets(self.targets)

    def options(self) -> dict[str, object]:
        return {"rate": self.rate, "targets": self.targets, "longest": self.longest}

    @torch.enable_grad()
    def measure_batch(self, model: Model, objective: Objective, batch: Batch) -> None:
        pad = getattr(model._tokenizer, "pad_token_id", None) or 0
        inputs = batch_inputs(model._hf, batch.examples, pad)
        task = token_task(objective, inputs, batch.examples, self._seed, self.rate)
        logits, calls = logits_and_calls(model, inputs, task.positions)
        # texts do not see each other, so the gradient of the sum holds each text's own gradient
        gradients = torch.autograd.grad(
            text_losses(logits, task.labels).sum(), [call.weights for call in calls.values()], allow_unused=True
        )  # of each layer [text, head, query, key]
        for ((stack, layer), call), gradient in zip(calls.items(), gradients, strict=True):
            if gradient is not None and (batch.layers is None or layer in batch.layers[stack]):
                self._add_layer(stack, layer, gradient.abs(), call.mask, batch)

    def _add_layer(self, stack: str, layer: int, size: torch.Tensor, mask: torch.Tensor | None, batch: Batch) -> None:
        """size: |∂L/∂α| [text, head, query, key]. Hidden keys are left out: their weight is always 0."""
        columns = columns_of(batch, stack, self._custom)
        texts = batch.texts(stack)
        seen = keys_seen(size, mask, stack, [len(keys) for _, keys in texts]).double()  # [text, query, key]
        sums = np.zeros((len(columns.names), 2))  # [target, (sum, weights)]
        for index, (queries, keys) in enumerate(texts):
            of_text = seen[index, : len(queries), : len(keys)]  # [query, key]
            inside = columns.matrix[index, : len(keys)].double()  # [key, target]
            part = size[index, :, : len(queries), : len(keys)].sum(0).double() * of_text  # [query, key]
            sums[:, 0] += (part.sum(0) @ inside).cpu().numpy()
            sums[:, 1] += (of_text.sum(0) @ inside).cpu().numpy() * size.shape[1]
        if not np.isfinite(sums).all():
            raise ModelError(
                Message("refusal.gradients_of_layer", layer=str(layer)),
                Message("refusal.load_float32"),
                Advice(
                    "Or give the other statistics alone: statistics=[…].",
                    "Or name the other analyses: --only.",
                    Message("refusal.advice.other_analyses"),
                ),
            )
        self.add(SumKey(stack, layer, "gradient", columns.names), sums[None], range(1))

    def result(self) -> dict[str, Table]:
        records = []
        for layer_sum in self.by_layer("gradient"):
            for target, name in enumerate(layer_sum.details):
                total, weights = layer_sum.values[0, target]
                records.append((layer_sum.stack, layer_sum.layer, 0, name, float(total / weights) if weights else float("nan")))
        table = head_table(records, ("target", "mean"))
        return {self.name: Table({name: values for name, values in table.columns.items() if name != "head"})}
