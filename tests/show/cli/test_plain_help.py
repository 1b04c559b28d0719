"""The command line as a person uses it: plain help, advice that can be typed, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import eyeline as el
from eyeline.show.cli.main import app, main
from eyeline.show.cli.terminal import with_plain_values

COMMANDS = [command.name or command.callback.__name__.replace("_", "-") for command in app.registered_commands if command.callback]


def test_file_names_in_errors_cannot_move_the_cursor(tmp_path, monkeypatch, capfdbinary):
    monkeypatch.setattr(sys, "argv", ["eyeline", "analyse", "no\x1b[2Jsuch.txt", "--model", "minilm", "-o", str(tmp_path / "run")])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    message = capfdbinary.readouterr().err
    assert b"such.txt" in message
    assert b"\x1b" not in message


@pytest.mark.parametrize("command", [*COMMANDS, "models"])
def test_help_shows_options_as_people_type_them(command):
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0, shown.output
    assert not [kind for kind in ("<bool>", "<list[", "<str>", "<int>", "<path>", "<Path>", "{", "}", " range ") if kind in shown.output]


def test_options_that_may_be_repeated_say_so():
    commands = get_command(app).commands.values()
    options = [(command.name, option) for command in commands for option in command.params if getattr(option, "multiple", False)]
    assert len(options) > 5
    assert [(name, option.name) for name, option in options if "may be repeated" not in (option.help or "")] == []


def test_commands_stand_in_groups():
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    groups = ["One text", "A corpus", "Grammar and coreference", "Texts to start with", "In the browser", "Models"]
    assert [shown.index(group) for group in groups] == sorted(shown.index(group) for group in groups)
    assert "<bool>" not in shown


def test_an_error_advises_options_of_the_command(monkeypatch, capsys):
    """In Python the same error names the argument: truncate=True."""
    monkeypatch.setattr(sys, "argv", ["eyeline", "trace", " ".join(["word"] * 700), "--model", "minilm"])
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    message = capsys.readouterr().err
    assert "add --truncate to keep the first 512 tokens" in message
    assert "truncate=True" not in message


@pytest.mark.slow
def test_control_c_saves_what_was_measured_and_resume_goes_on_to_the_same_numbers(tmp_path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n\n".join([el.corpora.sample_text()] * 6), encoding="utf-8")

    def command(folder: Path, *more: str) -> list[str]:
        return ["analyse", str(corpus), "--model", "minilm", "--only", "entropy", "-o", str(folder), *more]

    started = [sys.executable, "-m", "eyeline", *command(tmp_path / "run")]
    heeds_control_c = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # tests in the background of a shell inherit that it is ignored
    process = subprocess.Popen(started, stderr=subprocess.PIPE, env={**os.environ, "COLUMNS": "200"}, preexec_fn=heeds_control_c)
    end = time.monotonic() + 120
    while not list((tmp_path / "run").glob(".*lock*")):
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err.decode()
    assert b"add --resume" in err
    assert b"Traceback" not in err
    for arguments in (command(tmp_path / "run", "--resume"), command(tmp_path / "whole")):
        done = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
    assert el.runs.open_run(tmp_path / "run").table("entropy").to_csv() == el.runs.open_run(tmp_path / "whole").table("entropy").to_csv()


def test_an_older_typer_keeps_its_own_names_of_values():
    """typer 0.16 has no `display_type`; every command ended in an AttributeError."""
    param = SimpleNamespace(param_type_name="option", metavar=None, is_flag=False)
    assert with_plain_values([param], None) == [param]
    assert param.metavar is None
