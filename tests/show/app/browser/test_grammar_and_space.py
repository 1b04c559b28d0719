"""Grammar and Space in a browser: what a visitor sees and does."""

from __future__ import annotations

import os
import shutil
from typing import Any

import pytest

import eyeline as el
from eyeline.measure.grammar.result import opening_relation, relation_rows
from eyeline.words import LANGUAGES, Words
from tests.show.app.browser.test_clicks import AROUND, DOTS, FROM_RING, IN_VIEW, LIT
from tests.show.app.browser.test_pages import VIEW, visit
from tests.tiers import slow_but

__all__ = ["visit"]
pytestmark = [pytest.mark.browser, pytest.mark.slow]  # test_pages.py drives the app in make test

OVERFLOW = "document.documentElement.scrollWidth"
#: Pixels of a row of a table that can be clicked.
ROW_HEIGHT = 35


@pytest.fixture(scope="module")
def runs(served, shallow, kept_runs) -> None:
    """One run of each kind in the workspace, and the model that they are of."""
    shutil.copytree(shallow, served.workspace / "models" / "shallow", copy_function=os.link)
    shutil.copytree(kept_runs, served.workspace / "runs", dirs_exist_ok=True)


def choose_cell(me: Any, cell: Any, name: str, page: str = "grammar") -> None:
    """Click a cell until its head is chosen: the page may still move under the pointer, and a reader who hit another cell clicks again."""
    head = me.page.locator(f"[class*=st-key-{page}-head-] input")
    for _ in range(5):
        me.page.mouse.wheel(0, -1)  # the reader has moved on: the last answer is not scrolled to any more
        cell.click(force=True)
        for _ in range(60):
            if head.input_value() == name:
                return
            me.page.wait_for_timeout(100)
    raise AssertionError(f"{name} was not chosen, but {head.input_value()}")


@pytest.mark.slow
def test_a_newcomer_measures_the_built_in_sentences_and_opens_relations_and_heads(visit):
    say = Words("en")
    me = visit().open("/grammar", wait=".st-key-grammar-run button")
    me.page.get_by_text("Made-up English sentences").wait_for()
    number = me.key("grammar-limit").locator("input")
    number.fill("40")
    number.press("Enter")
    me.until("document.querySelector('.stApp').dataset.testScriptState === 'notRunning'")
    me.key("grammar-run").get_by_role("button").click()
    me.page.get_by_text(say("corpus.saved")).or_(me.page.get_by_text(say("jobs.measured_before"))).wait_for()
    me.page.locator("[class*=st-key-wide-examples] .js-plotly-plot").wait_for()
    assert me.page.locator("[class*=st-key-wide-examples] path[style*='rgb(208, 0, 0)']").count() > 0, "the gold arc is red"
    me.page.wait_for_selector(VIEW)
    cells = me.page.locator("[class*=st-key-wide-syntax] .scatterlayer .trace").last.locator("path.point")
    choose_cell(me, cells.nth(7), "L0·H7")
    me.page.get_by_text(say("corpus.card", head="L0·H7")).wait_for()
    me.page.wait_for_function(IN_VIEW, arg="grammar-card")
    me.page.wait_for_function(LIT, arg="syntax")
    assert cells.nth(7).evaluate(AROUND, 16), "one frame around the column of the head"
    assert me.page.locator("[class*=st-key-wide-syntax] .eyeline-rings rect").count() == 2
    for index, name in ((29, "L2·H5"), (51, "L4·H3")):  # a cell is narrower than a dot: the one under the pointer counts
        choose_cell(me, cells.nth(index), name)
        assert cells.nth(index).evaluate(AROUND, 16)
    for kind, figure in (("coreference", "coreference_heads"), ("probe", "probe_weights")):
        me.page.get_by_role("tab", name=say(f"grammar.analysis_{kind}")).click()
        me.page.locator(f"[class*=st-key-wide-{figure}] .js-plotly-plot .heatmaplayer image").first.wait_for()
    assert me.foreign == []
    assert me.errors == []


