"""A statistic that runs the model itself and reads its answers: effects of heads, and what is left when many are gone."""

from __future__ import annotations

from abc import abstractmethod
from typing import Literal, Self

from eyeline.analyses.corpus.batch import Batch
from eyeline.analyses.corpus.rows import Rows
from eyeline.analyses.corpus.statistic import Statistic
from eyeline.analyses.corpus.statistics.predictions import TokenTask, token_task
from eyeline.errors import TraceError
from eyeline.models.model import Model
from eyeline.models.objective import Objective, objective_of

#: The results of every layer are held: batches are smaller, and longer texts left out.
HELD_TOKENS, LONGEST = 1024, 512
By = Literal["zero", "mean"]


class AnswerStatistic(Statistic):
    """Sums of what happens to the model's answers when heads are ablated.

    by       "zero": a head's output becomes 0; "mean": its mean over the positions of the text
    rate     the share of tokens that a masked language model has to find
    longest  texts of more tokens are left out, and counted
    """

    from_rows = False

    def __init__(self, by: By = "zero", rate: float = 0.15, longest: int = LONGEST) -> None:
        super().__init__()
        if by not in ("zero", "mean"):
            raise TraceError(f"Heads ablated by {by!r}.", 'Use "zero" or "mean".')
        self.by, self.rate, self.longest = by, rate, longest
        self._model: Model | None = None
        self._objective: Objective | None = None
        self._seed = 0

    def options(self) -> dict[str, object]:
        return {"by": self.by, "rate": self.rate, "longest": self.longest}

    def fresh(self) -> Self:
        fresh = super().fresh()
        fresh._model, fresh._objective, fresh._seed = self._model, self._objective, self._seed
        return fresh

    def prepare(self, model: Model, seed: int) -> None:
        self._model, self._objective, self._seed = model, objective_of(model), seed

    def batch_tokens(self, model: Model) -> int | None:
        return HELD_TOKENS

    def update(self, rows: Rows, batch: Batch) -> None:
        """Ablations need passes of their own: see finish."""

    def finish(self, batch: Batch) -> None:
        if self._model is None or self._objective is None:
            raise RuntimeError(f"{type(self).__name__} is fed by el.analyse, which gives it the model.")
        short = batch.up_to(self.longest)
        self.leave_out(len(batch.sides) - len(short.sides))
        if short.sides:
            inputs = self._model.passes.inputs(short.sides)
            self.measure(self._model, short, token_task(self._objective, inputs, short.sides, self._seed, self.rate))

    @abstractmethod
    def measure(self, model: Model, batch: Batch, task: TokenTask) -> None:
        """Add what one batch gives."""
