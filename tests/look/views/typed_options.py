"""Read by mypy alone (`mypy` fails when one of these is no longer an error): options of views are checked by name and by value."""

from __future__ import annotations

import eyeline as el


def right(trace: el.Trace) -> None:
    el.head_view(trace, theme="dark", level="word", hide_special=True)
    el.model_view(trace, rows=[0], colour_by="layer")
    el.neuron_view(trace, query=3).starting(layer=1, heads=[0])


def wrong(trace: el.Trace) -> None:
    el.head_view(trace, theme="purple")  # type: ignore[arg-type]
    el.head_view(trace, hide_specials=True)  # type: ignore[call-arg]
    el.neuron_view(trace, links="best")  # type: ignore[call-arg]
    el.model_view(trace).starting(layer="first")  # type: ignore[arg-type]
