"""Quantities beside attention in a view: offered for choice, encoded with their sign, named in titles and pictures."""

from __future__ import annotations

import re

import numpy as np
import pytest

import eyeline as el
from eyeline.errors import TraceError
from eyeline.look.palette import LIGHT_PAGE
from eyeline.look.views.still import read, still
from tests.measure.causes.tiny import PLAIN, TEXT, masked

METHODS = ("norms", "rollout", "gradient", "integrated-gradients")


@pytest.fixture(scope="module")
def trace() -> el.Trace:
    return masked().trace(TEXT)


@pytest.fixture(scope="module")
def also() -> list[el.Trace]:
    return [el.attribute(masked(), TEXT, method=method) for method in METHODS]


@pytest.mark.parametrize("draw", [el.head_view, el.model_view, el.neuron_view])
def test_every_view_of_a_trace_offers_the_quantities_that_it_was_given(draw, trace: el.Trace, also: list[el.Trace]) -> None:
    view = draw(trace, also=also)
    assert [record["method"] for record in view.spec["quantities"]] == ["attention", *METHODS]
    assert [record["signed"] for record in view.spec["quantities"]] == [False, False, False, True, True]
    assert view.starting(drawn=4).state["drawn"] == 4
    with pytest.raises(TraceError, match="from 0 to 4"):
        view.starting(drawn=5)


@pytest.mark.parametrize("number", range(len(METHODS)), ids=METHODS)
def test_a_reader_sees_the_numbers_of_a_quantity_with_their_sign(number: int, trace: el.Trace, also: list[el.Trace]) -> None:
    view = el.head_view(trace, also=also)
    largest = view.spec["quantities"][number + 1]["largest"]
    quantity = also[number]
    for index, layer in enumerate(trace.layers):
        own = quantity.weights[quantity.layers.index(layer) if len(quantity.layers) > 1 else 0]
        assert np.abs(view.weights(0, index, number + 1) * largest - own).max() < 0.001 * max(1, largest)


def test_shares_keep_their_own_scale_and_other_quantities_are_parts_of_the_largest(trace: el.Trace, also: list[el.Trace]) -> None:
    records = el.head_view(trace, also=also).spec["quantities"]
    assert records[2]["largest"] == 1  # rollout: rows sum to 1
    assert records[1]["largest"] == pytest.approx(float(also[0].weights.max()))


def test_a_quantity_alone_is_a_view_too(also: list[el.Trace]) -> None:
    view = el.head_view(also[2])
    assert [record["method"] for record in view.spec["quantities"]] == ["gradient"]
    assert view.weights().min() < 0 < view.weights().max()


def test_a_view_of_attention_alone_names_no_quantity(trace: el.Trace) -> None:
    assert "quantities" not in el.head_view(trace).spec


def test_a_picture_names_the_quantity_and_colours_both_sides_of_zero(trace: el.Trace, also: list[el.Trace]) -> None:
    view = el.head_view(trace, also=also, drawn=3, rescale=True)
    lines = still(view)
    assert "<title>Gradient × attention → " in lines
    assert LIGHT_PAGE.negative in lines
    assert LIGHT_PAGE.positive in lines
    assert "<image" in still(view.starting(**{"as": "heatmap"}))
    assert "<image" in still(el.model_view(trace, also=also, drawn=3))
    whole = still(el.head_view(trace, also=also, drawn=4))
    assert re.search(r"<title>Integrated gradients → [^·]+ · tiny-masked · encoder · all layers · 9 tokens", whole)


def test_a_quantity_of_another_text_or_attention_itself_is_refused(trace: el.Trace) -> None:
    with pytest.raises(TraceError, match="is of another text"):
        el.head_view(trace, also=[el.attribute(masked(), PLAIN, method="rollout")])
    with pytest.raises(TraceError, match="also holds a trace of attention"):
        el.head_view(trace, also=[trace])


def test_a_saved_neuron_view_has_the_numbers_of_the_quantity_and_the_sum_of_the_attention(trace: el.Trace, also: list[el.Trace]) -> None:
    layer, head, query = 1, len(trace.weights[1]) - 1, TEXT.split().index("[MASK]") + 1
    plain = el.neuron_view(trace, layer=layer, head=head, query=query)
    for index, quantity in enumerate(also, 1):
        view = el.neuron_view(trace, layer=layer, head=head, query=query, also=also, drawn=index)
        first, second = (read(each, each.spec["stacks"][0], each.spec["stacks"][0]["layers"][1], 1, head) for each in (plain, view))
        assert first is not None
        assert second is not None
        np.testing.assert_allclose(second.output, first.output, atol=1e-3)
        maps = quantity.weights[min(layer, len(quantity.weights) - 1)]
        np.testing.assert_allclose(second.weights, maps[min(head, len(maps) - 1), query], atol=0.02 * abs(maps).max())
        saved = still(view)
        assert f">{second.quantity}<" in saved
        assert ">softmax<" not in saved
        assert 'width="-' not in saved
