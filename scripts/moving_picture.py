"""Record README's moving picture from the real page: a reader points at words, and chooses another head.

    python -m scripts.moving_picture

Writes docs/pictures/moving.gif. Chromium must be installed. A browser without a window draws no pointer, so one is drawn on the page.
"""

from __future__ import annotations

import io
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.output import PICTURES, gif_comment
from PIL import Image
from playwright.sync_api import Page, sync_playwright

import eyeline as el

OUTPUT = PICTURES / "moving.gif"
TEXT = "The cat sat on the mat because it was tired."
SIZE = {"width": 860, "height": 545}
COLOURS = 128
#: Milliseconds: on the way, after something was pointed at, and at what is to be read.
WAY, SEEN, READ = 60, 650, 1800
POINTER = """() => {
  const mark = document.createElement("div");
  const arrow = '<path d="M2 2v19l5-4 3 7 4-2-3-7h7z" fill="#111" stroke="#fff" stroke-width="1.5"/>';
  mark.innerHTML = `<svg width="22" height="26" viewBox="0 0 22 26">${arrow}</svg>`;
  mark.style.cssText = "position:fixed;z-index:9999;pointer-events:none;left:0;top:0";
  document.body.append(mark);
  addEventListener("pointermove", (event) => { mark.style.transform = `translate(${event.clientX - 2}px, ${event.clientY - 2}px)`; }, true);
}"""


@dataclass
class Film:
    """The pictures so far, and how long each is shown."""

    page: Page
    pictures: list[Image.Image] = field(default_factory=list)
    durations: list[int] = field(default_factory=list)
    x: float = 480
    y: float = 330

    def shoot(self, milliseconds: int) -> None:
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")
        self.pictures.append(Image.open(io.BytesIO(self.page.screenshot())).convert("RGB"))
        self.durations.append(milliseconds)

    def until(self, condition: str) -> None:
        """Wait for a condition on the view's state and scene. A page's own policy forbids the eval that Playwright's wait needs."""
        read = "const {eyeline} = document.getElementById('view'); const state = eyeline.state(), scene = eyeline.scene();"
        while not self.page.evaluate(f"(() => {{ {read} return eyeline.upToDate() && ({condition}); }})()"):
            self.page.wait_for_timeout(20)

    def go(self, x: float, y: float, steps: int = 3) -> None:
        """Move the pointer, with pictures on the way."""
        for step in range(1, steps + 1):
            self.page.mouse.move(self.x + (x - self.x) * step / steps, self.y + (y - self.y) * step / steps)
            if step < steps:
                self.shoot(WAY)
        self.x, self.y = x, y

    def go_to(self, selector: str, across: float = 0.5) -> None:
        box = self.page.locator(selector).first.bounding_box()
        if box is None:
            raise SystemExit(f"{selector} is not on screen.")
        self.go(box["x"] + box["width"] * across, box["y"] + box["height"] / 2)

    def point_at(self, token: int, milliseconds: int) -> None:
        """At a word of the left column; its numbers must be on screen before the picture is taken."""
        self.go_to(f"[role=listbox][aria-label=queries] [aria-posinset='{token + 1}']", across=0.9)
        self.until(f"scene.numbers.length > 0 && scene.lines.every((line) => line.from === {token})")
        self.shoot(milliseconds)

    def choose(self, selector: str, state: str, *, twice: bool = False) -> None:
        """Click on a control, and wait until the view says that it is so."""
        self.go_to(selector)
        (self.page.mouse.dblclick if twice else self.page.mouse.click)(self.x, self.y)
        self.until(state)
        self.shoot(SEEN)

    def save(self, path: Path) -> None:
        """One palette for all pictures, so that only what changes is stored."""
        few = [self.pictures[0], self.pictures[len(self.pictures) // 2], self.pictures[-1]]
        together = Image.new("RGB", (SIZE["width"], len(few) * SIZE["height"]))
        for index, picture in enumerate(few):
            together.paste(picture, (0, index * SIZE["height"]))
        palette = together.quantize(COLOURS, Image.Quantize.MAXCOVERAGE)
        frames = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in self.pictures]
        frames[0].save(path, save_all=True, append_images=frames[1:], duration=self.durations, loop=0, optimize=True, comment=gif_comment())


def record(page: Page) -> Film:
    trace = el.load("e5-small").trace(TEXT)
    position = trace.text.tokens.index
    with TemporaryDirectory() as folder:
        el.head_view(trace, layer=2).save(Path(folder) / "view.html")
        page.goto((Path(folder) / "view.html").as_uri())
    page.wait_for_selector("#view[data-drawn]", state="attached")
    page.evaluate(POINTER)
    film = Film(page)
    page.mouse.move(film.x, film.y)
    film.shoot(READ)
    film.choose("[data-head='2']", "state.heads.join() === '2'", twice=True)
    for word in ("cat", "sat", "on"):
        film.point_at(position(word), SEEN)
    film.durations[-2] = READ
    page.locator("select[name=layer]").select_option("9")
    film.until("state.layer === 9")
    film.choose("[data-head='7']", "state.heads.join() === '7'", twice=True)
    for word in ("because", "it"):
        film.point_at(position(word), SEEN)
    film.durations[-1] = 2 * READ
    return film


def main() -> None:
    with sync_playwright() as player:
        browser: Any = player.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        film = record(browser.new_page(viewport=SIZE, color_scheme="light", locale="en-GB"))
        film.save(OUTPUT)
        browser.close()
    print(f"{OUTPUT}: {len(film.pictures)} pictures, {OUTPUT.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
