"""The app, started once for all tests that look at it in a browser; and its script, for tests of its logic."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

import eyeline as el
from eyeline.show.app.kit.settings import Limits, Settings, current, use
from eyeline.storage.sealed import read_json, write_sealed_json
from tests.show.app.browser.serving import Served, serving

ENTRY = str(files("eyeline.show.app").joinpath("entry", "eyeline_app.py"))
#: A name that would be a picture, bold, an icon, a formula and a link, if it were read as markup.
MARKUP = "<img src=x onerror=alert(1)> **bold** :material/star: $x^2$ [a](javascript:alert(2)) <b>b</b>"


def small_run(model: el.Model, folder: Path) -> None:
    """A run of four paragraphs, as `eyeline analyse` writes one."""
    texts = el.corpora.sample_text().split("\n\n")[:4]
    el.runs.write_report(
        el.analyse(model, texts, [el.statistics.AverageAttention(), el.statistics.Entropy(), el.statistics.HeadDistances()]).save(folder)
    )


def renamed(folder: Path, model: str, corpus: str) -> None:
    """Another name for the model and the corpus of a run, as someone may have given them."""
    about = read_json(folder / "run.json")
    for part in about["parts"].values():
        part["model"]["name"], part["corpus"]["name"] = model, corpus
    write_sealed_json(folder / "run.json", about)


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that one process of pytest-xdist fills, for all of them to read."""
    own = factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            unfinished = factory.mktemp(name) / name
            make(unfinished)
            unfinished.rename(folder)
    return folder


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory, minilm: el.Model) -> Iterator[Served]:
    """One app for all tests that visit it, with two runs of the command line in its workspace."""
    workspace = tmp_path_factory.mktemp("app") / "workspace"
    run = made_once(tmp_path_factory, "from-the-command-line", lambda folder: small_run(minilm, folder))
    for name in ("from-the-command-line", "with odd names"):
        shutil.copytree(run, workspace / "runs" / name)
    renamed(workspace / "runs" / "with odd names", MARKUP, MARKUP)
    os.utime(workspace / "runs" / "with odd names" / "run.json", (0, 0))  # the oldest, so that it is not the one first shown
    with serving(workspace, "--model", "minilm") as app:
        yield app


@pytest.fixture(scope="session")
def shallow(tmp_path_factory: pytest.TempPathFactory, minilm: el.Model) -> Path:
    """The first two layers of minilm as a model's folder: what takes long with 72 heads is quick with 24."""
    from tests.show.app.small_runs import save_shallow

    return made_once(tmp_path_factory, "shallow", lambda folder: save_shallow(minilm, folder))


@pytest.fixture(scope="session")
def kept_runs(tmp_path_factory: pytest.TempPathFactory, shallow: Path) -> Path:
    """A folder with a run of grammar, of a space and of a comparison, all of the shallow model."""
    from tests.show.app.small_runs import compare_run, grammar_run, space_run

    def make(folder: Path) -> None:
        model = el.load(shallow)
        grammar_run(model, folder / "small-grammar")
        space_run(model, folder / "small-space")
        compare_run(model, folder / "small-compare")

    return made_once(tmp_path_factory, "kept", make)


def one_page(page: str, language: str) -> None:
    """What AppTest runs for a page alone."""
    from eyeline.show.app.shell import PAGES
    from eyeline.words import Words

    next(each for each in PAGES if each.name == page).draw_with(Words(language))()


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """The app's script, or one of its pages, with settings of its own and without a server."""
    from streamlit.testing.v1 import AppTest

    before = current()

    def start(page: str = "", language: str = "en", *, limits: Limits | None = None, **options: Any) -> Any:
        options.setdefault("model", "minilm")  # the smaller encoder: pages are the same with either
        use(Settings(tmp_path / "workspace", limits=limits or Limits(), **options))
        for folder in ("models", "runs"):
            (tmp_path / "workspace" / folder).mkdir(parents=True, exist_ok=True)
        if not page:
            return AppTest.from_file(ENTRY, default_timeout=120)
        return AppTest.from_function(one_page, default_timeout=120, kwargs={"page": page, "language": language})

    yield start
    use(before)
