"""The neuron view: every step from vectors to weights, with the true numbers."""

from __future__ import annotations

import numpy as np
import pytest


def test_scores_and_weights_are_those_of_the_head(show, fixtures):
    shown = show(fixtures.neurons(10, state={"query": 4}))
    rows = shown.scene["keys_shown"]
    assert len(rows) == 10
    total = np.array([row["score"] for row in rows])
    weights = np.exp(total - total.max()) / np.exp(total - total.max()).sum()
    assert np.allclose([row["weight"] for row in rows], weights, atol=1e-4)


def test_a_row_expands_to_dimensions_that_sum_to_the_score(show, fixtures):
    shown = show(fixtures.neurons(10, dims=16))
    box = shown.page.locator("canvas").bounding_box()
    shown.page.mouse.click(box["x"] + 30, box["y"] + 62 + 22 * 3 + 10)
    shown.until("state.expanded === 3 && scene.expanded.length === 16")
    scene = shown.scene
    assert sum(d["product"] for d in scene["expanded"]) * 0.25 == pytest.approx(scene["keys_shown"][3]["score"], abs=1e-4)
    assert all(d["q"] * d["k"] == pytest.approx(d["product"], abs=1e-4) for d in scene["expanded"])
    shown.page.keyboard.press("Escape")
    shown.until("state.expanded === null && scene.expanded.length === 0")


def test_grouped_keys_and_masked_keys(show, fixtures):
    shown = show(fixtures.neurons(10, heads=8, key_heads=2, causal=True, state={"query": 6, "heads": [7]}))
    assert [row["masked"] for row in shown.scene["keys_shown"]] == [False] * 7 + [True] * 3
    assert "key head 1 of 2" in shown.page.locator(".caption").inner_text()
    seen = [row for row in shown.scene["keys_shown"] if not row["masked"]]
    total = np.array([row["score"] for row in seen])
    assert np.allclose([row["weight"] for row in seen], np.exp(total) / np.exp(total).sum(), atol=1e-4)


def test_the_bias_is_a_column_of_its_own(show, fixtures):
    shown = show(fixtures.neurons(10, bias=True, state={"query": 2}))
    rows = shown.scene["keys_shown"]
    assert [row["bias"] for row in rows] == pytest.approx([-0.3 * abs(2 - j) for j in range(10)], abs=1e-5)
    total = np.array([row["score"] + row["bias"] for row in rows])
    assert np.allclose([row["weight"] for row in rows], np.exp(total) / np.exp(total).sum(), atol=1e-4)


def test_query_head_and_layer_can_be_chosen(show, fixtures):
    shown = show(fixtures.neurons(10))
    shown.click("[data-token='5']")
    shown.until("state.query === 5")
    shown.page.locator("select[name=head]").select_option("3")
    shown.page.locator("select[name=layer]").select_option("1")
    shown.until("state.heads.join() === '3' && state.layer === 1")
    assert "L1·H3" in shown.page.locator(".caption").inner_text()


def test_a_view_without_vectors_says_so(show, fixtures):
    data = fixtures.view("neuron", 8, layers=1, heads=2)
    shown = show(data)
    shown.page.get_by_text("made without query and key vectors").wait_for()
