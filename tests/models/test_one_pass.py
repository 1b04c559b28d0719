"""The one-pass kernel gives what the dense form gives, and stays away where it cannot run."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest
import torch

from eyeline.models import kernels
from tests.models.dense import compare


@pytest.mark.slow
def test_output_entropy_masses_and_offsets_are_those_of_the_dense_form() -> None:
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not installed: it comes with torch for CUDA")
    environment = os.environ if torch.cuda.is_available() else {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-m", "tests.models.dense"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(environment))
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1e-5


def test_on_a_processor_short_texts_give_what_the_dense_form_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare("cpu") < 1e-5
    monkeypatch.setattr(kernels, "NUMBERS_IN_BLOCK", 70 * 70)  # one text in a block
    assert compare("cpu") < 1e-5


def test_on_a_processor_one_pass_is_for_short_texts_in_single_precision() -> None:
    def applies(n: int, dtype: torch.dtype = torch.float32, dims: int = 8) -> bool:
        vectors = torch.zeros(1, 1, n, dims, dtype=dtype)
        return kernels.applies(vectors, vectors, vectors, None, 0.2, False)

    assert applies(kernels.SHORT_TEXT)
    assert not applies(kernels.SHORT_TEXT + 1)
    assert not applies(4, torch.bfloat16)
    assert not applies(4, torch.float64)
    assert kernels.may_apply("cpu", torch.float32)
    assert not kernels.may_apply("cpu", torch.float16)
    assert not kernels.may_apply("mps", torch.float32)


def test_the_processor_never_loads_the_kernel() -> None:
    assert not kernels.kernel_is_there("cpu")
    assert "eyeline.models.triton_kernel" not in sys.modules


def test_the_kernel_applies_to_plain_attention_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "kernel_is_there", lambda kind: True)
    queries, keys = torch.zeros(2, 4, 6, 32), torch.zeros(2, 2, 6, 32)
    seen = torch.ones(2, 1, 6, 6, dtype=torch.bool)

    def applies(q: torch.Tensor = queries, k: torch.Tensor = keys, mask: torch.Tensor | None = None, scale: float = 0.2) -> bool:
        return kernels.applies(q, k, k, mask, scale, False)

    assert applies()
    assert applies(mask=seen)
    assert not applies(mask=torch.zeros(2, 1, 6, 6))  # numbers that are added
    assert not applies(queries.double(), keys.double())
    assert not applies(queries[..., :8], keys[..., :8])
    assert not applies(queries.repeat(1, 1, 1, 8), keys.repeat(1, 1, 1, 8))  # 256 in float32
    assert applies(queries.half().repeat(1, 1, 1, 8), keys.half().repeat(1, 1, 1, 8))
    assert not applies(scale=-1.0)
    assert not kernels.applies(queries, keys[:, :, :3], keys[:, :, :3], None, 0.2, True)
    with torch.enable_grad():
        assert not applies(queries.clone().requires_grad_())


def test_sets_of_keys_are_filled_up_to_a_power_of_two() -> None:
    parts = [torch.ones(1, 3, 2), torch.ones(1, 3, 16)]
    sets = kernels.KeySets.of(parts, torch.bfloat16)
    assert sets.n == 18
    assert sets.matrix.shape == (1, 3, 32)
    assert sets.matrix[..., 18:].sum() == 0
    assert kernels.KeySets.of([torch.empty(1, 3, 0)], torch.float32).matrix.shape == (1, 3, 16)
