"""Which tests run: all that a change should pass, or slow ones too. `make test`, `make test-all`, `make test-families` and
`make test-cluster` choose.

Tests marked `slow`, `families` and `cluster` are left out unless they are named: by --tier, by -m, or by their own address (file.py::test).
Tests marked `quick_only` are left out of `make test-all`, where a slow test runs the same code.
A test that drives a browser, and a slow one (they start, stop and kill programs), runs once more where it fails, since a busy machine can
be late; the summary lists it as RERUN.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

#: A tier → the markers that it leaves out.
TIERS = {
    "quick": ("slow", "families", "cluster"),
    "all": ("quick_only", "families", "cluster"),
    "families": ("cluster",),
    "cluster": ("families",),
}
HOW = {"quick_only": "make test", "slow": "make test-all", "families": "make test-families", "cluster": "make test-cluster"}
#: Files that take a minute or two, and folders whose files take long. They come first, so that at the end no process works on one alone.
LONG = (
    ("test_package.py", "test_notebooks.py", "test_coverage.py", "test_docs.py", "test_processes.py", "test_ray.py"),
    ("browser", "show", "clients"),
)
LEFT_OUT: pytest.StashKey[dict[str, int]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=list(TIERS), default="quick", help="quick; all: with slow tests; families, cluster: with those")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = {}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.pluginmanager.hasplugin("rerunfailures"):
        for item in items:
            if item.get_closest_marker("browser") or item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.flaky(reruns=1))
    items.sort(key=lambda item: _rank(item.nodeid))  # the order within is kept
    if config.getoption("-m") or any("::" in argument for argument in config.args):
        return
    counts: dict[str, int] = {}
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        marker = next((name for name in TIERS[config.getoption("--tier")] if item.get_closest_marker(name)), None)
        (left if marker else kept).append(item)
        if marker:
            counts[marker] = counts.get(marker, 0) + 1
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept
    config.stash[LEFT_OUT] = counts
    if hasattr(config, "workeroutput"):  # a process of pytest-xdist: its counts travel to the one that prints
        config.workeroutput["left_out"] = counts


def _rank(nodeid: str) -> int:
    """How early a test comes: 0 for the longest files."""
    parts = set(nodeid.partition("::")[0].split("/"))
    return next((rank for rank, names in enumerate(LONG) if parts & set(names)), len(LONG))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Every process of pytest-xdist has seen the same tests: the counts of any of them are those of all."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", {}) or node.config.stash[LEFT_OUT]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    for marker, count in config.stash[LEFT_OUT].items():
        terminalreporter.write_line(f"{count} tests marked {marker} were left out; `{HOW[marker]}` runs them.")


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """A packed file holds the second in which it was packed: as a test's name, it would differ between the processes of pytest-xdist."""
    return "gzip" if isinstance(val, bytes) and val.startswith(b"\x1f\x8b") else None


def slow_but(quick: Iterable[Any], values: Iterable[Any]) -> list[Any]:
    """The values of a parameter: a test with one of `quick` is in every tier, with another it is slow."""
    kept = list(quick)
    return [value if value in kept else pytest.param(*_as_tuple(value), marks=pytest.mark.slow) for value in values]


def _as_tuple(value: Any) -> tuple[Any, ...]:
    """The values of one case: several parameters come as a tuple."""
    return value if isinstance(value, tuple) else (value,)
