"""The same trace is drawn as the same bytes, in whatever process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def drawn_twice(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The same graphs, drawn by two processes into a folder each."""
    code = (
        "import sys, numpy as np, eyeline as el\n"
        "r = np.random.default_rng(0); v = r.normal(size=(1, 1, 3, 8))\n"
        "t = el.Trace.from_arrays([[np.eye(3)]], ['a', '猫', 'c'], values=v)\n"
        "for layout in ('columns', 'values'):\n"
        "    for ending in ('svg', 'pdf'):\n"
        "        el.figures.attention_graph(t, 0, 0, layout=layout).save(f'{sys.argv[1]}/{layout}.{ending}')"
    )
    folders = [tmp_path_factory.mktemp("drawn") for _ in range(2)]
    for folder in folders:
        subprocess.run([sys.executable, "-c", code, str(folder)], check=True)
    return folders


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["svg", "pdf"])
@pytest.mark.parametrize("layout", ["columns", "values"])
def test_the_same_trace_gives_the_same_bytes_in_another_process(ending: str, layout: str, drawn_twice: list[Path]) -> None:
    first, second = (folder / f"{layout}.{ending}" for folder in drawn_twice)
    assert first.read_bytes() == second.read_bytes()
