"""`el.generation_view`: what a page of a generation holds, and its still picture."""

from __future__ import annotations

import numpy as np
import pytest

import eyeline as el
from eyeline.errors import TraceError
from eyeline.look.views.generation import STRONGEST, strongest
from tests.browser.made_up import made_generation


def test_the_strongest_keys_and_the_rest_are_the_row() -> None:
    rows = np.random.default_rng(0).dirichlet(np.ones(300) / 20, size=5).astype(np.float32)
    positions, weights, rest = strongest(rows)
    assert positions.shape == (5, STRONGEST)
    np.testing.assert_allclose(weights.sum(1) + rest, 1, atol=1e-5)
    for row, keys, kept in zip(rows, positions, weights, strict=True):
        np.testing.assert_array_equal(row[keys], kept)
        assert kept.min() >= np.delete(row, keys).max()


def test_a_view_opens_at_the_head_that_is_asked_for_and_refuses_others() -> None:
    generation = made_generation()
    state = el.generation_view(generation, layer=1, head=1, written=3).state
    assert (state["shown"], state["layer"], state["heads"], state["written"]) == ("head", 1, [1], 3)
    with pytest.raises(TraceError, match="Layer 7 is not in this generation"):
        el.generation_view(generation, layer=7)
    with pytest.raises(TraceError, match="written=99"):
        el.generation_view(generation, written=99)
    with pytest.raises(TraceError, match="Give the layer"):
        el.generation_view(generation, head=1)
    with pytest.raises(TraceError, match="a generation was expected"):
        el.generation_view("text")


def test_rows_that_have_no_room_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eyeline.look.views.generation.MOST_ROW_BYTES", 900)
    view = el.generation_view(made_generation())
    held = len(view.spec["generation"]["rows"])
    assert 1 <= held < 1 + 3 + 6
    assert view.spec["notices"] == [
        f"A page has room for part of the rows: {10 - held} are left out. The saved generation holds all of them."
    ]


def test_a_sentence_says_where_shares_and_effects_disagree() -> None:
    generation = made_generation(effects=True)
    shares = dict(zip(generation.parts, generation.main.shares_at().mean(0), strict=True))
    change = dict(zip(generation.effects.parts, np.abs(generation.effects.removed).mean(0), strict=True))
    looked, did = (max(generation.effects.parts, key=values.__getitem__) for values in (shares, change))
    notices = el.generation_view(generation).spec.get("notices", [])
    assert bool(notices) == (looked != did)
    turned = el.PartEffects(("system", "document"), generation.effects.removed[:, ::-1], generation.effects.cut)
    other = el.generation_view(generation.with_effects(turned)).spec.get("notices", [])
    assert bool(other) != bool(notices)


@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_the_still_picture_has_the_parts_and_a_cell_for_each_head(language: str, tmp_path) -> None:
    view = el.generation_view(made_generation(strange=True), layer=1, head=0, written=2, language=language)
    view.save(tmp_path / "still.svg")
    drawn = (tmp_path / "still.svg").read_text()
    assert "document" in drawn
    assert "L1·H0" in drawn
    assert drawn.count('rx="2"') == 6
    view.save(tmp_path / "still.png")
    assert (tmp_path / "still.png").read_bytes().startswith(b"\x89PNG")
