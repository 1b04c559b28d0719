"""Views of the app, opened in the state of a link or of another view."""

from __future__ import annotations

import eyeline as el
from eyeline.show.app.kit.mounted import with_state
from tests.measure.causes.tiny import TEXT, masked


def test_without_a_query_the_neuron_view_opens_at_the_one_that_tells_most_of_what_is_drawn() -> None:
    trace, gradients = masked().trace(TEXT), el.attribute(masked(), TEXT, method="integrated-gradients")
    assert gradients.quantity is not None
    opened = with_state(el.neuron_view(trace, also=[gradients]), {"layer": 1, "heads": [2], "drawn": 1})
    assert (opened.state["query"], opened.state["heads"]) == (gradients.quantity.position, [2])
    assert with_state(el.neuron_view(trace, also=[gradients]), {"query": 1, "drawn": 1}).state["query"] == 1
