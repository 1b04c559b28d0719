"""Words on a page can be read by everybody: they have a contrast of 4.5 with their ground (WCAG AA), on light and on dark."""

from __future__ import annotations

import pytest

from tests.show.app.browser.test_pages import visit

__all__ = ["visit"]
pytestmark = [pytest.mark.browser, pytest.mark.slow]  # test_pages.py drives the app in make test

#: Texts with too little contrast: text → contrast. Disabled controls, pictures and the hidden texts of a screen reader do not count.
FAINT = """() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const parse = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));
  const linear = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const light = (c) => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]) + 0.05;
  const parents = function* (e) { for (; e; e = e.parentElement ?? e.getRootNode().host) yield e; };
  const faint = {};
  const check = (root) => {
    for (const e of root.querySelectorAll('*')) {
      if (e.shadowRoot) check(e.shadowRoot);
      const text = [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data.trim()).join('');
      if (!text || e.closest('svg, style, script, option, :disabled, [aria-disabled=true], [translate=no]')) continue;
      const box = e.getBoundingClientRect(), style = getComputedStyle(e), colour = parse(style.color);
      if (!box.width || style.visibility === 'hidden' || colour[3] < 0.05) continue;
      let ground = parse(getComputedStyle(document.querySelector('.stApp')).backgroundColor).slice(0, 3);
      const layers = [...parents(e)].map((p) => getComputedStyle(p));
      for (const layer of layers.toReversed()) ground = over(parse(layer.backgroundColor), ground);
      colour[3] *= layers.reduce((product, layer) => product * Number(layer.opacity), 1);
      const [a, b] = [light(over(colour, ground)), light(ground)];
      const contrast = Math.max(a, b) / Math.min(a, b);
      if (contrast < 4.5) faint[text.slice(0, 60)] = Number(contrast.toFixed(2));
    }
  };
  check(document);
  return faint;
}"""


#: The contrast of the outline of each empty box and circle with the page.
OUTLINES = """() => {
  const linear = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number);
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) + 0.05;
  };
  const page = light(getComputedStyle(document.querySelector('.stApp')).backgroundColor);
  const boxes = '[data-testid=stCheckbox] label > span + div, [data-testid=stRadioOption] > span + div > :first-child';
  const outlines = [...document.querySelectorAll(boxes)].map((box) => light(getComputedStyle(box).borderTopColor));
  return outlines.map((outline) => Math.max(page, outline) / Math.min(page, outline));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("path", "kind"), [("/corpus", "stCheckbox"), ("/learn", "stRadioOption")])
def test_an_empty_box_or_circle_can_be_seen(visit, scheme, path, kind):
    me = visit("en", scheme=scheme).open(path, wait=f"[data-testid={kind}]")
    outlines = me.page.evaluate(OUTLINES)
    assert outlines
    assert min(outlines) >= 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_on_its_ground(visit, scheme):
    for path, primary in (("/", "look-show"), ("/learn?step=1", "lesson-next")):
        me = visit("en", scheme=scheme).open(path)
        if path != "/":
            me.page.locator(".stExpander summary").last.click()
            me.page.locator(".stCode .token.string").first.wait_for()
        me.until("document.querySelector('.stApp').dataset.testScriptState === 'notRunning'")
        me.page.mouse.move(0, 0)
        button = f".st-key-{primary} button"
        me.until(f"getComputedStyle(document.querySelector('{button}')).backgroundColor === 'rgb(37, 99, 235)'")  # no colour is on its way
        assert me.page.evaluate(FAINT) == {}
