"""The switch "what is drawn": attention or a quantity beside it, in the head, model and neuron view."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import eyeline as el
from tests.browser.conftest import Shown
from tests.measure.causes.tiny import PLAIN, TEXT, masked

METHODS = ("rollout", "gradient", "integrated-gradients")


@pytest.fixture(scope="module")
def trace() -> el.Trace:
    return masked().trace(TEXT)


@pytest.fixture(scope="module")
def also() -> list[el.Trace]:
    return [el.attribute(masked(), TEXT, method=method) for method in METHODS]


def test_the_head_view_draws_what_the_switch_says_and_names_it(show: Callable[..., Shown], trace: el.Trace, also: list[el.Trace]) -> None:
    shown = show(el.head_view(trace, also=also, heads=[1]))
    assert shown.page.locator("select[name=drawn] option").all_inner_texts() == [
        "Attention",
        "Attention rollout",
        "Gradient × attention",
        "Integrated gradients",
    ]
    shown.page.locator("select[name=drawn]").select_option("2")
    shown.until("state.drawn === 2")
    quantity = also[1]
    largest = float(np.abs(quantity.weights).max())
    by_pair = {(line["from"], line["to"]): line["weight"] for line in shown.scene["lines"]}
    strongest = np.unravel_index(np.abs(quantity.weights[0, 1]).argmax(), quantity.weights[0, 1].shape)
    assert by_pair[strongest] * largest == pytest.approx(float(quantity.weights[0, 1][strongest]), abs=1e-3 * largest)
    assert any(weight < 0 for weight in by_pair.values()) == bool((quantity.weights[0, 1] < -0.02 * largest).any())
    assert shown.page.get_by_text(f"Gradient × attention → {quantity.quantity.answer.strip()}").count() == 1
    assert "Gradient × attention estimates what the answer rests on" in shown.page.locator(".note").inner_text()
    shown.page.locator("select[name=drawn]").select_option("1")
    shown.until("state.drawn === 1 && scene.lines.length > 0 && scene.lines.every((line) => line.head === -1)")
    assert not shown.errors


def test_a_quantity_without_heads_fills_one_column_of_the_model_view(
    show: Callable[..., Shown], trace: el.Trace, also: list[el.Trace]
) -> None:
    shown = show(el.model_view(trace, also=also))
    shown.until("scene.thumbnails.length === 12")
    shown.page.locator("select[name=drawn]").select_option("1")
    shown.until("scene.thumbnails.length === 3")
    shown.page.locator("select[name=drawn]").select_option("2")
    shown.until("scene.thumbnails.length === 12")
    assert not shown.errors


def test_the_neuron_view_draws_the_quantity_beside_the_score(show: Callable[..., Shown], trace: el.Trace, also: list[el.Trace]) -> None:
    shown = show(el.neuron_view(trace, also=also, layer=0, head=1, query=3, drawn=2))
    shown.until("state.drawn === 2 && scene.keys_shown.length > 0")
    drawn = np.array([row["drawn"] for row in shown.scene["keys_shown"]])
    expected = also[1].weights[0, 1, 3] / np.abs(also[1].weights).max()
    assert np.abs(drawn - expected).max() < 1e-4
    shown.page.locator("select[name=drawn]").select_option("0")
    shown.until("scene.keys_shown.every((row) => row.drawn === null)")
    assert not shown.errors


def test_a_view_of_attention_alone_has_no_switch(show: Callable[..., Shown], trace: el.Trace) -> None:
    shown = show(el.head_view(trace))
    assert shown.page.locator("select[name=drawn]").count() == 0


def test_the_neuron_view_goes_to_the_query_that_answers_when_a_quantity_about_the_answer_is_chosen(
    show: Callable[..., Shown], trace: el.Trace, also: list[el.Trace]
) -> None:
    answering = also[2].quantity.position
    shown = show(el.neuron_view(trace, also=also, layer=0, head=1, query=answering - 2))
    shown.page.locator("select[name=drawn]").select_option("3")
    shown.until(f"state.drawn === 3 && state.query === {answering} && scene.keys_shown.some((key) => Math.abs(key.drawn) > 0.01)")
    shown.page.locator("select[name=drawn]").select_option("0")
    shown.until("state.drawn === 0")
    assert shown.state["query"] == answering


def test_without_an_answer_the_title_says_that_decompx_is_lengths_without_a_sign(show: Callable[..., Shown]) -> None:
    lengths = el.attribute(masked(), PLAIN, method="decompx")
    assert not lengths.quantity.signed
    assert lengths.quantity.name == "DecompX, lengths of the parts (no answer, so no sign)"
    shown = show(el.head_view(masked().trace(PLAIN), also=[lengths], drawn=1))
    assert shown.page.locator("h2.title").inner_text().startswith(lengths.quantity.name)
