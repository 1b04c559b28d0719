"""The model behind a live view: what it answers while parts of it are switched off, and what single heads do to its answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from eyeline.capture.answer.layer_effects import LayerEffects
from eyeline.capture.answer.prediction import Choices, Prediction
from eyeline.capture.trace import Trace
from eyeline.errors import EyelineError, TraceError
from eyeline.models.embedded import names_that_answer
from eyeline.views.answer.switched_off import interventions_of

#: How many of the most probable choices are computed. A choice beyond them has a probability below 1/200, which the page writes as <0.01.
FOLLOWED = 200
#: How many of them are sent, beside the choices of the answer before.
SENT = 10


class AnswersAgain(Protocol):
    """The methods of a model that a view needs."""

    name: str

    def predict_again(self, trace: Trace, interventions: Any, top: int) -> Prediction:
        """The answer to the text of a trace while the model is changed."""

    def head_effects(self, trace: Trace) -> list[LayerEffects]:
        """For each stack and layer, what the answer becomes when each head alone is switched off."""


def check_answers(trace: Trace, model: AnswersAgain | None, effects: bool) -> None:
    """Refuse a model that did not make the trace, a trace of a changed model, and effects without a model or an answer."""
    if effects and model is None:
        raise TraceError("effects=True without a model.", "Give the model too: head_view(trace, model=model, effects=True).")
    if effects and trace.prediction is None:
        raise TraceError(
            f"{trace.model} has no answer to this text, so its heads have no effect on one.",
            "A masked language model answers at [MASK]; a model without a head never does.",
            f"Embedded models that answer: {names_that_answer()}.",
        )
    if model is not None and model.name != trace.model:
        raise TraceError(f"A trace of {trace.model}, and the model {model.name}.", "Give the model that made the trace.")
    if model is not None and (changes := trace.about.get("interventions")):
        raise TraceError(
            f"The trace was recorded with {'; '.join(changes)}: what is switched off in a view would be compared with another model.",
            "Give a trace without interventions, or leave out model=.",
        )


def answer_without(model: AnswersAgain, trace: Trace, off: str) -> dict[str, Any]:
    """What is sent to a live view whose reader has switched something off: the new answer, or the reason why there is none.

    Nothing switched off: the answer that the trace holds, without another pass.
    """
    try:
        if not interventions_of(off) and trace.prediction is not None:
            return {"off": off, "prediction": trace.prediction.to_json()}
        changed = model.predict_again(trace, interventions_of(off), top=FOLLOWED)
        return {"off": off, "prediction": _with_the_same_choices(changed, trace.prediction).to_json()}
    except EyelineError as error:
        return {"off": off, "error": str(error)}


def _with_the_same_choices(changed: Prediction, before: Prediction | None) -> Prediction:
    """The most probable choices, then those of the answer before, so that a reader sees how the probability of each has changed."""
    rows = before.choices if before is not None else ()
    known = [set(zip(choices.ids, choices.tokens, strict=True)) for choices in rows]
    return replace(
        changed, choices=tuple(_kept(choices, known[row] if row < len(known) else set()) for row, choices in enumerate(changed.choices))
    )


def _kept(choices: Choices, known: set[tuple[int, str]]) -> Choices:
    kept = [i for i, choice in enumerate(zip(choices.ids, choices.tokens, strict=True)) if i < SENT or choice in known]
    return Choices(
        choices.position,
        tuple(choices.tokens[i] for i in kept),
        tuple(choices.ids[i] for i in kept),
        tuple(choices.probabilities[i] for i in kept),
        tuple(choices.ends[i] for i in kept) if choices.ends else (),
    )
