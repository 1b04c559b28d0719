"""Head outputs may come only from traces of the same weights: in another model of the same shape, the same head has another basis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from eyeline.capture.interventions.records import Ablate, Intervention, Patch
from eyeline.capture.trace import Trace
from eyeline.errors import TraceError

#: The entry of a trace's `about` that names the weights it was recorded from. Traces of earlier versions have none.
WEIGHTS: Final = "weights"


def check_same_model(interventions: Iterable[Intervention], weights: str, name: str) -> None:
    """Refuse a trace that was recorded from other weights than those of the model `name`."""
    for intervention in interventions:
        for trace in _traces(intervention):
            recorded = trace.about.get(WEIGHTS)
            if recorded is not None and recorded != weights:
                raise TraceError(
                    f"{type(intervention).__name__} of {name} from a trace of another model ({trace.model}).",
                    "Trace the other text with this model. To combine two models on purpose, give arrays: {(layer, head): z}.",
                )


def _traces(intervention: Intervention) -> list[Trace]:
    source = intervention.trace if isinstance(intervention, Patch) else intervention.source if isinstance(intervention, Ablate) else None
    several = source if isinstance(source, Sequence) else [source]
    return [trace for trace in several if isinstance(trace, Trace)]