@pytest.mark.slow
def test_a_head_is_opened_in_the_space_and_seen_by_another_projection(visit, runs):
    say = Words("ja")
    me = visit("ja").open("/runs?run=small-space")
    scene = "document.querySelector('.eyeline-view').eyeline"
    me.until(f"{scene}.scene().thumbnails.length === 24")
    me.page.get_by_text(say("view.space_title")).first.wait_for()
    spot = me.page.evaluate(f"{scene}.scene().thumbnails[14]")
    canvas = me.page.locator(f"{VIEW} canvas").first
    canvas.click(position={"x": spot["x"] + 15, "y": spot["y"] + 15})  # scrolls there first, as a reader does
    me.until(f"{scene}.state().opened")
    me.page.wait_for_function("() => document.querySelector('[class*=st-key-space-head-] input')?.value === 'L1·H2'")
    me.key("space-others").get_by_text(say("space.project_pca"), exact=True).click()
    me.page.locator("[class*=st-key-space-other-small] .eyeline-view[data-drawn]").wait_for(state="attached")
    both = me.page.evaluate("document.querySelector('[class*=st-key-space-other-small] .eyeline-view').eyeline.scene().spaces")
    assert [item["head"] for item in both] == ["L1·H2", "L1·H2"]
    me.page.wait_for_function(LIT, arg="space")
    cells = me.page.locator(f"[class*=st-key-wide-space] {DOTS}")
    choose_cell(me, cells.nth(5), "L0·H5", "space")
    me.until(f"{scene}.state().opened && {scene}.state().layer === 0 && {scene}.state().heads[0] === 5")
    me.page.wait_for_function(IN_VIEW, arg="space-pictures")
    chosen = "() => document.querySelector('[class*=st-key-space-head-] input')?.value"
    me.page.wait_for_function(f"({chosen})() === 'L0·H5'")
    assert cells.nth(5).evaluate(FROM_RING) < 1
    me.page.locator(f"{VIEW} select[name=layer]").first.select_option("1")  # what the reader does in the view counts after the click
    me.page.wait_for_function(f"({chosen})() === 'L1·H5'")
    me.until(f"{scene}.state().layer === 1")
    choose_cell(me, cells.nth(5), "L0·H5", "space")
    me.until(f"{scene}.state().layer === 0 && {scene}.state().heads[0] === 5")
    assert me.foreign == []
    assert me.errors == []


@pytest.mark.slow
def test_a_head_clicked_in_a_comparison_opens_in_both_spaces_in_view(visit, runs):
    me = visit().open("/runs?run=small-compare")
    scene = "document.querySelector('.eyeline-view')?.eyeline"
    me.page.wait_for_function(LIT, arg="compare")
    cells = me.page.locator(f"[class*=st-key-wide-compare] {DOTS}")
    cells.nth(5).click(force=True)
    me.until(f"{scene}?.state().opened && {scene}.state().layer === 0 && {scene}.state().heads[0] === 5")
    me.page.wait_for_function(IN_VIEW, arg="space-pictures")
    me.page.wait_for_function(LIT, arg="compare")
    assert me.errors == []


@pytest.mark.parametrize(
    ("kind", "message", "language"),
    slow_but(
        [("compare", "space.side_by_side", "ja")],
        [("grammar", "grammar.examples", "ko"), ("space", "space.others", "en"), ("compare", "space.side_by_side", "ja")],
    ),
)
def test_every_kind_of_run_opens_on_a_narrow_dark_page(visit, runs, kind, message, language):
    me = visit(language, width=390, scheme="dark").open(f"/runs?run=small-{kind}")
    me.page.get_by_text(Words(language)(message), exact=True).wait_for()
    me.page.locator(".js-plotly-plot .main-svg").first.wait_for()
    assert me.page.evaluate(OVERFLOW) <= 390
    assert "rgb(15, 17, 21)" in me.page.evaluate("document.querySelector('.js-plotly-plot .main-svg').style.background")
    assert me.foreign == []
    assert me.errors == []


WORDS = "[class*=st-key-wide-examples] .textpoint text"
#: How many words of a sentence touch the word before.
TOUCHING = f"""() => {{
  const boxes = [...document.querySelectorAll('{WORDS}')].map((text) => text.getBoundingClientRect());
  const pairs = boxes.flatMap((one) => boxes.map((other) => [one, other])).filter(([one, other]) => one.left < other.left);
  return pairs.filter(([one, other]) => Math.abs(one.top - other.top) < 4 && one.right > other.left).length;
}}"""
#: Cells of numbers whose text takes more than one line.
BROKEN_NUMBERS = """() => [...document.querySelectorAll('.el-table td:is(.bar, .number)')].filter((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell.lastChild ?? cell);
  return new Set([...range.getClientRects()].map((line) => Math.round(line.top))).size > 1;
}).map((cell) => cell.textContent)"""
#: How many titles of panels begin before the one to their left ends.
OVERLAPPING = """() => {
  const boxes = [...document.querySelectorAll('[class*=wide-space_pairs] .annotation-text')].map((text) => text.getBoundingClientRect());
  const pairs = boxes.flatMap((one) => boxes.map((other) => [one, other])).filter(([one, other]) => one.left < other.left);
  return pairs.filter(([one, other]) => Math.abs(one.top - other.top) < 4 && one.right > other.left).length;
}"""


