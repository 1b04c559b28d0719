"""The model behind a live view: what it answers while parts of it are switched off, and what single heads do to its answer."""

from __future__ import annotations

from typing import Any, Protocol

from eyeline.capture.answer.layer_effects import LayerEffects
from eyeline.capture.answer.prediction import Prediction
from eyeline.capture.trace import Trace
from eyeline.errors import EyelineError, TraceError
from eyeline.views.answer.switched_off import interventions_of


class AnswersAgain(Protocol):
    """What a view needs of a model."""

    name: str

    def predict_again(self, trace: Trace, interventions: Any) -> Prediction:
        """The answer to the text of a trace while the model is changed."""

    def head_effects(self, trace: Trace) -> list[LayerEffects]:
        """For each stack and layer, what the answer becomes when each head alone is switched off."""


def check_answers(trace: Trace, model: AnswersAgain | None, effects: bool) -> None:
    """Refuse a model that did not make the trace, and effects without a model."""
    if effects and model is None:
        raise TraceError("effects=True without a model.", "Give the model too: head_view(trace, model=model, effects=True).")
    if model is not None and model.name != trace.model:
        raise TraceError(f"A trace of {trace.model}, and the model {model.name}.", "Give the model that made the trace.")


def answer_without(model: AnswersAgain, trace: Trace, off: str) -> dict[str, Any]:
    """What is sent to a live view whose reader has switched something off: the new answer, or the reason why there is none.

    Nothing switched off: the answer that the trace holds, without another pass.
    """
    try:
        if not interventions_of(off) and trace.prediction is not None:
            return {"off": off, "prediction": trace.prediction.to_json()}
        return {"off": off, "prediction": model.predict_again(trace, interventions_of(off)).to_json()}
    except EyelineError as error:
        return {"off": off, "error": str(error)}
