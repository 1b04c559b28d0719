"""A saved head view draws the layer that it opens at first; the other layers are read when they are wanted."""

from __future__ import annotations

import eyeline as el
from tests.browser import made_up


def test_the_page_draws_before_the_browser_has_read_the_other_layers(show):
    trace = made_up.trace(12, layers=3, heads=4)
    head = show(el.head_view(trace, layer=0))
    read = head.page.evaluate("performance.getEntriesByType('navigation')[0].domInteractive")
    assert head.page.evaluate("performance.getEntriesByName('eyeline:drawn')[0].startTime") <= read
    assert head.page.locator("#eyeline-arrays").count() == 1
    head.page.keyboard.press("ArrowDown")
    head.until("state.layer === 1")
    assert head.page.locator("#eyeline-arrays").count() == 0
    line = head.scene["lines"][0]
    assert abs(line["weight"] - trace.weights[1, line["head"]][line["from"], line["to"]]) < 0.0005
