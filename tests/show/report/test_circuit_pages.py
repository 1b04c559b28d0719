"""The pages of a circuit's run: a click on a node of the graph opens that head on the text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import eyeline as el
from tests.measure.causes.by_hand import induction_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = el.circuit(induction_model(), "a b c d a", "c b a d a", answer="b", against="d", positions=False)
    folder = run.save(tmp_path_factory.mktemp("circuit") / "run")
    el.runs.write_report(folder)
    return Path(folder)


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize(("page", "figure"), [("figures/circuit.html", ".plotly-graph-div"), ("report.html", "#figure-circuit")])
def test_a_click_on_a_node_opens_the_head_on_the_text(browser: Any, folder: Path, page: str, figure: str) -> None:
    opened = browser.new_page(viewport={"width": 1000, "height": 900})
    try:
        opened.goto((folder / page).as_uri())
        node = opened.locator(f"{figure} text", has_text="L1·H0").first
        node.scroll_into_view_if_needed()
        box = node.bounding_box()
        opened.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        opened.wait_for_url("**/views/circuit.html#*")
        opened.wait_for_selector("#view[data-drawn]", state="attached")
        state = opened.evaluate("document.getElementById('view').eyeline.state()")
        assert (state["layer"], state["heads"]) == (1, [0])
    finally:
        opened.close()


@pytest.mark.slow
@pytest.mark.browser
def test_the_labels_of_the_nodes_do_not_overlap_on_screen(browser: Any, folder: Path) -> None:
    opened = browser.new_page(viewport={"width": 1000, "height": 900})
    try:
        opened.goto((folder / "figures/circuit.html").as_uri())
        labels = opened.locator(".plotly-graph-div .textpoint text")
        labels.first.wait_for()
        boxes = [label.bounding_box() for label in labels.all()]
        assert len(boxes) >= 4
        for index, a in enumerate(boxes):
            for b in boxes[:index]:
                across = a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"]
                assert across or a["y"] + a["height"] <= b["y"] or b["y"] + b["height"] <= a["y"]
    finally:
        opened.close()
