"""The app, started once for all tests that look at it in a browser; and its script, for tests of its logic."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import sightline as sl
from sightline.hosts.app.corpus import sample
from sightline.hosts.app.settings import Limits, Settings, current, use

ENTRY = str(files("sightline.hosts.app").joinpath("entry", "sightline_app.py"))
PROGRAM = "from sightline.hosts.cli import main; main()"


class Served:
    """A running app: its address, its workspace, and one finished run of the command line in it."""

    def __init__(self, url: str, workspace: Path) -> None:
        self.url, self.workspace = url, workspace


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def small_run(model: sl.Model, folder: Path) -> None:
    """A run of four paragraphs, as `sightline analyse` writes one."""
    texts = sample().split("\n\n")[:4]
    sl.analyse(model, texts, [sl.AverageAttention(), sl.Entropy(), sl.HeadDistances()]).save(folder)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory, minilm: sl.Model) -> Iterator[Served]:
    """`sightline app`, as a person starts it."""
    workspace = tmp_path_factory.mktemp("workspace")
    small_run(minilm, workspace / "runs" / "from-the-command-line")
    port = free_port()
    command = [sys.executable, "-c", PROGRAM, "app", "--port", str(port), "--no-browser", "--workspace", str(workspace)]
    log = workspace.parent / "app.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, cwd=workspace.parent, env={**os.environ, "PYTHONUNBUFFERED": "1"}
        )
        url = f"http://127.0.0.1:{port}"
        try:
            end = time.monotonic() + 240
            while not answers(f"{url}/_stcore/health"):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end, f"the app never answered: {log.read_text()}"
                time.sleep(0.2)
            yield Served(url, workspace)
        finally:
            process.terminate()
            process.wait(30)


@pytest.fixture(scope="session")
def shallow(tmp_path_factory: pytest.TempPathFactory, minilm: sl.Model) -> Path:
    """The first two layers of minilm as a model's folder: what takes long with 72 heads is quick with 24."""
    from tests.hosts.app.small_runs import save_shallow

    return save_shallow(minilm, tmp_path_factory.mktemp("models") / "shallow")


@pytest.fixture(scope="session")
def kept_runs(tmp_path_factory: pytest.TempPathFactory, shallow: Path) -> Path:
    """A folder with a run of grammar, of a space and of a comparison, all of the shallow model."""
    from tests.hosts.app.small_runs import compare_run, grammar_run, space_run

    folder, model = tmp_path_factory.mktemp("kept"), sl.load(shallow)
    grammar_run(model, folder / "small-grammar")
    space_run(model, folder / "small-space")
    compare_run(model, folder / "small-compare")
    return folder


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - our own address
            return bool(answer.status == 200)
    except OSError:
        return False


def one_page(page: str, language: str) -> None:
    """What AppTest runs for a page alone."""
    import importlib

    from sightline.hosts.app.messages import Say

    importlib.import_module(f"sightline.hosts.app.{page}").page(Say(language))


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """The app's script, or one of its pages, with settings of its own and without a server."""
    from streamlit.testing.v1 import AppTest

    before = current()

    def start(page: str = "", language: str = "en", *, limits: Limits | None = None, **options: Any) -> Any:
        use(Settings(tmp_path / "workspace", limits=limits or Limits(), **options))
        for folder in ("models", "runs"):
            (tmp_path / "workspace" / folder).mkdir(parents=True, exist_ok=True)
        if not page:
            return AppTest.from_file(ENTRY, default_timeout=120)
        return AppTest.from_function(one_page, default_timeout=120, kwargs={"page": page, "language": language})

    yield start
    use(before)
