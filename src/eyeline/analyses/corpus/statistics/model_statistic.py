"""A statistic that runs the model itself, because it needs the model's loss or its answers and not only rows of attention."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

from eyeline.analyses.corpus.batch import Batch
from eyeline.analyses.corpus.rows import Rows
from eyeline.analyses.corpus.statistic import Statistic
from eyeline.models.model import Model
from eyeline.models.objective import Objective, objective_of

#: The results of every layer are held: batches are smaller than those of other statistics.
HELD_TOKENS = 1024


class ModelStatistic(Statistic):
    """rate: the share of tokens that a masked language model has to predict. longest: texts of more tokens are left out, and counted."""

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
        self.leave_out(len(batch.sides) - len(short.sides))
        if short.sides:
            self.measure_batch(self._model, self._objective, short)

    @abstractmethod
    def measure_batch(self, model: Model, objective: Objective, batch: Batch) -> None:
        """Run the model on a batch of texts that are short enough, and add what it gives."""
