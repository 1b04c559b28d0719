"""A browser, and the pages that the package writes, opened in it. Nothing may be requested from anywhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eyeline.look.views.view import View

ROOT = Path(__file__).resolve().parents[2]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


class Shown:
    """A page with one view: what it is and what it draws, in the terms of the data."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.requests: list[str] = []
        self.errors: list[str] = []

    @property
    def state(self) -> dict[str, Any]:
        return self.page.evaluate("document.getElementById('view').eyeline.state()")

    @property
    def scene(self) -> dict[str, Any]:
        return self.page.evaluate("document.getElementById('view').eyeline.scene()")

    def until(self, condition: str) -> None:
        """Waits for a condition on `state` and `scene`, and for the drawing that belongs to this state."""
        read = "const {eyeline} = document.getElementById('view'); const state = eyeline.state(), scene = eyeline.scene();"
        self.wait(f"(() => {{ {read} return eyeline.upToDate() && ({condition}); }})()")

    def wait(self, condition: str, seconds: float = 20) -> None:
        """Asks again and again. Playwright's own way needs eval inside the page, which the page's policy rightly forbids."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"never true: {condition}"
            self.page.wait_for_timeout(20)

    def soon(self, check: Callable[[], None], seconds: float = 20) -> None:
        """Runs a check again and again until it holds: what is drawn follows what was clicked within a frame or two."""
        end = time.monotonic() + seconds
        while True:
            try:
                return check()
            except AssertionError:
                if time.monotonic() > end:
                    raise
                self.page.wait_for_timeout(20)

    def click(self, selector: str) -> None:
        self.page.locator(selector).first.click()

    def reading(self) -> None:
        """Opens the panel of reading controls."""
        self.click("[data-name=reading]")

    def option(self, side: str, position: int) -> tuple[float, float]:
        """The middle of a token on screen."""
        box = self.page.locator(f"[role=listbox][aria-label={side}] [aria-posinset='{position + 1}']").bounding_box()
        assert box
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def hover(self, side: str, position: int) -> None:
        self.page.mouse.move(*self.option(side, position))

    def tap(self, side: str, position: int) -> None:
        self.page.mouse.click(*self.option(side, position))
        self.page.mouse.move(2, 2)


def saved(shown: Shown, kind: str) -> Path:
    """The picture that the save menu writes: svg or png."""
    shown.click("[data-name=save]")
    with shown.page.expect_download() as download:
        shown.click(f"[data-name={kind}]")
    return Path(download.value.path())


@pytest.fixture(scope="module")
def contexts(browser: Any) -> Iterator[dict[str, Any]]:
    """The browser's contexts of a module's tests, one for each kind of window: a page is new for each test, its context need not be."""
    opened: dict[str, Any] = {}
    yield opened
    for context in opened.values():
        context.close()


@pytest.fixture
def show(browser: Any, contexts: dict[str, Any], tmp_path: Path) -> Iterator[Callable[..., Shown]]:
    pages = []

    def open_page(view: View | str, *, width: int = 1000, height: int = 900, scheme: str = "light", **options: Any) -> Shown:
        window = {"viewport": {"width": width, "height": height}, "color_scheme": scheme, **options}
        if repr(window) not in contexts:
            contexts[repr(window)] = browser.new_context(**window)
        shown = Shown(contexts[repr(window)].new_page())
        pages.append(shown.page)
        path = tmp_path / f"{len(pages)}.html"
        if isinstance(view, str):
            path.write_text(view, encoding="utf-8")
        else:
            view.save(path)

        def decide(route: Any) -> None:
            if route.request.url == path.as_uri():
                route.continue_()
            else:
                shown.requests.append(route.request.url)
                route.abort()

        def refuse(dialog: Any) -> None:
            shown.errors.append(dialog.message)
            dialog.dismiss()

        shown.page.route("**/*", decide)
        shown.page.on("pageerror", lambda error: shown.errors.append(str(error)))
        shown.page.on("dialog", refuse)
        shown.page.goto(path.as_uri())
        shown.page.wait_for_selector("#view[data-drawn], #view[data-failed]", state="attached")
        return shown

    yield open_page
    for page in pages:
        page.close()
