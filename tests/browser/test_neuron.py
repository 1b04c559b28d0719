"""The neuron view: every step from vectors to weights, with the true numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import eyeline as el
from tests.browser import made_up
from tests.tiers import slow_but


def test_scores_and_weights_are_those_of_the_head(show):
    shown = show(made_up.neurons(10, state={"query": 4}))
    rows = shown.scene["keys_shown"]
    assert len(rows) == 10
    total = np.array([row["score"] for row in rows])
    weights = np.exp(total - total.max()) / np.exp(total - total.max()).sum()
    assert np.allclose([row["weight"] for row in rows], weights, atol=1e-4)


def test_a_row_expands_to_dimensions_that_sum_to_the_score(show):
    shown = show(made_up.neurons(10, dims=16))
    box = shown.page.locator("canvas").bounding_box()
    shown.page.mouse.click(box["x"] + 30, box["y"] + 62 + 22 * 3 + 10)
    shown.until("state.expanded === 3 && scene.expanded.length === 16")
    scene = shown.scene
    assert sum(d["product"] for d in scene["expanded"]) * 0.25 == pytest.approx(scene["keys_shown"][3]["score"], abs=1e-4)
    assert all(d["q"] * d["k"] == pytest.approx(d["product"], abs=1e-4) for d in scene["expanded"])
    shown.page.keyboard.press("Escape")
    shown.until("state.expanded === null && scene.expanded.length === 0")


def test_grouped_keys_and_masked_keys(show):
    shown = show(made_up.neurons(10, heads=8, key_heads=2, causal=True, state={"query": 6, "heads": [7]}))
    assert [row["masked"] for row in shown.scene["keys_shown"]] == [False] * 7 + [True] * 3
    assert "key head 1 of 2" in shown.page.locator(".caption").inner_text()
    seen = [row for row in shown.scene["keys_shown"] if not row["masked"]]
    total = np.array([row["score"] for row in seen])
    assert np.allclose([row["weight"] for row in seen], np.exp(total) / np.exp(total).sum(), atol=1e-4)


def test_the_bias_is_a_column_of_its_own(show):
    shown = show(made_up.neurons(10, bias=True, state={"query": 2}))
    rows = shown.scene["keys_shown"]
    assert [row["bias"] for row in rows] == pytest.approx([-0.3 * abs(2 - j) for j in range(10)], abs=1e-5)
    total = np.array([row["score"] + row["bias"] for row in rows])
    assert np.allclose([row["weight"] for row in rows], np.exp(total) / np.exp(total).sum(), atol=1e-4)


def test_query_head_and_layer_can_be_chosen(show):
    shown = show(made_up.neurons(10))
    shown.click("[data-token='5']")
    shown.until("state.query === 5")
    shown.page.locator("select[name=head]").select_option("3")
    shown.page.locator("select[name=layer]").select_option("1")
    shown.until("state.heads.join() === '3' && state.layer === 1")

    def check() -> None:
        assert "L1·H3" in shown.page.locator(".caption").inner_text()

    shown.soon(check)


def test_a_causal_model_begins_at_the_last_token(show):
    def without_query(view):
        return replace(view, spec={**view.spec, "state": {key: value for key, value in view.spec["state"].items() if key != "query"}})

    shown = show(without_query(made_up.neurons(10, causal=True)))
    assert shown.state["query"] == 9
    assert show(made_up.neurons(10, causal=True, state={"query": 0})).state["query"] == 0
    assert show(without_query(made_up.neurons(10))).state["query"] == 0
    shown.click("[data-token='0']")
    shown.until("state.query === 0 && scene.keys_shown.filter((row) => !row.masked).length === 1")
    shown.page.locator("select[name=layer]").select_option("1")
    shown.until("state.layer === 1")
    assert shown.state["query"] == 0  # chosen, and kept


def test_the_queries_follow_the_reading_controls(show):
    view = made_up.neurons(12, pair=True, state={"query": 0})
    (text,) = view.spec["texts"]
    second = [i for i, segment in enumerate(text["segments"]) if segment == 1]
    plain = [i for i in second if not text["special"][i]]
    shown = show(view)
    offered = shown.page.locator(".sentence button:visible")
    assert offered.count() == 12
    shown.page.locator("select[name=segments]").select_option("ba")
    shown.until(f"state.query === {second[0]} && scene.queries.length === {len(second)}")
    assert [int(button.get_attribute("data-token")) for button in offered.all()] == second
    assert all(text["segments"][row["key"]] == 0 for row in shown.scene["keys_shown"])
    shown.click(f"[data-token='{second[-1]}']")
    shown.until(f"state.query === {second[-1]}")
    shown.reading()
    shown.page.locator("input[name=hide_special]").check()
    shown.until(f"state.query === {plain[0]} && scene.queries.length === {len(plain)}")
    assert [int(button.get_attribute("data-token")) for button in offered.all()] == plain
    offered.first.focus()
    shown.page.keyboard.press("End")
    shown.until(f"state.query === {plain[-1]}")


def test_a_view_without_vectors_says_so(show):
    view = made_up.view("head", 8, layers=1, heads=2)
    shown = show(replace(view, kind="neuron", spec={**view.spec, "kind": "neuron"}))
    shown.page.get_by_text("made without query and key vectors").wait_for()


@pytest.mark.slow
@pytest.mark.parametrize(("layer", "head", "query"), slow_but([(12, 8, 4)], [(0, 3, 9), (12, 8, 4)]))
def test_what_is_shown_of_a_real_model_agrees_with_itself(show, smollm2, layer, head, query):
    trace = smollm2.trace("The keys that the old librarian had forgotten were found.", layers=[layer])
    shown = show(el.neuron_view(trace, layer=layer, head=head, query=query))
    rows = shown.scene["keys_shown"]
    assert [row["masked"] for row in rows] == [key > query for key in range(len(trace.text))]
    seen = rows[: query + 1]
    total = np.array([row["score"] for row in seen])
    softmax = np.exp(total - total.max()) / np.exp(total - total.max()).sum()
    np.testing.assert_allclose([row["weight"] for row in seen], softmax, atol=5e-5)
    np.testing.assert_allclose([row["weight"] for row in rows], trace.weights[0, head, query], atol=3e-5)


def test_weighted_values_of_the_chosen_query_add_up_to_the_heads_output(show):
    trace = made_up.neuron_trace(10, heads=8, key_heads=2)
    shown = show(el.neuron_view(trace, layer=1, head=6))
    shown.click("[data-token='5']")
    shown.until("state.query === 5 && scene.output.length === 64")
    scene = shown.scene
    values = trace.values[1, 1]
    for row in scene["keys_shown"]:
        np.testing.assert_allclose(row["contribution"], row["weight"] * values[row["key"]], atol=1e-4)
    np.testing.assert_allclose(scene["output"], trace.outputs[1, 6, 5], atol=1e-3)
    assert not shown.page.locator(".missing").is_visible()


def test_a_view_without_values_keeps_its_steps_and_says_why_the_last_is_missing(show):
    shown = show(made_up.neurons(10, values=False))
    assert shown.scene["output"] == []
    assert len(shown.scene["keys_shown"]) == 10
    assert shown.page.locator(".missing").inner_text().startswith("The sum of values is not shown: ")


@pytest.mark.parametrize("query", [0, 30, 58])
def test_the_list_of_queries_shows_whole_rows_of_tokens(show, query):
    page = show(made_up.neurons(60, state={"query": query}), width=390, height=844).page
    list_top, height, scrolled, tops = page.evaluate(
        """(() => { const list = document.querySelector("#view > *").shadowRoot.querySelector(".sentence");
        const tops = [...list.querySelectorAll("button")].map((each) => each.offsetTop);
        return [list.offsetTop, list.clientHeight, list.scrollTop, tops]; })()"""
    )
    tops = [top - list_top for top in tops]
    assert scrolled == min((top for top in tops if top >= scrolled), default=None) or scrolled == 0
    assert scrolled <= tops[query] < scrolled + height - 20


def test_a_page_of_a_long_text_holds_the_layers_nearest_to_the_one_shown_and_says_so(show, monkeypatch):
    from eyeline.look.views import neuron

    trace = made_up.neuron_trace(40)
    whole = el.neuron_view(trace, layer=1, head=0)
    size = 4 / 3 * sum(len(array.data) for array in whole.arrays.values())
    monkeypatch.setattr(neuron, "LARGEST_PAGE", 0.6 * size)
    view = el.neuron_view(trace, layer=1, head=0)
    assert [layer["layer"] for layer in view.spec["stacks"][0]["layers"]] == [1]
    assert 4 / 3 * sum(len(array.data) for array in view.arrays.values()) <= 0.6 * size
    shown = show(view)
    assert "This page holds layers 1 of 2" in shown.page.locator(".notice").inner_text()
    assert "L1·H0" in shown.page.locator(".caption").inner_text()
    assert len(el.neuron_view(trace, layer=1, head=0, layers=[0, 1]).spec["stacks"][0]["layers"]) == 2
