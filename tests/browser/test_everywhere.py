"""What holds for every view: offline, harmless, resizable, light and dark, several on a page, pictures."""

from __future__ import annotations

import base64
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from eyeline.look.views import page
from eyeline.look.views.page import data_chunks
from eyeline.look.views.view import View
from tests.browser import made_up, made_up_space
from tests.tiers import slow_but

KINDS = {
    "head": lambda: made_up.view("head", 18, layers=2, heads=4, strange=True),
    "heatmap": lambda: made_up.view("head", 18, layers=2, heads=4, strange=True, state={"as": "heatmap"}),
    "model": lambda: made_up.view("model", 18, layers=2, heads=4, strange=True),
    "neuron": lambda: made_up.neurons(12),
    "text": lambda: made_up.paragraph(40, strange=True),
    "sentence": lambda: made_up.sentence(18, strange=True),
    "generation": lambda: made_up.generation(strange=True),
    "space": lambda: made_up_space.view([18, 18], strange=True),
    "space opened": lambda: made_up_space.view([18, 18], strange=True, state={"opened": True, "text": 0}),
}


def written(view: View) -> str:
    """The view as JSON, with all its arrays."""
    return b"".join(data_chunks(view, "en")).decode()


@pytest.fixture(params=slow_but(["head", "space"], KINDS))
def shown(request, show):
    return show(KINDS[request.param](), accept_downloads=True)


def test_nothing_is_requested_and_nothing_fails(shown):
    assert shown.requests == []
    assert shown.errors == []
    assert shown.page.locator("#eyeline-view").count() == 0


def test_the_quiet_line_opens_the_page_about_it(shown):
    assert "not why the model decided" in shown.page.locator(".note").inner_text()
    before = shown.state
    opener = shown.page.get_by_role("button", name="What this means")
    opener.focus()
    shown.page.keyboard.press("Enter")
    dialog = shown.page.get_by_role("dialog", name="What this means")
    dialog.wait_for()
    assert dialog.get_by_role("heading").first.inner_text() == "Attention is not importance"
    focused = "document.getElementById('view').firstElementChild.shadowRoot.activeElement"
    assert shown.page.evaluate(f"{focused}.closest('dialog') !== null")
    links = dialog.locator("a")
    assert links.count() > 5
    assert set(links.evaluate_all("all => all.map((a) => a.rel + a.target)")) == {"noopener noreferrer_blank"}
    shown.page.keyboard.press("ArrowDown")  # moves the page, not the layer behind it
    shown.page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    assert shown.page.evaluate(f"{focused}.dataset.name") == "note"
    assert shown.state == before
    assert shown.requests == []
    assert shown.errors == []


def test_strange_tokens_are_shown_as_themselves_and_run_nothing(show):
    shown = show(made_up.view("head", 18, layers=1, heads=1, strange=True))
    texts = shown.page.locator("[role=listbox][aria-label=queries] [role=option]").all_text_contents()
    for token in ("</script>", "<img src=x onerror=alert(1)>", "\"quoted'", "👩‍👩‍👧", "日本語", "שלום", "⟨U+202E⟩abc", "\\n", "\\x00"):
        assert token in texts
    assert shown.page.evaluate("document.getElementById('view').firstElementChild.shadowRoot.querySelectorAll('img, script').length") == 0
    assert shown.errors == []


@pytest.mark.parametrize("width", slow_but([360], [360, 700, 1600]))
def test_no_view_is_wider_than_its_page(shown, width):
    shown.page.set_viewport_size({"width": width, "height": 800})
    shown.page.wait_for_timeout(250)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.errors == []


def test_dark_follows_the_system_until_the_reader_chooses(show):
    shown = show(made_up.view("head", 8, layers=1, heads=2), scheme="dark")
    ground = "getComputedStyle(document.getElementById('view').firstElementChild.shadowRoot.querySelector('.view')).backgroundColor"
    assert shown.page.evaluate(ground) == "rgb(15, 17, 21)"
    shown.page.emulate_media(color_scheme="light")
    shown.wait(f"{ground} === 'rgb(255, 255, 255)'")
    shown.page.emulate_media(color_scheme="dark")
    shown.wait(f"{ground} === 'rgb(15, 17, 21)'")
    shown.page.locator("select[name=theme]").select_option("light")
    shown.until("state.theme === 'light'")
    shown.wait(f"{ground} === 'rgb(255, 255, 255)'")


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_pictures_of_what_is_seen(shown, kind, tmp_path):
    shown.click("[data-name=save]")
    with shown.page.expect_download() as download:
        shown.click(f"[data-name={kind}]")
    path = tmp_path / f"picture.{kind}"
    download.value.save_as(path)
    if kind == "png":
        assert path.read_bytes().startswith(b"\x89PNG")
        return
    root = ElementTree.parse(path).getroot()  # noqa: S314 (our own file)
    assert root.tag.endswith("svg")
    assert not [element for element in root.iter() if element.tag.endswith("script")]
    assert len(list(root.iter())) > 20