#: How many numbers of an axis lie on the dots of a panel.
OVER_DOTS = """() => {
  const boxes = (what) => [...document.querySelectorAll(`[class*=wide-space_pairs] ${what}`)].map((one) => one.getBoundingClientRect());
  const on = (tick, panel) => tick.right > panel.left + 1 && tick.left < panel.right - 1 && Math.abs(tick.top - panel.top) < panel.height;
  return boxes('.ytick text').filter((tick) => boxes('.nsewdrag').some((panel) => on(tick, panel))).length;
}"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_titles_and_numbers_of_panels_do_not_overlap(visit, runs, width):
    me = visit("ja", width=width).open("/runs?run=small-space")
    me.page.locator("[class*=st-key-wide-space_pairs] .annotation-text").first.wait_for()
    me.until(f"({OVERLAPPING})() === 0 && ({OVER_DOTS})() === 0")
    assert me.page.evaluate(OVERFLOW) <= width


@pytest.mark.slow
def test_a_sentence_with_its_arcs_has_room_on_a_narrow_page_which_scrolls_it(visit, runs):
    me = visit("en", width=390).open("/runs?run=small-grammar")
    me.page.locator(WORDS).first.wait_for()
    assert me.page.evaluate(TOUCHING) == 0
    first = me.page.locator(WORDS).first.bounding_box()
    assert first
    assert first["x"] < 200, "the sentence begins where a narrow window shows it"
    assert me.page.evaluate(OVERFLOW) <= 390


@pytest.mark.slow
def test_a_row_clicked_in_any_cell_shows_its_relation_in_view(visit, served, runs):
    run = el.open(served.workspace / "runs" / "small-grammar")
    relations = [str(row["relation"]) for row in relation_rows(run)]
    opening = (opening_relation(run) or {}).get("relation")
    me = visit("en").open("/runs?run=small-grammar")
    me.page.locator(WORDS).first.wait_for()
    table = me.page.get_by_test_id("stDataFrame").first
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    assert box
    row = next(i for i, name in enumerate(relations, 1) if name not in ("all", opening))
    me.page.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + ROW_HEIGHT * (row + 0.5))
    me.page.wait_for_function(
        "name => document.querySelector('[class*=st-key-relation-] input')?.value.startsWith(name)", arg=relations[row - 1]
    )
    me.page.wait_for_function(IN_VIEW, arg="grammar-relation")
    top = me.page.locator(".st-key-grammar-relation").bounding_box()
    assert top
    assert top["y"] >= 0, "the answer begins in the window"


@pytest.mark.slow
def test_a_share_of_a_table_stands_on_one_line(visit, runs):
    me = visit("en").open("/runs?run=small-grammar")
    me.page.locator(".el-table td.bar").first.wait_for()
    assert me.page.evaluate(BROKEN_NUMBERS) == []
    me.page.get_by_role("tab", name=Words("en")("grammar.analysis_probe")).click()
    me.page.locator(".st-key-wide-table-probes td.number").first.wait_for()
    assert me.page.evaluate(BROKEN_NUMBERS) == []


@pytest.mark.parametrize("language", slow_but(["ko"], LANGUAGES))
def test_both_pages_open_in_every_language_from_the_bar(visit, language):
    say = Words(language)
    me = visit(language, width=1440).open("/grammar", wait=".st-key-grammar-run button")
    assert me.page.locator("h1").inner_text() == say("grammar.title")
    me.page.get_by_text(say("space.name"), exact=True).first.click()
    me.page.get_by_role("heading", name=say("space.title")).wait_for()
    me.page.get_by_text(say("space.task_two"), exact=True).click()
    me.page.get_by_text(say("space.model_b"), exact=True).wait_for()
    assert me.page.evaluate(OVERFLOW) <= 1440
    assert me.foreign == []
    assert me.errors == []


@pytest.mark.slow
def test_a_bad_upload_is_answered_in_words_and_the_page_goes_on(visit, tmp_path):
    say = Words("ko")
    bad = tmp_path / "bad.conllu"
    bad.write_text("no columns here <b>at all</b>\n")
    me = visit("ko").open("/grammar", wait=".st-key-grammar-run button")
    me.page.get_by_text(say("grammar.source_upload"), exact=True).click()
    me.page.locator("input[type=file]").set_input_files(str(bad))
    me.page.get_by_text("bad.conllu").wait_for()
    me.key("grammar-run").get_by_role("button").click()
    me.page.get_by_text(say("grammar.bad_file")).wait_for()
    me.page.get_by_text("CoNLL-U가 아닙니다").wait_for()
    assert me.key("grammar-run").get_by_role("button").is_enabled()
    assert me.errors == []
