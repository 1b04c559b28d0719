"""What each head alone does to a model's answer to one text: layers below the head that is switched off are computed once."""

from __future__ import annotations

from eyeline.capture.answer.layer_effects import LayerEffects
from eyeline.capture.collect import Sides
from eyeline.capture.interventions.records import Ablate
from eyeline.capture.trace import Trace
from eyeline.models.answer.predict import Answerer
from eyeline.models.passes import Passes


def sides_of(trace: Trace) -> Sides:
    """The tokens of a trace, as the model read them."""
    if "encoder" in trace.stacks and "decoder" in trace.stacks:
        return Sides(trace.encoder.query_text, trace.decoder.query_text)
    return Sides(next(iter(trace.stacks.values())).query_text)


def head_effects(passes: Passes, answerer: Answerer, sides: Sides) -> list[LayerEffects]:
    """The probability of the answer without each head, layer by layer."""
    answer = answerer.predict(sides, top=1)
    _, stored = passes.store([sides])
    effects: list[LayerEffects] = []
    for slot in passes.layout.slots:
        without = [[Ablate([(slot.stack, slot.layer, head)])] for head in range(slot.n_heads)]
        changed = answerer.probabilities([sides] * slot.n_heads, answer, without, stored)
        effects.append({"stack": slot.stack, "layer": slot.layer, "probabilities": [round(p, 5) for p in changed]})
    return effects
