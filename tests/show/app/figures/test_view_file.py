"""A picture of a view as its reader has set it."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

import eyeline as el
from eyeline.show.app.kit.figures import view_file
from eyeline.show.app.kit.mounted import VIEWS, with_state
from eyeline.words import Words


def test_a_picture_of_the_view_follows_its_settings_in_the_language_of_the_page():
    trace = el.Trace.from_arrays(np.full((1, 2, 3, 3), 1 / 3, dtype=np.float32), ["a", "b", "c"])
    state = {"theme": "dark", "combine": "mean", "locked": [1], "layer": 7}  # there is no layer 7: what cannot be is ignored
    drawn = view_file(Words("ja"), lambda: with_state(VIEWS["head"](trace), state), "svg").decode()
    assert "ヘッドの平均 · 1 個を固定" in drawn
    assert "#0f1115" in drawn


def test_the_look_page_offers_the_view_as_it_is_seen(script):
    at = script("look").run()
    labels = [element.proto.label for element in at.get("download_button")]
    assert [Words("en")(f"look.seen_{ending}") for ending in ("svg", "png", "pdf")] == labels[:3]


def test_the_graph_of_a_long_text_scrolls_in_its_box(browser):
    css = files("eyeline.show.app").joinpath("style.css").read_text(encoding="utf-8")
    page = browser.new_page()
    page.set_content(f'<style>{css}</style><div class="st-key-graph"><img style="height: 4000px; width: 300px"></div>')
    box = page.locator(".st-key-graph").bounding_box()
    page.close()
    assert box["height"] <= 720
