"""The model behind a live view: what it answers while parts of it are switched off, and what single heads do to its answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from eyeline.errors import EyelineError, TraceError
from eyeline.heads import STACKS, HeadRef
from eyeline.look.answer import Choices, LayerEffects, Prediction
from eyeline.look.embedded import names_that_answer
from eyeline.look.interventions import Ablate, Intervention, KnockOut
from eyeline.look.trace import Trace

# ---- The answer


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
    if model is not None and any(stack.heads or stack.rows for stack in trace.stacks.values()):
        raise TraceError(
            "This trace holds chosen heads or queries alone: what is switched off in a view would be named wrongly.",
            "Give a trace of all of them, or leave out model=.",
        )
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


# ---- What is switched off, as the state writes it
#
# `"L3·H7; L4·H10 2,3>5"` is a head, and in another head two queries that no longer see a key. `L3·H0-11` are all heads of a layer,
# `all 2>5` is an edge in every head of every layer.


#: The most interventions at once: a link may ask for any number.
MOST_INTERVENTIONS = 500

_EDGE = re.compile(r"(?P<heads>.*?) (?P<queries>\d+(?:,\d+)*)>(?P<keys>\d+(?:,\d+)*)")

_SEVERAL = re.compile(r"(?P<first>.+)-(?P<last>\d{1,4})")

_ALL = re.compile(rf"(?:(?P<stack>{'|'.join(STACKS)}) )?all")


def interventions_of(off: str) -> list[Intervention]:
    """The interventions that the state's `off` names.

    >>> [str(change) for change in interventions_of("L3·H7; L4·H10 2,3>5")]
    ['L3·H7 ablated (zero)', 'keys 5 hidden from queries 2, 3 in L4·H10']
    >>> [str(change) for change in interventions_of("L3·H0-2; all 2>5")]
    ['L3·H0, L3·H1, L3·H2 ablated (zero)', 'keys 5 hidden from queries 2 in all heads']
    """
    parts = [part.strip() for part in off.split(";") if part.strip()]
    if len(parts) > MOST_INTERVENTIONS:
        raise TraceError(f"{len(parts)} things switched off.", f"At most {MOST_INTERVENTIONS} at once.")
    return [_intervention(part) for part in parts]


def _intervention(part: str) -> Intervention:
    try:
        if (edge := _EDGE.fullmatch(part)) is None:
            return Ablate(_heads(part))
        queries, keys = _numbers(edge["queries"]), _numbers(edge["keys"])
        if (every := _ALL.fullmatch(edge["heads"])) is not None:
            return KnockOut(queries, keys, stack=every["stack"] or "")
        return KnockOut(queries, keys, _heads(edge["heads"]))
    except ValueError:
        raise TraceError(f"{part[:40]!r} cannot be switched off.", "Name heads, L3·H7, or edges, L3·H7 2>5, with ; between them.") from None


def _heads(label: str) -> list[HeadRef]:
    """One head, or those from the first to the last of `L3·H0-11`."""
    if (several := _SEVERAL.fullmatch(label)) is None:
        return [HeadRef.parse(label)]
    first = HeadRef.parse(several["first"])
    return [first._replace(head=head) for head in range(first.head, int(several["last"]) + 1)]


def _numbers(text: str) -> Sequence[int]:
    return [int(number) for number in text.split(",")]
