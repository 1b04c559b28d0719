"""The view of a generation: a written token lights what it looked at, with the numbers of its row; shares, grid, keys, play."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import eyeline as el
from tests.browser import made_up


def lit(shown) -> dict[int, float]:
    return {entry["position"]: entry["value"] for entry in shown.scene["lit"] if entry["value"] > 0}


def test_a_click_on_a_written_token_lights_its_row(show):
    generation = made_up.made_generation()
    shown = show(made_up.generation())
    shown.page.locator("[data-written='4']").click()
    shown.page.mouse.move(2, 2)
    shown.until("state.written === 4 && scene.written === 4")
    row = generation.mean_rows.mean(0)[4]
    weights = lit(shown)
    assert set(np.flatnonzero(row > 1e-3)) <= set(weights)
    assert all(weights[key] == pytest.approx(row[key], abs=6e-4) for key in weights)
    assert shown.scene["shares"] == pytest.approx(generation.main.shares_at()[4].tolist(), abs=1e-4)
    strongest = int(row[1:].argmax()) + 1
    assert shown.page.locator(".gen-token[data-weight]").first.count() == 1
    assert f"{row[strongest]:.3f}" in shown.page.locator(".gen-sentence").inner_text()


def test_a_cell_of_the_grid_opens_the_row_of_its_head(show):
    generation = made_up.made_generation()
    shown = show(made_up.generation())
    grid = shown.scene["grid"]
    part = generation.parts.index("document")
    assert grid == [pytest.approx(of_layer[:, :, part].mean(1).tolist(), abs=1e-4) for of_layer in generation.main.shares_by_layer]
    canvas = shown.page.locator("canvas").last
    canvas.click(position={"x": 28 + 24 * 2 + 10, "y": 24 + 10})
    shown.until("state.shown === 'head' && state.layer === 2 && state.heads[0] === 1")
    written = shown.state["written"]
    row = generation.row_of((2, 1))[written]
    assert all(value == pytest.approx(row[key], abs=6e-4) for key, value in lit(shown).items())


def test_a_head_without_rows_shows_the_mean_of_its_layer_and_says_so(show):
    generation = made_up.made_generation(rows=False)
    shown = show(made_up.generation(rows=False).starting(shown="head", layer=1, heads=[1]))
    row = generation.mean_rows[1][shown.state["written"]]
    assert all(value == pytest.approx(row[key], abs=6e-4) for key, value in lit(shown).items())
    assert "Only the shares of this head were kept" in shown.page.locator(".gen").inner_text()


def test_keys_and_play_move_from_token_to_token(show):
    shown = show(made_up.generation().starting(written=0))
    shown.page.locator(".view").first.focus()
    shown.page.keyboard.press("ArrowRight")
    shown.until("state.written === 1")
    shown.page.keyboard.press("End")
    shown.until("state.written === 5")
    shown.page.keyboard.press("ArrowRight")
    shown.page.keyboard.press("Home")
    shown.until("state.written === 0")
    shown.page.keyboard.press("ArrowDown")
    shown.until("state.shown === 'layer' && state.layer === 1")
    shown.click("[data-name=play]")
    shown.until("state.written >= 2")
    shown.click("[data-name=play]")
    shown.until("!scene.playing")


def test_a_part_colours_the_grid(show):
    generation = made_up.made_generation()
    shown = show(made_up.generation())
    shown.click(".gen-key[data-part='1']")
    shown.until("state.part === 1")
    expected = [of_layer[:, :, 1].mean(1).tolist() for of_layer in generation.main.shares_by_layer]
    assert shown.scene["grid"] == [pytest.approx(each, abs=1e-4) for each in expected]


def test_the_first_position_is_unlit_and_its_share_is_said(show):
    shown = show(made_up.generation().starting(written=2))
    row = made_up.made_generation().mean_rows.mean(0)[2]
    assert f"first position {row[0]:.3f}, not lit" in shown.page.locator(".gen-sentence").inner_text()
    shown.click("[name=mute_sinks]")
    shown.until("state.mute_sinks === false")
    assert "not lit" not in shown.page.locator(".gen-sentence").inner_text()


def test_effects_stand_beside_the_shares(show):
    shown = show(made_up.generation(effects=True).starting(written=1))
    effects = made_up.made_generation(effects=True).effects.removed[1]
    text = shown.page.locator(".gen").inner_text()
    assert f"system {effects[0]:.3f}" in text
    assert f"document {effects[1]:.3f}" in text


def test_on_a_phone_everything_fits(show):
    shown = show(made_up.generation(), width=360, height=740)
    assert shown.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown.page.locator("[data-written='2']").click()
    shown.until("state.written === 2")


@pytest.mark.slow
def test_a_long_generation_is_a_small_page_and_draws_soon(show, tmp_path: Path):
    """8,192 + 512 tokens with 30 layers: the page keeps the strongest keys, and answers a pointer within a frame or two."""
    small = made_up.made_generation(8192, 512, layers=1, heads=1, rows=False)
    shares = np.random.default_rng(0).dirichlet(np.ones(6), size=(30, 9, 512)).astype(np.float32)
    stack = replace(
        small.main,
        layers=tuple(range(30)),
        shares_by_layer=tuple(shares),
        mean_by_layer=small.main.mean_by_layer * 30,
        heads_by_layer=((),) * 30,
        rows_by_layer=small.main.rows_by_layer * 30,
    )
    view = el.generation_view(replace(small, stacks={"decoder": stack}))
    view.save(tmp_path / "long.html")
    assert os.path.getsize(tmp_path / "long.html") < 10_000_000
    shown = show(view)
    shown.until("scene.written === state.written")
    shown.page.locator("[data-written='300']").click()
    shown.until("state.written === 300 && scene.written === 300")
    assert len(shown.scene["lit"]) == 64
    assert sum(entry["value"] for entry in shown.scene["lit"]) + shown.scene["rest"] == pytest.approx(1, abs=0.01)