def test_two_views_on_one_page_keep_apart(show):
    module = base64.b64encode((page.joined("core", "model") + "\nexport const mount = eyeline.mount;").encode()).decode()
    views = [written(made_up.view(kind, 10, layers=2, heads=4)) for kind in ("head", "model")]
    shown = show(f"""<!doctype html><meta charset="utf-8"><style>button {{ font-size: 40px; color: red }}</style>
<div id="view"></div><div id="other"></div>
<script type="module">const {{mount}} = await import("data:text/javascript;base64,{module}");
window.seen = [];
const data = [{views[0]}, {views[1]}];
["view", "other"].forEach((id, i) => {{
  window[id + "Handle"] = mount(document.getElementById(id), data[i], {{onState: (state) => seen.push([id, state.layer])}});
}});</script>""")
    shown.page.wait_for_selector("#other[data-drawn]", state="attached")
    shown.page.locator("#view select[name=layer]").select_option("1")
    shown.until("state.layer === 1")
    assert shown.page.evaluate("seen") == [["view", 1]]
    assert shown.page.evaluate("document.getElementById('other').eyeline.state().layer") == 0
    assert shown.page.locator("#view [data-name=all]").evaluate("e => getComputedStyle(e).fontSize") == "13px"
    shown.page.evaluate("viewHandle.update({layer: 0, heads: [2]})")
    shown.until("state.layer === 0 && state.heads.join() === '2'")
    assert shown.page.evaluate("seen.length") == 1  # the host's own changes are not reported back
    shown.page.evaluate("otherHandle.destroy()")
    assert shown.page.evaluate("document.getElementById('other').childElementCount") == 0


def test_the_notebook_host_syncs_the_state_both_ways(show):
    module = base64.b64encode(page.code_of("head", "anywidget").encode()).decode()
    data = written(made_up.view("head", 10, layers=3, heads=4))
    shown = show(f"""<!doctype html><meta charset="utf-8"><div id="view"></div>
<script type="module">const widget = (await import("data:text/javascript;base64,{module}")).default;
const data = {data};
for (const array of Object.values(data.arrays)) array.data = new DataView(Uint8Array.from(atob(array.data), (c) => c.charCodeAt(0)).buffer);
const values = {{_spec: data.spec, _arrays: data.arrays, state: {{layer: 1}}}}, listeners = {{}};
window.saved = 0;
window.model = {{
  get: (name) => values[name],
  set(name, value) {{ values[name] = value; (listeners["change:" + name] ?? []).forEach((listener) => listener()); }},
  save_changes() {{ saved++; }},
  on(event, listener) {{ (listeners[event] ??= []).push(listener); }},
  off(event, listener) {{ listeners[event] = (listeners[event] ?? []).filter((one) => one !== listener); }},
}};
window.stop = widget.render({{model, el: document.getElementById("view")}});</script>""")
    shown.until("state.layer === 1")
    shown.page.locator("select[name=layer]").select_option("2")
    shown.wait("saved === 1 && model.get('state').layer === 2")
    shown.page.evaluate("model.set('state', {...model.get('state'), layer: 0})")
    shown.until("state.layer === 0")
    shown.page.evaluate("stop()")
    assert shown.page.evaluate("document.getElementById('view').childElementCount") == 0


def test_a_damaged_array_is_an_error_on_screen(show):
    shown = show(replace(made_up.view("head", 8, layers=1, heads=2), arrays={}))
    assert "encoder.0.weights" in shown.page.get_by_role("alert").inner_text()


def test_pointing_at_one_of_512_tokens_draws_its_own_lines_only(show):
    """What keeps the pointer quick: 12 heads × 512 keys instead of 3 million lines."""
    shown = show(made_up.view("head", 512, layers=1, heads=12, state={"as": "lines"}))
    shown.hover("queries", 5)
    shown.until("scene.lines.length <= 12 * 512 && scene.lines.every((line) => line.from === 5)")


@pytest.mark.parametrize(
    "words", slow_but(["Hide special tokens"], ["Hide special tokens", "Hide the most attended token", "Let rows sum to 1 again"])
)
def test_the_words_of_a_reading_control_tick_its_box(show, words):
    shown = show(made_up.view("head", 12, layers=1, heads=2))
    shown.reading()
    box = shown.page.get_by_text(words, exact=True).bounding_box()
    shown.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert shown.page.get_by_label(words).is_checked()
    assert shown.page.get_by_text(words, exact=True).is_visible()  # the menu stays open
    name = {"Hide special tokens": "hide_special", "Hide the most attended token": "hide_sink"}.get(words, "renormalise")
    shown.until(f"state.{name} === true")


