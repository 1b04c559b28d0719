"""The app, started once for all tests that look at it in a browser; and its script, for tests of its logic."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import eyeline as el
from eyeline.hosts.app.settings import Limits, Settings, current, use
from eyeline.sample.text import sample_text
from eyeline.storage.sealed_json import read_json, write_sealed_json
from tests.hosts.app.browser.serving import Served, serving

ENTRY = str(files("eyeline.hosts.app").joinpath("entry", "eyeline_app.py"))
#: A name that would be a picture, bold, an icon, a formula and a link, if it were read as markup.
MARKUP = "<img src=x onerror=alert(1)> **bold** :material/star: $x^2$ [a](javascript:alert(2)) <b>b</b>"


@pytest.fixture(autouse=True)
def main_module() -> Iterator[None]:
    """Streamlit puts the page that it runs in the place of the main module, which processes read that later tests start."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


def small_run(model: el.Model, folder: Path) -> None:
    """A run of four paragraphs, as `eyeline analyse` writes one."""
    texts = sample_text().split("\n\n")[:4]
    el.runs.write_report(
        el.analyse(model, texts, [el.statistics.AverageAttention(), el.statistics.Entropy(), el.statistics.HeadDistances()]).save(folder)
    )


def renamed(folder: Path, model: str, corpus: str) -> None:
    """Another name for the model and the corpus of a run, as someone may have given them."""
    about = read_json(folder / "run.json")
    for part in about["parts"].values():
        part["model"]["name"], part["corpus"]["name"] = model, corpus
    write_sealed_json(folder / "run.json", about)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory, minilm: el.Model) -> Iterator[Served]:
    """One app for all tests that visit it, with two runs of the command line in its workspace."""
    workspace = tmp_path_factory.mktemp("app") / "workspace"
    for name in ("from-the-command-line", "with odd names"):
        small_run(minilm, workspace / "runs" / name)
    renamed(workspace / "runs" / "with odd names", MARKUP, MARKUP)
    os.utime(workspace / "runs" / "with odd names" / "run.json", (0, 0))  # the oldest, so that it is not the one first shown
    with serving(workspace, "--model", "minilm") as app:
        yield app


@pytest.fixture(scope="session")
def shallow(tmp_path_factory: pytest.TempPathFactory, minilm: el.Model) -> Path:
    """The first two layers of minilm as a model's folder: what takes long with 72 heads is quick with 24."""
    from tests.hosts.app.small_runs import save_shallow

    return save_shallow(minilm, tmp_path_factory.mktemp("models") / "shallow")


@pytest.fixture(scope="session")
def kept_runs(tmp_path_factory: pytest.TempPathFactory, shallow: Path) -> Path:
    """A folder with a run of grammar, of a space and of a comparison, all of the shallow model."""
    from tests.hosts.app.small_runs import compare_run, grammar_run, space_run

    folder, model = tmp_path_factory.mktemp("kept"), el.load(shallow)
    grammar_run(model, folder / "small-grammar")
    space_run(model, folder / "small-space")
    compare_run(model, folder / "small-compare")
    return folder


def one_page(page: str, language: str) -> None:
    """What AppTest runs for a page alone."""
    import importlib

    from eyeline.hosts.app.messages import Say

    importlib.import_module(f"eyeline.hosts.app.{page}.page").page(Say(language))


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
