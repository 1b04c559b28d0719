"""The four views in marimo: they draw, answer, follow the theme, come back, and tell Python what the reader did."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from tests.clients.live_views import IN_PYTHON, VALUES_READ, LiveViews
from tests.show.app.browser.serving import free_port

if find_spec("marimo") is None:  # not imported here: that takes a second in every process of the tests
    pytest.skip("marimo is not installed (make test-clients)", allow_module_level=True)

#: Cells run when the notebook is opened; the theme is the system's.
SETTINGS = '[tool.marimo.runtime]\nauto_instantiate = true\n[tool.marimo.display]\ntheme = "system"\n'
NOTEBOOK = f"""import marimo

app = marimo.App(width="full")


@app.cell
def _():
    import marimo as mo
    from tests.browser import made_up, made_up_space

    clock = mo.ui.refresh(default_interval="1s")
    head = made_up.view("head", 12, layers=2, heads=4)
    model = made_up.view("model", 12, layers=2, heads=4)
    neuron = made_up.neurons(12)
    space = made_up_space.view()
    return clock, head, mo, model, neuron, space


@app.cell
def _(head):
    head


@app.cell
def _(model):
    model


@app.cell
def _(neuron):
    neuron


@app.cell
def _(space):
    space


@app.cell
def _(clock, head, mo, model, neuron, space):
    values_read = {VALUES_READ}
    mo.vstack([clock, mo.md("in Python: " + repr([view.state.get(key) for view, key in values_read]))])


if __name__ == "__main__":
    app.run()
"""


class Marimo(LiveViews):
    """marimo in a browser."""

    def __init__(self, page: Any, address: str) -> None:
        super().__init__(page)
        self.address = address

    def open(self) -> None:
        self.page.goto(self.address)
        self.drawn()


@pytest.fixture(scope="module")
def marimo(browser: Any, serve: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marimo]:
    folder, port, token = tmp_path_factory.mktemp("notebooks"), free_port(), secrets.token_hex(12)
    (folder / "views.py").write_text(NOTEBOOK, encoding="utf-8")
    (folder / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    options = ("--headless", "--host=127.0.0.1", f"--port={port}", f"--token-password={token}", "--skip-update-check")
    serve(folder, f"http://127.0.0.1:{port}/health", "marimo", "edit", "views.py", *options)
    page = browser.new_page(viewport={"width": 1400, "height": 2600})
    page.set_default_timeout(60_000)
    opened = Marimo(page, f"http://127.0.0.1:{port}/?access_token={token}")
    opened.open()
    yield opened
    page.close()


def test_the_four_views_in_marimo(marimo: Marimo) -> None:
    """One walk, since each step goes on from the one before: a kernel and its notebook are not opened anew for each."""
    marimo.answer_to_hover_and_click()
    marimo.page.get_by_text(IN_PYTHON).wait_for()
    follow_the_theme(marimo)
    marimo.open()
    assert marimo.state("head")["locked"] == [4]


def follow_the_theme(marimo: Marimo) -> None:
    before = marimo.widths()
    for theme in ("dark", "light"):
        marimo.page.emulate_media(color_scheme=theme)
        marimo.in_theme(theme)
        assert marimo.widths() == before
