"""Read by mypy alone (`mypy` fails when one of these is no longer an error): options of views are checked by name and by value."""

from __future__ import annotations

from eyeline.capture.trace import Trace
from eyeline.views import head_view, model_view, neuron_view


def right(trace: Trace) -> None:
    head_view(trace, theme="dark", level="word", hide_special=True)
    model_view(trace, rows=[0], colour_by="layer")
    neuron_view(trace, query=3).starting(layer=1, heads=[0])


def wrong(trace: Trace) -> None:
    head_view(trace, theme="purple")  # type: ignore[arg-type]
    head_view(trace, hide_specials=True)  # type: ignore[call-arg]
    neuron_view(trace, links="best")  # type: ignore[call-arg]
    model_view(trace).starting(layer="first")  # type: ignore[arg-type]
