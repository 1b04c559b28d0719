"""The blocks of docs/how-to/coming-from.md that need another library, run as written, with a tiny model in the place of gpt2.

The other blocks of the page run in tests/test_docs.py.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import transformers as t

from tests.models.families import GPT, tiny_tokenizer

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "coming-from.md"
BLOCKS = re.findall(r"^```py\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
LIBRARIES = ("bertviz", "circuitsvis", "transformer_lens", "nnsight", "tensorflow", "jax")


def test_every_library_has_a_block_with_its_own_code():
    assert all(any(f"import {name}" in block or f"from {name}" in block for block in BLOCKS) for name in LIBRARIES)


@pytest.mark.slow
@pytest.mark.parametrize("index", range(len(BLOCKS)))
def test_a_block_with_another_library_runs(index, tmp_path):
    missing = [name for name in LIBRARIES if re.search(rf"^(import|from) {name}\b", BLOCKS[index], re.MULTILINE) and not installed(name)]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed (make test-adapters)")
    torch.manual_seed(0)
    t.GPT2LMHeadModel(t.GPT2Config(**GPT)).save_pretrained(tmp_path / "model")
    tiny_tokenizer().save_pretrained(tmp_path / "model")
    code = BLOCKS[index].replace('"gpt2"', repr(str(tmp_path / "model")))
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in re.findall(r'\.save\("(.+?)"\)', code):
        assert (tmp_path / name).stat().st_size > 10_000


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None
