"""What the command says before a long run."""

from __future__ import annotations

import pytest

from eyeline.show.cli import corpus


def test_before_a_long_run_the_command_says_what_each_statistic_costs(eyeline, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "LONG_SECONDS", 0.0)
    texts = tmp_path / "texts.txt"
    only = ("--only", "entropy", "--only", "distances", "--model", "minilm")
    for lines, expected in ((corpus.LONG_RUN - 1, False), (corpus.LONG_RUN, True)):
        texts.write_text("The cat sat on the mat.\n" * lines, encoding="utf-8")
        done = eyeline("analyse", texts, *only, "--paragraphs", "line", "-o", tmp_path / str(lines))
        assert done.returncode == 0, done.stderr
        costs = [line for line in done.stdout.splitlines() if line.startswith("About ")]
        assert bool(costs) == expected
    assert f"for {corpus.LONG_RUN} documents: passes " in costs[0]
    assert "entropy " in costs[0]
    assert "distances " in costs[0]
