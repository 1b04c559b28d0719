"""A head clicked in a figure, in a browser: its answer comes into view, and it is lit in every panel."""

from __future__ import annotations

import os
import re
import shutil

import pytest

from eyeline.show.app.kit.page import COOKIE
from eyeline.show.app.kit.workspace import Ownership, write_ownership
from eyeline.words import Words
from tests.show.app.browser.test_pages import visit

__all__ = ["visit"]
pytestmark = [pytest.mark.browser, pytest.mark.slow]  # test_pages.py drives the app in make test

#: The dots of heads in a figure, and points over cells; the rings of a chosen head stand alone.
DOTS = ".scatterlayer .trace:has(path.point ~ path.point) path.point"
#: Whether a reader sees a container, given by its key: half of it, or half of the window where it is larger.
IN_VIEW = """key => {
  const box = document.querySelector(`.st-key-${key}`)?.getBoundingClientRect();
  const seen = box ? Math.min(box.bottom, innerHeight) - Math.max(box.top, 0) : 0;
  return seen > 0 && seen >= Math.min(box.height, innerHeight) / 2;
}"""
#: For each head worth a look, whether its reason begins to the right of its button, not below it.
REASONS = """() => [...document.querySelectorAll('.st-key-notable [data-testid=stHorizontalBlock]')].map((row) => {
  const [button, why] = ['button', '[data-testid=stCaptionContainer]'].map((one) => row.querySelector(one).getBoundingClientRect());
  return why.left >= button.right && why.top < button.bottom;
})"""
#: How many names at the left of the distances lie on the name above.
CROWDED = """() => {
  const names = [...document.querySelectorAll('[class*=st-key-wide-distances] .ytick text')].map((name) => name.getBoundingClientRect());
  names.sort((one, other) => one.top - other.top);
  return names.filter((name, i) => i > 0 && name.top < names[i - 1].bottom - 2).length;
}"""
#: Whether another head is chosen than before.
CHOSEN_ANEW = "before => ![undefined, '', before].includes(document.querySelector('[class*=st-key-head-] input')?.value)"
#: Whether a head has a ring, of two lines, in every panel of a figure.
LIT = """figure => {
  const plot = document.querySelector(`[class*=st-key-wide-${figure}] .js-plotly-plot`);
  const panels = (plot?.data ?? []).filter((trace) => trace.type !== 'heatmap' && trace.customdata && trace.visible !== false).length;
  const rings = [...(plot?.querySelectorAll('.eyeline-rings') ?? [])];
  return panels > 0 && rings.length === panels && rings.every((ring) => ring.children.length === 2);
}"""
#: Whether a ring stands around a point, and is no wider than `most` pixels.
AROUND = """(dot, most) => {
  const box = dot.getBoundingClientRect();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const rings = [...dot.closest('.js-plotly-plot').querySelectorAll('.eyeline-rings > *')].map((ring) => ring.getBoundingClientRect());
  return rings.some((ring) => ring.left < x && x < ring.right && ring.top < y && y < ring.bottom && ring.width <= most);
}"""
#: How far the nearest ring lies from a dot, in pixels.
FROM_RING = """dot => {
  const middle = (shape) => { const box = shape.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; };
  const [x, y] = middle(dot);
  const rings = [...dot.closest('.js-plotly-plot').querySelectorAll('.eyeline-rings > *')].map(middle);
  return Math.min(...rings.map(([left, top]) => Math.hypot(left - x, top - y)));
}"""


def test_a_head_clicked_in_a_figure_opens_its_card_in_view_and_is_lit_in_every_panel(visit):
    me = visit("ko").open("/runs?run=from-the-command-line")
    dots = me.page.locator(f".js-plotly-plot {DOTS}")
    dots.first.wait_for()
    me.page.get_by_text(Words("ko")("names.to.cls"), exact=True).first.wait_for()
    before = me.page.locator("[class*=st-key-head-] input").input_value()
    me.page.evaluate("document.querySelector('.js-plotly-plot').as_before = true")
    dots.nth(30).click(force=True)
    me.page.wait_for_function(CHOSEN_ANEW, arg=before)
    chosen = me.page.locator("[class*=st-key-head-] input").input_value()
    assert re.fullmatch(r"L\d+·H\d+", chosen)
    me.page.get_by_text(Words("ko")("corpus.card", head=chosen)).wait_for()
    me.page.wait_for_function(IN_VIEW, arg="card-of-head")
    me.page.wait_for_function(LIT, arg="average_attention")
    assert dots.nth(30).evaluate(FROM_RING) < 8, "dots of a layer may lie on each other"
    assert me.page.evaluate("document.querySelector('.js-plotly-plot').as_before"), "the figure was not drawn again: that takes longer"
    me.page.get_by_role("tab", name=Words("ko")("figure.entropy.title")).click()
    me.page.wait_for_function(LIT, arg="entropy")
    assert me.foreign == []


