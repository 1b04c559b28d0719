"""The four views in JupyterLab: they draw, answer, follow the theme, come back, and tell Python what the reader did."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.clients.conftest import ROOT
from tests.clients.live_views import IN_PYTHON, VALUES_READ, LiveViews
from tests.show.app.browser.serving import free_port

if find_spec("jupyterlab") is None:  # not imported here: that takes a second in every process of the tests
    pytest.skip("JupyterLab is not installed (make test-clients)", allow_module_level=True)

CELLS = (
    'from tests.browser import made_up, made_up_space\nhead = made_up.view("head", 12, layers=2, heads=4)\nhead',
    'model = made_up.view("model", 12, layers=2, heads=4)\nmodel',
    "neuron = made_up.neurons(12)\nneuron",
    "space = made_up_space.view()\nspace",
    f'print("in Python:", [view.state.get(key) for view, key in {VALUES_READ}])',
)
QUIET = ("--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", "--LabApp.extension_manager=readonly")


class Lab(LiveViews):
    """JupyterLab in a browser, and its menus."""

    def __init__(self, page: Any, address: str, token: str, folder: Path) -> None:
        super().__init__(page)
        self.address, self.token, self.folder = address, token, folder

    def open(self, name: str) -> None:
        self.page.goto(f"{self.address}/lab/tree/{name}?token={self.token}&reset")
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")

    def choose(self, menu: str, *items: str) -> None:
        self.page.locator(".lm-MenuBar-itemLabel").get_by_text(menu, exact=True).click()
        for item in items[:-1]:
            self.page.locator(".lm-Menu-itemLabel").get_by_text(item, exact=True).hover()
        self.page.locator(".lm-Menu-itemLabel").get_by_text(items[-1], exact=True).click()


@pytest.fixture(scope="module")
def lab(browser: Any, serve: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder, port, token = tmp_path_factory.mktemp("notebooks"), free_port(), secrets.token_hex(12)
    address = f"http://127.0.0.1:{port}"
    options = ("--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", f"--IdentityProvider.token={token}")
    serve(folder, f"{address}/api", "jupyterlab", *options, *QUIET, f"--ServerApp.root_dir={folder}")
    page = browser.new_page(viewport={"width": 1400, "height": 2600})  # tall: JupyterLab leaves out cells that are not seen
    page.set_default_timeout(60_000)
    yield Lab(page, address, token, folder)
    page.close()


def test_the_four_views_in_jupyterlab(lab: Lab) -> None:
    """One walk, since each step goes on from the one before: a kernel and its notebook are not opened anew for each."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(book, lab.folder / "views.ipynb")
    lab.open("views.ipynb")
    lab.page.get_by_text("| Idle").first.wait_for()
    lab.choose("Run", "Run All Cells")
    lab.drawn()
    lab.page.locator("img[class^=eyeline-still]").nth(3).wait_for(state="attached")
    assert not lab.page.locator("img[class^=eyeline-still]").first.is_visible()
    lab.answer_to_hover_and_click()
    tell_python(lab)
    follow_the_theme(lab)
    come_back(lab)
    show_pictures_with_a_new_kernel(lab)
    show_pictures_without_a_kernel(lab)


def tell_python(lab: Lab) -> None:
    lab.page.wait_for_timeout(300)  # a view sends its state a moment after the last change
    lab.page.locator(".jp-CodeCell").last.click()
    lab.choose("Run", "Run Selected Cell and Do not Advance")
    lab.page.get_by_text(IN_PYTHON).wait_for()


def follow_the_theme(lab: Lab) -> None:
    before = lab.widths()
    for theme in ("Dark", "Light"):
        lab.choose("Settings", "Theme", f"JupyterLab {theme}")
        lab.in_theme(theme.lower())
        lab.page.wait_for_timeout(1000)  # JupyterLab hides the views while it changes
        assert lab.widths() == before


def come_back(lab: Lab) -> None:
    lab.choose("File", "Save Notebook")
    lab.page.locator(".jp-mod-dirty").first.wait_for(state="detached")
    lab.open("views.ipynb")
    lab.drawn()
    assert lab.state("head")["locked"] == [4]
    assert lab.state("space")["opened"] is True


def show_pictures_without_a_kernel(lab: Lab) -> None:
    """As a notebook from somebody else is opened: not trusted, and with no kernel."""
    book = nbformat.read(lab.folder / "views.ipynb", as_version=4)
    assert sum(len(cell.outputs) for cell in book.cells) >= 9
    book.metadata = {"kernelspec": {"name": "elsewhere", "display_name": "Elsewhere", "language": "elsewhere"}}
    nbformat.write(book, lab.folder / "received.ipynb")
    lab.open("received.ipynb")
    lab.page.locator(".jp-Dialog").get_by_role("button", name="No Kernel", exact=True).click()
    see_only_pictures(lab)


def show_pictures_with_a_new_kernel(lab: Lab) -> None:
    """Here the notebook is trusted, and JupyterLab looks in the new kernel for widgets that it does not have."""
    lab.choose("Kernel", "Shut Down Kernel")
    lab.page.get_by_text("No Kernel").first.wait_for()
    lab.open("views.ipynb")
    lab.page.get_by_text("| Idle").first.wait_for()
    lab.page.get_by_text("Error displaying widget").first.wait_for(state="attached")
    see_only_pictures(lab)


def see_only_pictures(lab: Lab) -> None:
    stills = lab.page.locator("img[class^=eyeline-still]")
    stills.nth(3).wait_for()
    for index in range(4):
        box = stills.nth(index).bounding_box()
        assert min(box["width"], box["height"]) > 50
    errors = lab.page.get_by_text("Error displaying widget")
    assert not any(errors.nth(index).is_visible() for index in range(errors.count()))


@pytest.mark.parametrize("name", sorted({path.name for path in (ROOT / "notebooks").glob("*.ipynb")} - {"papers.en.ipynb"}))
def test_a_notebook_opens_in_jupyterlab_with_its_pictures(lab: Lab, name: str) -> None:
    book = nbformat.read(ROOT / "notebooks" / name, as_version=4)
    pictures = sum(
        any(kind.startswith("image/") for kind in output.get("data", {})) for cell in book.cells for output in cell.get("outputs", ())
    )
    nbformat.write(book, lab.folder / name)
    lab.page.set_viewport_size({"width": 1400, "height": 1200 * max(pictures, 2)})
    lab.open(name)
    lab.page.locator(".jp-OutputArea-output img").nth(pictures - 1).wait_for()
    lab.page.locator(".jp-Cell").nth(len(book.cells) - 1).wait_for()
    assert lab.page.locator(".jp-Cell").count() == len(book.cells)
    assert lab.page.locator(".jp-RenderedText[data-mime-type*=error]").count() == 0