CANVAS_WIDTH = "document.getElementById('view').firstElementChild.shadowRoot.querySelector('canvas').getBoundingClientRect().width"


def test_a_view_that_is_hidden_while_the_theme_changes_keeps_its_width(show):
    """JupyterLab hides its cells while it changes the theme."""
    shown = show(made_up.view("head", 12, layers=1, heads=2))
    wide = shown.page.evaluate(CANVAS_WIDTH)
    assert wide > 500
    shown.page.evaluate(
        """() => {
          const { body } = document;
          body.style.display = 'none';
          body.setAttribute('data-jp-theme-light', 'false');
          return new Promise((done) => setTimeout(() => { body.style.display = ''; done(); }, 300));
        }"""
    )
    shown.wait(f"{CANVAS_WIDTH} === {wide}")
    shown.wait("document.getElementById('view').firstElementChild.shadowRoot.querySelector('.view').dataset.theme === 'dark'")


def test_a_view_that_is_hidden_and_shown_within_a_frame_is_drawn_at_its_width(show):
    shown = show(made_up.view("head", 12, layers=1, heads=2))
    wide = shown.page.evaluate(CANVAS_WIDTH)
    shown.page.evaluate(
        """() => {
          const { body } = document;
          body.style.display = 'none';
          body.setAttribute('data-jp-theme-light', 'false');
          let frames = 0;
          const step = () => (frames++ < 1 ? requestAnimationFrame(step) : (body.style.display = ''));
          return Promise.resolve().then(() => requestAnimationFrame(step));
        }"""
    )
    shown.wait("document.getElementById('view').firstElementChild.shadowRoot.querySelector('.view').dataset.theme === 'dark'")
    shown.page.wait_for_timeout(300)
    assert shown.page.evaluate(CANVAS_WIDTH) == wide


def test_a_view_of_no_width_is_drawn_when_it_gets_one(show):
    shown = show(made_up.view("head", 12, layers=1, heads=2))
    shown.page.evaluate("document.getElementById('view').style.width = '0px'")
    shown.page.evaluate("document.body.setAttribute('data-jp-theme-light', 'false')")
    shown.page.wait_for_timeout(300)
    assert shown.page.evaluate(CANVAS_WIDTH) > 500  # not drawn again
    shown.page.evaluate("document.getElementById('view').style.width = '700px'")
    shown.wait(f"{CANVAS_WIDTH} > 400")


ENDINGS = [("svg", b"<svg"), ("png", b"\x89PNG")]


@pytest.mark.parametrize(("ending", "begins"), slow_but([ENDINGS[1]], ENDINGS))
@pytest.mark.parametrize("kind", ["head", "model", "neuron"])
def test_the_save_button_writes_each_format_of_each_view(show, tmp_path, kind, ending, begins):
    shown = show(made_up.neurons(10) if kind == "neuron" else made_up.view(kind, 12, layers=2, heads=3))
    shown.click("[data-name=save]")
    with shown.page.expect_download() as download:
        shown.click(f"[data-name={ending}]")
    download.value.save_as(tmp_path / "x")
    assert (tmp_path / "x").read_bytes().startswith(begins)
    assert download.value.suggested_filename.endswith(f".{ending}")


def test_a_picture_saved_from_the_page_says_how_it_was_made(show, tmp_path):
    shown = show(made_up.view("head", 12, layers=1, heads=2))
    shown.reading()
    shown.page.get_by_text("Hide special tokens").click()
    shown.page.get_by_text("Let rows sum to 1 again").click()
    shown.until("state.hide_special && state.renormalise")
    shown.page.keyboard.press("Escape")
    shown.click("[data-name=save]")
    with shown.page.expect_download() as download:
        shown.click("[data-name=svg]")
    download.value.save_as(tmp_path / "x.svg")
    drawn = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert "10 × 10 · Hide special tokens · Let rows sum to 1 again" in drawn


@pytest.mark.parametrize("kind", ["head", "model", "neuron", "sentence", "text"])
def test_on_a_phone_the_picture_begins_within_the_first_300_pixels(show, kind):
    shown = show(KINDS[kind](), width=360, height=740, has_touch=True, is_mobile=True)
    stage, controls = (shown.page.locator(name).first.bounding_box() for name in (".stage", ".controls"))
    assert stage["y"] < 300
    assert stage["y"] < controls["y"]
