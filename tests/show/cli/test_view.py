"""`eyeline view`: where a page opens, and what a kind of file cannot show."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from eyeline.show.cli import main as cli
from tests.look.views.front_end import use_small_front_end
from tests.measure.causes.tiny import decoder
from tests.tiers import slow_but

TEXT = "The cat sat on the mat."


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["eyeline", "view", TEXT, *map(str, arguments)])
    try:
        cli.main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def spec_of(page: Path) -> dict[str, Any]:
    match = re.search(r'id="eyeline-view">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    assert match
    spec: dict[str, Any] = json.loads(match[1])["spec"]
    return spec


def state_of(page: Path) -> dict[str, Any]:
    state: dict[str, Any] = spec_of(page)["state"]
    return state


@pytest.mark.parametrize(
    ("options", "state"),
    [
        (["--view", "model", "--layer", 2, "--head", 3], {"stack": 0, "layer": 2, "heads": [3], "opened": True, "colour_by": "entropy"}),
        pytest.param(
            ["--view", "model", "--layer", 2], {"stack": 0, "layer": 2, "rows": [2], "colour_by": "entropy"}, marks=pytest.mark.slow
        ),
        pytest.param(
            ["--view", "model", "--head", 3],
            {"stack": 0, "layer": 0, "heads": [3], "columns": [3], "colour_by": "entropy"},
            marks=pytest.mark.slow,
        ),
        pytest.param(["--view", "model"], {"stack": 0, "layer": 0, "colour_by": "entropy"}, marks=pytest.mark.slow),
        pytest.param(["--view", "model", "--pair", ""], {"stack": 0, "layer": 0, "colour_by": "entropy"}, marks=pytest.mark.slow),
        (["--view", "neuron", "--layer", 2, "--head", 3, "--set", "query=2"], {"stack": 0, "layer": 2, "heads": [3], "query": 2}),
        (["--layer", 1, "--set", "threshold=0.1", "--set", "theme=dark"], {"stack": 0, "layer": 1, "threshold": 0.1, "theme": "dark"}),
        pytest.param(["--layer", 2, "--head", 3], {"stack": 0, "layer": 2, "heads": [3]}, marks=pytest.mark.slow),
    ],
)
def test_a_page_opens_where_it_was_asked_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: list[object], state: dict[str, object]
) -> None:
    use_small_front_end(monkeypatch)
    assert run(monkeypatch, *options, "-o", tmp_path / "x.html") == 0
    assert state_of(tmp_path / "x.html") == state


@pytest.mark.parametrize(
    ("options", "name", "says"),
    [
        (["--red", "sat:cat"], "x.html", "--red with x.html"),
        (["--layout", "values"], "x.html", "--layout values with x.html"),
        (["--view", "model", "--red", "sat:cat"], "x.svg", "--red with --view model"),
        (["--view", "neuron", "--layout", "values"], "x.pdf", "--layout values with --view neuron"),
        (["--view", "model", "--layer", 12, "--head", 0], "x.html", "Layer 12 is not in this view"),
        (["--view", "model", "--layer", 0, "--head", 12], "x.html", "0 to 11"),
        (["--set", "threshold"], "x.html", "KEY=VALUE"),
        (["--set", "treshold=0.1"], "x.html", "threshold"),
        (["--red", "sat:cat", "--set", "theme=dark"], "x.svg", "--set with a graph"),
        (["--effects"], "x.svg", "--effects is for a page"),
        (["--effects", "--words"], "x.html", "--effects is for a page"),
        (["--effects"], "x.html", "no answer to this text"),
    ],
)
def test_what_a_kind_of_file_cannot_show_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str], options: list[object], name: str, says: str
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run(monkeypatch, *options, "-o", tmp_path / name) == 2
    assert says in capfd.readouterr().err
    assert not (tmp_path / name).exists()


def test_without_a_layer_a_view_opens_at_a_head_that_shows_something(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """on → mat, in the default model."""
    use_small_front_end(monkeypatch)
    assert run(monkeypatch, "-o", tmp_path / "x.html") == 0
    assert state_of(tmp_path / "x.html") == {"stack": 0, "layer": 4, "heads": [4]}


def test_a_picture_follows_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert run(monkeypatch, "--set", "hide_special=true", "--set", "theme=dark", "-o", tmp_path / "x.svg") == 0
    drawn = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert "#0f1115" in drawn
    assert "special tokens hidden" in drawn
    assert "[CLS]" not in drawn


def test_a_picture_still_takes_its_own_options(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert run(monkeypatch, "--layer", 2, "--head", 3, "--red", "sat:cat", "-o", tmp_path / "x.svg") == 0
    assert "L2·H3" in (tmp_path / "x.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("ending", "begins"),
    slow_but([("html", b"<!doctype html>")], [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF"), ("html", b"<!doctype html>")]),
)
def test_a_view_is_written_as_any_kind_of_file_and_opened_when_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str, begins: bytes
) -> None:
    use_small_front_end(monkeypatch)
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    path = tmp_path / f"x.{ending}"
    assert run(monkeypatch, "-o", path) == 0
    assert path.read_bytes()[:15].lower().startswith(begins.lower())
    assert opened == []
    assert run(monkeypatch, "-o", path, "--open") == 0
    assert opened == [path.as_uri()]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["head", "model", "neuron"])
@pytest.mark.parametrize("ending", slow_but(["svg"], ["svg", "pdf", "png"]))
def test_every_view_is_written_as_a_picture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str, ending: str) -> None:
    path = tmp_path / f"x.{ending}"
    assert run(monkeypatch, "--view", kind, "--layer", 2, "-o", path) == 0
    assert path.stat().st_size > 2000


@pytest.mark.slow
@pytest.mark.parametrize("command", ["view", "trace"])
def test_a_text_that_the_tokeniser_does_not_know_is_named_as_such(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    use_small_front_end(monkeypatch)
    for text in ("ᚠᚢᚦ ᚨᚱᚲ", TEXT):
        target = tmp_path / ("x.html" if command == "view" else "x.safetensors")
        monkeypatch.setattr(sys, "argv", ["eyeline", command, text, "-o", str(target)])
        with pytest.raises(SystemExit, match="0"):
            cli.main()
        message = " ".join(capsys.readouterr().out.split())
        assert ("tokens are unknown to this model's tokeniser" in message) is (text != TEXT)


@pytest.mark.parametrize("kind", ["head", "model", "neuron"])
def test_a_page_holds_what_the_answer_becomes_without_each_head(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str) -> None:
    use_small_front_end(monkeypatch)
    monkeypatch.setenv("EYELINE_CACHE", str(tmp_path / "cache"))
    model = decoder()
    model.hf.save_pretrained(tmp_path / "tiny")
    model.tokenizer.save_pretrained(tmp_path / "tiny")
    assert run(monkeypatch, "--model", tmp_path / "tiny", "--view", kind, "--effects", "-o", tmp_path / "x.html") == 0
    effects = spec_of(tmp_path / "x.html")["effects"]
    assert effects == json.loads(json.dumps(model.head_effects(model.trace(TEXT))))
    if kind == "head":
        state, before = state_of(tmp_path / "x.html"), spec_of(tmp_path / "x.html")["prediction"]["choices"][0]["probabilities"][0]
        changes = [[abs(probability - before) for probability in layer["probabilities"]] for layer in effects]
        assert changes[state["layer"]][state["heads"][0]] == max(map(max, changes))
