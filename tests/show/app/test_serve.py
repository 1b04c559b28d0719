"""How the app is started: `python -m eyeline app` and `eyeline app` are the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import eyeline
from tests.show.app.browser.serving import free_port

#: Starts the app as `python -m eyeline app` does, up to the moment when it would listen; then says where a worker would find `statistics`.
PROGRAM = """
import runpy, sys
from importlib.machinery import PathFinder
from streamlit.web.server.starlette.starlette_server import UvicornRunner
from eyeline.show.app.kit import models

models.warm_up = lambda model: None
UvicornRunner.run = lambda self: print(sys.argv[1], PathFinder.find_spec("statistics").origin)
runpy.run_module("eyeline", run_name="__main__", alter_sys=True)
"""


def test_started_as_a_module_the_app_does_not_hide_modules_of_python_from_its_workers(tmp_path: Path):
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        "app",
        "--no-browser",
        "--no-samples",
        "--workspace",
        str(tmp_path / "w"),
        "--port",
        str(free_port()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    begun, origin = done.stdout.splitlines()[-1].split(maxsplit=1)
    assert begun == "app"
    assert Path(origin).parent != Path(eyeline.__file__).parent
