"""`eyeline generate` and `eyeline replay`: pages, files and tables of what a model looked at while it wrote."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path

import pytest

import eyeline as el
from eyeline.show.cli import main as cli
from tests.look.views.front_end import use_small_front_end

CHAT = [{"role": "system", "content": "You are terse."}, {"role": "user", "content": "Name the capital of France."}]


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["eyeline", *map(str, arguments)])
    try:
        cli.main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


@pytest.fixture
def _opened(monkeypatch: pytest.MonkeyPatch, smollm2: el.Model) -> None:
    monkeypatch.setattr("eyeline.models.load.load", lambda name: smollm2)


@pytest.mark.usefixtures("_opened")
def test_a_conversation_becomes_a_page_tables_and_a_file_that_replay_reproduces(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    use_small_front_end(monkeypatch)
    chat, page, file = tmp_path / "chat.json", tmp_path / "chat.html", tmp_path / "chat.safetensors"
    chat.write_text(json.dumps({"messages": CHAT}))
    assert run(monkeypatch, "generate", "--messages", chat, "--head", "18,6", "--tables", tmp_path / "tables", "-o", page, "--effects") == 0
    said = capsys.readouterr().out
    assert "The capital of France is Paris." in said
    assert re.search(r"user 1\s+0\.221\s+-\d", said)
    spec = json.loads(re.search(r'id="eyeline-view">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)[1])["spec"]
    assert (spec["kind"], spec["state"]["layer"], spec["state"]["heads"]) == ("generation", 18, [6])
    rows = list(csv.DictReader((tmp_path / "tables" / "written.csv").open()))
    assert [row["token"] for row in rows][:2] == ["The", "▁capital"]
    assert len(list(csv.DictReader((tmp_path / "tables" / "heads.csv").open()))) == 270
    (tmp_path / "answer.txt").write_text("The capital of France is Paris.<|im_end|>")
    assert run(monkeypatch, "replay", chat, tmp_path / "answer.txt", "-o", file) == 0
    replayed = el.open(file)
    assert replayed.about["recorded"] == "text"
    assert float(rows[0]["share of user 1"]) == pytest.approx(replayed.share_of("user 1")[0], abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["generate", "--seed", "3"], "A prompt or a conversation"),
        (["generate", "The cat", "--temperature", "2"], "without --sample"),
        (["generate", "The cat", "--head", "18"], "LAYER,HEAD"),
        (["generate", "The cat", "--part", "document"], "NAME=WORDS"),
        (["generate", "The cat", "-o", "cat.txt"], "cannot be written as .txt"),
        (["replay", "missing.txt", "missing.txt"], "cannot be read"),
    ],
)
def test_what_cannot_be_done_is_refused_before_a_model_is_opened(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    monkeypatch.setattr("eyeline.models.load.load", lambda name: pytest.fail("opened"))
    assert run(monkeypatch, *arguments) == 2
    assert says in "".join(capsys.readouterr())
