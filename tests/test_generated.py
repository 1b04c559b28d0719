"""What is written twice is generated from one place, and what is committed is what the script writes today."""

from __future__ import annotations

import pytest
from scripts.generate import ROOT, generated

FILES = generated()


@pytest.mark.parametrize("path", FILES)
def test_a_generated_file_is_what_the_script_writes(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == FILES[path], "make generated"
