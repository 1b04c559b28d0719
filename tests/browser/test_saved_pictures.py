"""Pictures drawn in Python show what the page shows in the same state: the same labels, the same lines, the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from eyeline.look.views.drawing import head_maps, text_of, visible_part
from eyeline.look.views.still import SAVED, chosen_lines, read, still, thumbnail_colour
from eyeline.measure.space.still import links_of, open_head, placed, red_links
from tests.browser import made_up, made_up_space
from tests.browser.conftest import Shown
from tests.tiers import slow_but

STATES: dict[str, dict[str, Any]] = {
    "plain": {},
    "some heads of another layer": {"layer": 1, "heads": [0, 3]},
    "words without special tokens": {"level": "word", "hide_special": True},
    "one half of a pair": {"segments": "ab", "renormalise": True},
    "without the sink": {"hide_sink": True, "renormalise": True},
    "a threshold, stretched": {"threshold": 0.2, "rescale": True},
    "held": {"locked": [4, 6], "heads": [1, 2]},
    "held, looked at by": {"locked": [3], "direction": "to", "threshold": 0.01},
    "combined": {"combine": "mean", "combine_layers": [1], "heads": [0, 1, 2]},
    "the largest of all": {"combine": "max", "zoom": {"k": 2}},
}


@pytest.mark.parametrize("name", slow_but(["words without special tokens", "held", "combined"], STATES))
def test_a_picture_of_lines_has_the_labels_and_the_lines_of_the_page(show: Callable[..., Shown], name: str) -> None:
    view = made_up.view("head", 14, layers=2, heads=4, pair=True, state=STATES[name])
    scene = show(view, height=1400).scene
    part = visible_part(view, view.state.get("layer", 0))
    maps = head_maps(view, part)
    lines = chosen_lines(view, part, maps, SAVED.lines)
    assert (part.queries, part.keys) == (scene["queries"], scene["keys"])
    text = text_of(view.spec["texts"][0])
    groups = text.word_groups if part.unit == "word" else [(index,) for index in range(len(text))]
    first = [[groups[unit][0] for unit in side] for side in (part.rows, part.columns)]  # the page names a line by its first tokens
    each = zip(lines.map, lines.query, lines.key, lines.weight, strict=True)
    drawn = {(maps[m].head, first[0][query], first[1][key]): weight for m, query, key, weight in each}
    on_page = {(line["head"], line["from"], line["to"]): line["weight"] for line in scene["lines"]}
    assert drawn.keys() == on_page.keys()
    np.testing.assert_allclose([drawn[key] for key in on_page], list(on_page.values()), atol=1e-5)


THUMBNAILS: list[dict[str, Any]] = [
    {"colour_by": "head"},
    {"colour_by": "layer"},
    {"colour_by": "layer", "theme": "dark"},
    {"colour_by": "entropy", "theme": "dark"},
    {"colour_by": "special", "rows": [1], "columns": [2, 0]},
]


@pytest.mark.parametrize("state", slow_but(THUMBNAILS[3:], THUMBNAILS))
def test_thumbnails_have_the_order_and_the_colours_of_the_page(show: Callable[..., Shown], state: dict[str, Any]) -> None:
    view = made_up.view("model", 12, layers=3, heads=4, state=state)
    picture = still(view, SAVED)
    for thumbnail in show(view).scene["thumbnails"]:
        colour = thumbnail_colour(view, thumbnail["layer"], thumbnail["head"], dark=state.get("theme") == "dark")
        channels = [[int(hue[at : at + 2], 16) for at in (1, 3, 5)] for hue in (colour, thumbnail["colour"])]
        np.testing.assert_allclose(*channels, atol=1)  # lifted colours are rounded
        assert f'stroke="{colour}"' in picture
    headings = [text for text in ("H0", "H1", "H2", "H3") if f">{text}<" in picture]
    assert headings == [f"H{head}" for head in sorted(state.get("columns", range(4)))]


@pytest.mark.parametrize("state", [{"query": 5}, {"query": 8, "hide_special": True, "threshold": 0.01}, {"query": 3, "hide_sink": True}])
def test_a_neuron_picture_has_the_rows_of_the_page(show: Callable[..., Shown], state: dict[str, Any]) -> None:
    view = made_up.neurons(12, causal=True, bias=True, state=state)
    rows = show(view).scene["keys_shown"]
    stack = view.spec["stacks"][0]
    step = read(view, stack, stack["layers"][0], 0, 0)
    assert step is not None
    assert step.bias is not None
    assert step.tokens == [row["token"] for row in rows]
    assert step.masked.tolist() == [row["masked"] for row in rows]
    for name, values in (("score", step.scores), ("bias", step.bias), ("weight", step.weights)):
        np.testing.assert_allclose(values, [row[name] for row in rows], atol=1e-4)


SPACES: dict[str, dict[str, Any]] = {
    "every query's first key": {"links": "best"},
    "of the chosen point": {"point": 7},
    "the strongest of all": {"links": "top", "links_top": 9},
    "of one text": {"links": "best", "text": 1},
    "none, but red pairs": {"links": "none", "pairs": "fox → the; brown:quick"},
    "zoomed": {"links": "best", "zoom": {"x": 0.2, "y": 0.3, "k": 2}},
}


@pytest.mark.parametrize("name", slow_but(["of the chosen point", "zoomed"], SPACES))
@pytest.mark.parametrize("dims", slow_but([2], [2, 3]))
def test_a_picture_of_an_open_space_has_the_lines_and_the_points_of_the_page(show: Callable[..., Shown], name: str, dims: int) -> None:
    view = made_up_space.view(dims=dims, state={"opened": True, "layer": 1, "heads": [2], **SPACES[name]})
    (scene,) = show(view).scene["spaces"]
    opened = open_head(view, 1, 2)
    assert {(link.start, link.end) for link in links_of(opened, view.state)} == {(link["from"], link["to"]) for link in scene["links"]}
    assert {(link.start, link.end) for link in red_links(view, opened)} == {(link["from"], link["to"]) for link in scene["red"]}
    on_page, drawn = np.array(scene["positions"])[:, :2], placed(opened, view.state, 1.0)
    scale = (on_page[:, 0].max() - on_page[:, 0].min()) / (drawn[:, 0].max() - drawn[:, 0].min())
    np.testing.assert_allclose(on_page - on_page[0], scale * (drawn - drawn[0]), atol=0.5)  # the same picture, up to its size
    assert still(view, SAVED).count("<path") > 0
