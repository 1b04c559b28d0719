"""Every benchmark can be started by the command that its first lines name."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from benchmarks.cost.capture import candidates

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in (ROOT / "benchmarks").glob("*/[!_]*.py"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_benchmark_can_be_imported_and_names_its_command(name: str):
    module = importlib.import_module(name)
    assert f"python -m {name} " in str(module.__doc__)
    assert callable(module.main)


def test_the_page_of_benchmarks_lists_every_script():
    page = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert [name for name in SCRIPTS if f"`{'/'.join(name.split('.')[1:])}.py`" not in page] == []


def test_every_way_that_the_benchmark_of_recording_compares_runs():
    for way in candidates(8, 2).values():
        way.prepare()
        way.run()
