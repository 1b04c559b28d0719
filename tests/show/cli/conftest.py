"""The command line, run in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from eyeline.show.cli import main as cli


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def eyeline(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run the command in this process, as the installed script does."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["eyeline", *map(str, arguments)])
        capfd.readouterr()
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capfd.readouterr()
        return Done(code, out, err)

    return run
