"""The command line as a user meets it: what it prints, what it writes, how it refuses."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import eyeline as el


def in_a_process(*arguments: str | bytes) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "eyeline", *arguments]
    return subprocess.run(command, capture_output=True, check=False, timeout=180)


def test_the_version_is_printed_alone():
    assert in_a_process("--version").stdout.decode() == f"eyeline {el.__version__}\n"


def test_help_names_every_command_and_needs_no_torch():
    code = "import sys; from eyeline.show.cli.main import app; app(['--help'], standalone_mode=False); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for command in ("trace", "models", "--traceback"):
        assert command in done.stdout
    assert done.stdout.strip().endswith("False")


def test_a_trace_is_saved_and_summed_up(eyeline, tmp_path):
    done = eyeline("trace", "The cat sat on the mat.", "--pair", "It purred.", "--layers", "0,5", "-o", tmp_path / "cat.safetensors")
    assert done.returncode == 0, done.stderr
    assert "2 layers x 12 heads" in done.stdout
    rows = re.findall(r"^\s+(\d)\s+(\d\.\d\d) nats", done.stdout, re.MULTILINE)
    assert [row[0] for row in rows] == ["0", "5"]
    trace = el.traces.open_trace(tmp_path / "cat.safetensors")
    assert trace.layers == (0, 5)
    assert trace.text.sources == ("The cat sat on the mat.", "It purred.")


def test_words_are_traced_as_words(eyeline, tmp_path):
    done = eyeline("trace", "It purred.", "--words", "-o", tmp_path / "x.safetensors")
    assert done.returncode == 0, done.stderr
    assert el.traces.open_trace(tmp_path / "x.safetensors").text.tokens == ("[CLS]", "It", "purred", ".", "[SEP]")


def test_models_lists_what_is_embedded(eyeline):
    done = eyeline("models")
    assert done.returncode == 0
    assert re.search(r"minilm .*6 x 12 .*Apache-2.0 .*weights, queries, keys, values .*installed", done.stdout)
    assert "smollm2" in done.stdout


def test_models_show_says_what_a_model_gives(eyeline):
    done = eyeline("models", "show", "minilm")
    assert "6 layers x 12 heads" in done.stdout
    assert "plain softmax" in done.stdout
    assert "512 tokens" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["trace", ""], "empty"),
        (["trace", "  "], "space"),
        (["trace", "cat " * 600], "602 tokens, but the model takes 512"),
        (["trace", "cat", "--model", "minilmm"], "minilm"),
        (["trace", "cat", "--model", "/no/such/folder"], "There is no folder"),
        (["trace", "cat", "--model", "minilm", "--layers", "9"], "0…5"),
        (["trace", "cat", "--layers", "x"], "give numbers"),
        (["trace", "cat", "-o", "/no/such/folder/x.safetensors"], "cannot be written"),
        (["models", "get", "gpt5"], "minilm, smollm2"),
    ],
)
def test_bad_input_gets_a_message_and_exit_2(eyeline, arguments, says):
    done = eyeline(*arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_traceback_shows_where_an_error_arose(eyeline):
    with pytest.raises(el.EyelineError, match="empty"):
        eyeline("--traceback", "trace", "")


@pytest.mark.slow
def test_bytes_that_are_no_text_are_refused_and_not_crashed_on():
    done = in_a_process("trace", b"bad \xff byte")
    assert done.returncode == 2
    assert b"surrogate" in done.stderr
