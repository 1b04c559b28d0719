"""A view opens where something can be seen."""

from __future__ import annotations

import numpy as np

import eyeline as el
from eyeline.look.views.view import look_of_stack, opening_head
from tests.browser.made_up import neuron_trace
from tests.measure.causes.tiny import TEXT, masked

TOKENS = ["the", "cat", "sat", ".", "it", "slept"]


def trace(look: tuple[int, int], *, layer: int = 1, head: int = 2) -> el.Trace:
    """Even attention, a head that looks at itself, a head whose every token looks at the first; and one strong look."""
    n = len(TOKENS)
    weights = np.full((3, 4, n, n), 1 / n, dtype=np.float32)
    weights[0, 0] = np.eye(n)
    weights[0, 1] = np.eye(n)[0]
    weights[layer, head, look[0]] = np.where(np.arange(n) == look[1], 0.9, 0.02)
    return el.Trace.from_arrays(list(weights), TOKENS)


def test_the_head_and_the_query_with_the_strongest_look_at_another_word_are_chosen() -> None:
    best = look_of_stack(trace((4, 1)).encoder)
    assert (best.layer, best.head, best.query) == (1, 2, 4)
    assert opening_head(trace((4, 1))) == (1, 2)


def test_a_look_at_a_neighbour_or_a_full_stop_does_not_count() -> None:
    for look in ((4, 5), (4, 3), (5, 3)):
        assert look_of_stack(trace(look).encoder).weight < 0.5


def test_a_text_without_such_a_look_opens_at_its_last_word() -> None:
    best = look_of_stack(el.Trace.from_arrays([np.eye(3)[None]], ["a", "b", "."]).encoder)
    assert (best.layer, best.head, best.query) == (0, 0, 1)


def test_the_neuron_view_opens_at_a_query_that_looks_at_another_word() -> None:
    traced = neuron_trace(12)
    view = el.neuron_view(traced, layer=1, head=3)
    assert view.state["query"] == look_of_stack(traced.encoder, [1], [3]).query
    assert el.neuron_view(traced, query=4).state["query"] == 4


def test_a_head_view_and_a_neuron_view_open_at_the_head_with_a_strong_look() -> None:
    view = el.head_view(trace((4, 1)))
    assert (view.state["layer"], view.state["heads"]) == (1, [2])
    assert el.head_view(trace((4, 1)), layer=2).state["layer"] == 2
    assert "heads" not in el.head_view(trace((4, 1)), layer=2).state
    assert el.head_view(trace((4, 1)), heads=[3]).state["layer"] == 0
    assert el.head_view(trace((4, 1)), layers=[0, 2]).state["layer"] == 0
    assert "heads" not in el.head_view(trace((4, 5))).state  # only neighbours: all heads of the first layer
    assert el.head_view(trace((4, 1)), layers=[1, 2]).state["layer"] == 0  # the first of those that are included
    traced = neuron_trace(12)
    best = look_of_stack(traced.encoder)
    opened = el.neuron_view(traced).state
    assert (opened["layer"], opened["heads"]) == ((best.layer, [best.head]) if best.weight >= 0.5 else (0, [0]))


def test_the_default_model_opens_a_pronoun_on_its_antecedent(e5_small_mlm: el.Model) -> None:
    trace = e5_small_mlm.trace("Birds sing because they are happy.")
    best = look_of_stack(trace.encoder)
    row = trace.weights[best.layer, best.head, best.query]
    assert (trace.text.tokens[best.query], trace.text.tokens[int(row.argmax())]) == ("they", "birds")


def test_the_neuron_view_of_a_quantity_about_an_answer_opens_at_the_query_that_answers() -> None:
    model = masked()
    trace, gradients = model.trace(TEXT), el.attribute(model, TEXT, method="integrated-gradients")
    view = el.neuron_view(trace, also=[gradients], drawn=1)
    assert gradients.quantity is not None
    assert view.state["query"] == gradients.quantity.position
