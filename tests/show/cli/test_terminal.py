"""What commands print cannot steer the terminal."""

from __future__ import annotations

import pytest
from rich.table import Table

from eyeline.show.cli.terminal import new_console


def test_control_characters_are_shown_and_the_rest_stays(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("relation")
    table.add_row("ns\x1b]0;owned\x07ubj")
    console = new_console()
    console.print("a\x1b[31mb 猫\tc")
    console.print(table)
    printed = capsys.readouterr().out
    assert "a\\x1b[31mb 猫" in printed
    assert "\\x1b]0;owned" in printed
    assert "\x1b" not in printed
