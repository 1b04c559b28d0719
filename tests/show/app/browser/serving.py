"""`eyeline app`, started as a person starts it, and stopped."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from eyeline.show.app.serve import answers

PROGRAM = "from eyeline.show.cli.main import main; main()"


@dataclass(frozen=True)
class Served:
    """A running app: its address, its workspace, its process and what it printed."""

    url: str
    workspace: Path
    process: subprocess.Popen[bytes]
    log: Path


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def serving(workspace: Path, *options: str, patience: float = 240) -> Iterator[Served]:
    """The app on a free port of this machine, until the block ends."""
    port, log = free_port(), workspace.parent / f"{workspace.name}.log"
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        "app",
        "--port",
        str(port),
        "--no-browser",
        "--no-samples",
        "--workspace",
        str(workspace),
        *options,
    ]
    with log.open("ab") as out:
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=workspace.parent, env=environment)
        try:
            end = time.monotonic() + patience
            while not answers(f"http://127.0.0.1:{port}/_stcore/health"):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end, f"the app never answered: {log.read_text()}"
                time.sleep(0.2)
            yield Served(f"http://127.0.0.1:{port}", workspace, process, log)
        finally:
            process.terminate()
            process.wait(30)
