"""Does `make run` bring the app up? Starts it, visits its first page as a browser would, and stops it with everything that it started."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.show.app.browser.socket_visitor import SocketVisitor

from eyeline.show.app.serve import answers

ROOT = Path(__file__).parents[1]
#: Seconds: until the app answers, and until it has ended.
START_LIMIT, STOP_LIMIT = 180, 30


def main() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    with tempfile.TemporaryDirectory() as workspace:
        command = ["make", "run", f"PORT={port}", f"WORKSPACE={workspace}", "OPTIONS=--no-browser --no-samples"]
        print("$", *command, flush=True)
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        process = subprocess.Popen(command, cwd=ROOT, env=plain, start_new_session=True)
        try:
            visit(f"http://127.0.0.1:{port}", process)
        finally:
            stop(process)


def visit(url: str, process: subprocess.Popen[bytes]) -> None:
    """The first page, down to the attention of its sentence."""
    end = time.monotonic() + START_LIMIT
    while not answers(f"{url}/_stcore/health"):
        if process.poll() is not None or time.monotonic() > end:
            sys.exit(f"The app never answered at {url}; `make run` {'is still running' if process.poll() is None else 'ended'}.")
        time.sleep(0.2)
    with SocketVisitor(url) as visitor:
        seconds = visitor.open()
        problems = [element.message or element.body for kind in ("exception", "alert") for element in visitor.kinds(kind)]
        titles = [element.body for element in visitor.kinds("heading")]
        if problems or "Look at a text" not in titles or not visitor.kinds("bidi_component"):
            sys.exit(f"The first page came without its view.\n  titles: {titles}\n  messages: {problems}")
    print(f"The app came up, and sent its first page in {seconds:.2f} s.", flush=True)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End `make` and all that it started, as Ctrl-C does; a process that does not end in time is an error."""
    try:
        os.killpg(process.pid, signal.SIGINT)
    except ProcessLookupError:
        return
    process.wait(STOP_LIMIT)
    end = time.monotonic() + STOP_LIMIT
    while time.monotonic() < end:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    sys.exit("The app did not stop when it was asked to.")


if __name__ == "__main__":
    main()
