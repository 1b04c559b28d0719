"""The four live views of a notebook in a browser, in the order of its cells: what they show, and what a reader does with them."""

from __future__ import annotations

from typing import Any

KINDS = ("head", "model", "neuron", "space")
#: What Python prints when the reader has done everything that `answer_to_hover_and_click` does.
VALUES_READ = '[(head, "locked"), (head, "hide_special"), (model, "opened"), (neuron, "query"), (space, "opened")]'
IN_PYTHON = "in Python: [[4], True, True, 2, True]"


class LiveViews:
    """A page of a notebook program."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def view(self, kind: str) -> Any:
        return self.page.locator("[data-eyeline-live][data-drawn]").nth(KINDS.index(kind))

    def drawn(self) -> None:
        self.view("space").wait_for(state="attached", timeout=60_000)

    def state(self, kind: str) -> dict[str, Any]:
        return dict(self.view(kind).evaluate("element => element.eyeline.state()"))

    def scene(self, kind: str) -> dict[str, Any]:
        return dict(self.view(kind).evaluate("element => element.eyeline.scene()"))

    def until(self, kind: str, condition: str) -> None:
        script = f"element => {{ const state = element.eyeline.state(), scene = element.eyeline.scene(); return {condition}; }}"
        for _ in range(500):
            if self.view(kind).evaluate(script):
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"never true in the {kind} view: {condition}")

    def middle(self, located: Any) -> tuple[float, float]:
        """The middle of an element on screen: the canvas lies above the words that screen readers have."""
        located.scroll_into_view_if_needed()
        box = located.bounding_box()
        assert box
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def widths(self) -> list[float]:
        """Of the drawings, one for each view."""
        return [float(self.view(kind).locator("canvas").first.bounding_box()["width"]) for kind in KINDS]

    def in_theme(self, theme: str) -> None:
        for kind in KINDS:
            self.view(kind).locator(f".view[data-theme={theme}]").wait_for()

    def answer_to_hover_and_click(self) -> None:
        assert [self.scene(kind)["kind"] for kind in KINDS] == list(KINDS)
        fox = self.view("head").locator("[role=listbox][aria-label=queries] [aria-posinset='5']")
        self.page.mouse.move(*self.middle(fox))
        self.until("head", "scene.numbers.length > 0")
        self.page.mouse.click(*self.middle(fox))
        self.until("head", "state.locked.length === 1 && state.locked[0] === 4")
        self.view("head").locator("[data-name=reading]").click()
        self.view("head").get_by_text("Hide special tokens").click()  # the words, not the box
        self.until("head", "state.hide_special === true && scene.queries.length === 10")
        self.view("head").locator("[data-name=reading]").click()
        self.page.mouse.click(*self.middle(self.view("neuron").get_by_text("quick").first))
        self.until("neuron", "state.query === 2")
        thumbnail = self.scene("model")["thumbnails"][1]
        self.view("model").locator("canvas").first.click(position={"x": thumbnail["x"] + 20, "y": thumbnail["y"] + 20})
        self.until("model", "state.opened === true")
        self.view("space").locator("canvas").first.click(position={"x": 60, "y": 60})
        self.until("space", "state.opened === true")
