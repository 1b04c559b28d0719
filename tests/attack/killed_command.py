"""`eyeline …`, killed at one of the steps at which it adds up and writes the sums of a run.

    python -m tests.attack.killed_command STEP COMMAND …     the command ends by SIGKILL at this step; 0: it is not killed

The clock of the run stands still, so that two runs write the same seconds, and their files can be compared byte by byte.
Steps are counted from 1: each merge of a statistic's sums, and for each file of sums the moment before it is written, and the moment when
it is written but has not yet taken the place of the file before it. Prints the processes that were started from here, or how many steps
there were.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import psutil
from safetensors.numpy import save_file

from eyeline.measure.statistics import loop
from eyeline.models import tracing
from eyeline.show.cli.main import main as eyeline_main
from eyeline.statistics import Statistic
from eyeline.storage import sealed

#: Documents in a shard, and texts in a batch: so small that a short text makes many.
GROUP, TEXTS_IN_A_BATCH = 8, 3


class Steps:
    """Counts steps, and kills this process at one of them."""

    def __init__(self, last: int) -> None:
        self.last, self.n = last, 0

    def step(self) -> None:
        self.n += 1
        if self.n == self.last:
            print("processes", *[child.pid for child in psutil.Process().children(recursive=True)], flush=True)
            os.kill(os.getpid(), signal.SIGKILL)

    def before(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **options: Any) -> Any:
            self.step()
            return function(*given, **options)

        return call

    def after(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **options: Any) -> Any:
            result = function(*given, **options)
            self.step()
            return result

        return call


def main(last: int, command: list[str]) -> None:
    steps, standing = Steps(last), SimpleNamespace(monotonic=lambda: 0.0)
    with (
        patch.multiple(loop, GROUP=GROUP, SAVE_EVERY=-1.0, time=standing, save_state=steps.before(loop.save_state)),
        patch.object(tracing, "BATCH_TEXTS", TEXTS_IN_A_BATCH),
        patch.object(Statistic, "merge", steps.before(Statistic.merge)),
        patch.object(sealed, "save_file", steps.after(save_file)),
        patch.object(sys, "argv", ["eyeline", *command]),
    ):
        try:
            eyeline_main()
        finally:
            print("steps", steps.n, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
