"""A statistic that runs the model itself and reads its answers: effects of single heads, and what is left when many are ablated."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar, Literal

from eyeline.analyses.corpus.batch import Batch
from eyeline.analyses.corpus.statistics.model_statistic import ModelStatistic
from eyeline.analyses.corpus.statistics.predictions import TokenTask, token_task
from eyeline.capture.collect import Sides
from eyeline.errors import TraceError
from eyeline.models.model import Model
from eyeline.models.objective import Objective, answer_objective_of

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
            predicting = [side for side in batch.sides if _has_predictions(objective, side)]
            self.leave_out(len(batch.sides) - len(predicting))
            if not predicting:
                return
            batch = replace(batch, sides=tuple(predicting), _memo={})
        inputs = model.passes.inputs(batch.sides)
        if objective.kind == "label":
            own_answers = model.passes.output(batch.sides, inputs=inputs).logits.argmax(-1)
            self.measure(model, batch, TokenTask(inputs, own_answers[:, None], None))
        else:
            self.measure(model, batch, token_task(objective, inputs, batch.sides, self._seed, self.rate))

    @abstractmethod
    def measure(self, model: Model, batch: Batch, task: TokenTask) -> None:
        """Add what one batch gives."""


def _has_predictions(objective: Objective, side: Sides) -> bool:
    """Whether a text has anything to predict: a next token, or a word to mask."""
    return len(side.source) > 1 if objective.kind == "next" else not all(side.source.special)
