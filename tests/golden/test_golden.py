"""scripts/golden.py: what users can observe is as it was committed, and a comparison finds the smallest change."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def golden(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "golden.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_names_help_and_refusals_are_those_that_are_committed(tmp_path):
    written = golden(tmp_path / "golden", "--only", "names", "help", "refusals")
    assert written.returncode == 0, written.stderr
    checked = golden("check", tmp_path / "golden")
    assert checked.returncode == 0, checked.stdout


def test_a_comparison_finds_a_changed_word_a_changed_digit_and_a_missing_file(tmp_path):
    texts = {
        "texts/refusal.txt": "The text is empty.\n",
        "numbers/table.json": json.dumps([0.1, 0.3333333333333333]),
        "numbers/x.txt": "x\n",
    }
    for name in ("before", "after"):
        for file, text in texts.items():
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).write_text(text)
    same = golden("compare", tmp_path / "before", tmp_path / "after")
    assert (same.returncode, same.stdout) == (0, "No difference in 3 files.\n")
    (tmp_path / "after" / "texts" / "refusal.txt").write_text("This text is empty.\n")
    (tmp_path / "after" / "numbers" / "table.json").write_text(json.dumps([0.1 + 1e-12, 0.3333333333333333]))
    (tmp_path / "after" / "numbers" / "x.txt").unlink()
    changed = golden("compare", tmp_path / "before", tmp_path / "after")
    assert changed.returncode == 1
    for part in ("+ This text is empty.", "+ [0.100000000001", "numbers/x.txt: only before", "3 of 3 files differ."):
        assert part in changed.stdout
