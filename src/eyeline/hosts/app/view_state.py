"""The three views of a text, opened in a state that may come from an old or made-up link."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from eyeline.capture.trace import Trace
from eyeline.errors import TraceError
from eyeline.views import head_view, model_view, neuron_view
from eyeline.views.neuron import at_query_of_strongest_look
from eyeline.views.spec import first_layer
from eyeline.views.view import View


def head_view_at_start(trace: Trace, **options: Any) -> View:
    """All heads of the first layer: the state that follows may give a layer alone, which means all its heads."""
    return head_view(trace, layer=first_layer(trace), **options)


def neuron_view_at_start(trace: Trace, **options: Any) -> View:
    """The first head of the first layer."""
    return neuron_view(trace, layer=first_layer(trace), head=0, **options)


#: Views by the name that addresses and messages use.
VIEWS: Mapping[str, Callable[..., View]] = {"head": head_view_at_start, "model": model_view, "neuron": neuron_view_at_start}


def with_state(view: View, state: Mapping[str, Any]) -> View:
    """The view, opened with every part of a state that it accepts; the rest is ignored.

    A neuron view without a query opens at the query with the strongest look at another word.
    """
    for key in sorted(state, key=("stack", "layer").__contains__, reverse=True):
        try:
            view = view.starting(**{key: state[key]})
        except (TraceError, TypeError, ValueError):
            continue
    return at_query_of_strongest_look(view) if view.kind == "neuron" and "query" not in state else view
