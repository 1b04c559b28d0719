"""The first two requests that ARCHITECTURE.md walks through, run under a profiler: their files are entered in the order written there."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.test_architecture import WALKS, named_in

#: Runs the command line and prints each file of the package when one of its functions is called for the first time.
PROFILED = """
import os, sys
import eyeline
from eyeline.hosts.cli import main as command_line

ROOT = os.path.dirname(eyeline.__file__) + os.sep
FUNCTION = 2  # the flag of code that has variables of its own: neither modules nor class bodies
entered = {}

def note(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(ROOT) and code.co_flags & FUNCTION and not code.co_name.startswith("<"):
        entered.setdefault(code.co_filename[len(ROOT):].replace(os.sep, "/"))

sys.setprofile(note)
try:
    command_line.main()
except SystemExit as stop:
    assert not stop.code, stop.code
finally:
    sys.setprofile(None)
print("entered: " + " ".join(entered))
"""


@pytest.mark.parametrize(
    ("walk", "command"),
    [
        pytest.param(WALKS[0], ["view", "The cat sat.", "--model", "minilm", "-o", "cat.html"], id="view", marks=pytest.mark.slow),
        pytest.param(WALKS[1], ["analyse", "corpus.txt", "--model", "minilm", "-o", "run"], id="corpus", marks=pytest.mark.slow),
    ],
)
def test_a_request_enters_the_files_of_its_walk_in_order(walk, command, tmp_path):
    (tmp_path / "corpus.txt").write_text("The cat sat.\n\nThe dog ran home.\n")
    arguments = [sys.executable, "-c", PROFILED, *command]
    environment = {**os.environ, "EYELINE_CACHE": str(tmp_path / "traces")}  # empty: a trace of another test would cut the walk short
    done = subprocess.run(arguments, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    entered = re.search(r"^entered: (.*)$", done.stdout, re.MULTILINE)
    assert entered
    walked = named_in(walk)
    assert [path for path in entered[1].split() if path in walked] == walked