def test_a_dot_that_was_clicked_before_brings_its_card_again_and_rings_follow_the_width_of_the_window_and_the_theme(visit):
    me = visit(scheme="dark").open("/runs?run=from-the-command-line")
    dots = me.page.locator(f".js-plotly-plot {DOTS}")
    for _ in range(3):
        me.page.mouse.move(640, 450)
        me.page.mouse.wheel(0, -5000)
        me.page.wait_for_function(f"key => !({IN_VIEW})(key)", arg="card-of-head")
        dots.nth(30).click(force=True)
        me.page.wait_for_function(IN_VIEW, arg="card-of-head")
    me.page.wait_for_function(LIT, arg="average_attention")
    before = dots.nth(30).bounding_box()
    me.page.set_viewport_size({"width": 1000, "height": 900})
    me.page.wait_for_function(
        "([dot, x]) => Math.abs(dot.getBoundingClientRect().x - x) > 20", arg=[dots.nth(30).element_handle(), before["x"]]
    )
    me.page.wait_for_function(LIT, arg="average_attention")
    me.page.wait_for_function(f"dot => ({FROM_RING})(dot) < 8", arg=dots.nth(30).element_handle())
    me.page.emulate_media(color_scheme="light")
    me.until("document.querySelector('.js-plotly-plot .main-svg').style.background.includes('rgb(255, 255, 255)')")
    me.page.wait_for_function(LIT, arg="average_attention")
    assert me.errors == []


@pytest.mark.slow
def test_on_a_phone_a_head_stands_beside_its_reason_names_of_heads_do_not_overlap_and_a_wide_figure_fades_where_it_goes_on(visit):
    me = visit("ko", width=360).open("/runs?run=from-the-command-line")
    me.page.locator(".st-key-notable button").first.wait_for()
    rows = me.page.evaluate(REASONS)
    assert rows
    assert all(beside for beside in rows)
    tab = me.page.get_by_role("tab", name=Words("ko")("figure.distances.title"))
    tab.click()
    me.page.locator("[class*=st-key-wide-distances] .ytick text").first.wait_for()
    me.until(f"({CROWDED})() === 0")
    fades = me.page.locator("[class*=st-key-wide-distances]").evaluate("box => getComputedStyle(box).maskImage")
    assert "calc(100% - 40px)" in fades, "there is more to the right"


@pytest.mark.slow
def test_a_head_clicked_in_a_figure_of_one_text_opens_in_the_view_above(visit):
    me = visit().open("/?text=The+cat+sat.&view=model&layer=1&heads=8")
    me.come_to_the_figures()
    dots = me.page.locator(f"[class*=st-key-wide-entropy] {DOTS}")
    dots.first.wait_for()
    dots.nth(30).click(force=True)
    scene = "document.querySelector('.eyeline-view')?.eyeline?.state()"
    me.until(f"{scene}?.layer === 2 && {scene}.heads.length === 1")  # dots of a layer may lie on each other
    me.page.wait_for_function(IN_VIEW, arg="look-shown")
    me.page.wait_for_function(LIT, arg="entropy")
    assert me.errors == []


def test_a_visitor_renames_an_own_run_sees_its_new_name_and_deletes_it(visit, served):
    own, say = "ab" * 16, Words("en")
    runs = served.workspace / "runs"
    folder = runs / "2026-01-01-0123456789abcdef"
    shutil.copytree(runs / "from-the-command-line", folder, copy_function=os.link)
    write_ownership(folder, Ownership(own))
    me = visit()
    me.context.add_cookies([{"name": COOKIE, "value": own, "url": me.url}])
    me.open(f"/runs?run={folder.name}", wait=".st-key-run-name")
    me.page.get_by_text(say("runs.manage"), exact=True).click()
    me.key("run-rename").locator("input").fill("A better name")
    me.key("rename-run").get_by_role("button").click()
    me.until("[...document.querySelectorAll('.st-key-run-name *')].some((part) => /A better name/.test(part.value ?? part.textContent))")
    me.page.get_by_text(say("runs.delete_sure"), exact=True).click()
    me.page.locator(".st-key-delete-run button:enabled").click()
    me.until("!location.search.includes('0123456789abcdef')")
    assert not folder.exists()
    assert me.page.get_by_text(say("runs.unknown")).count() == 0
    assert me.errors == []
