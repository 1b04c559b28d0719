"""Servers on loopback, each with folders of its own and the package of this checkout; one browser window for each."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import chromium

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def browser(playwright: Any) -> Iterator[Any]:
    """The build of Chromium that people use, since this is about clients as people open them."""
    with chromium(playwright, "chromium") as started:
        yield started


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., None]]:
    """Starts a Python module as a server in a folder, and waits until its address answers; stopped after the module's tests."""
    started: list[subprocess.Popen[bytes]] = []
    home = tmp_path_factory.mktemp("home")

    def start(folder: Path, answers: str, *arguments: str) -> None:
        names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR")
        own = {name: str(home / name.lower()) for name in (*names, "IPYTHONDIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")}
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        log = (home / "log.txt").open("wb")
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", *arguments],
                cwd=folder,
                env={**os.environ, **own, "PYTHONPATH": path},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        )
        end = time.monotonic() + 60
        while not answered(answers):
            if started[-1].poll() is not None or time.monotonic() > end:
                raise AssertionError((home / "log.txt").read_text(errors="replace"))
            time.sleep(0.1)

    yield start
    for server in started:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()


def answered(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:  # noqa: S310 - loopback
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False
