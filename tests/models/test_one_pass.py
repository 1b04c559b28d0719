"""The one-pass kernel gives what the dense form gives, and stays away where it cannot run."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.models import kernels
from tests.models.dense import compare
from tests.models.families import TINY, tiny_tokenizer


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


class KernelOfShortTexts:
    """In place of Triton's kernel: the same arguments, computed by the form for processors."""

    calls = 0

    def __getitem__(self, _grid: object) -> Callable[..., None]:
        def launch(*args: Any, **fixed: Any) -> None:
            type(self).calls += 1
            queries, keys, values, sets, allowed, output, shares, entropies, log_sums, scale = args[:10]
            mask = allowed.view(torch.bool) if fixed["MASKED"] else None
            n_sets = shares.shape[-1] - len(kernels.OFFSETS)
            columns = sets[..., :n_sets].expand(len(queries), -1, -1)
            results = kernels.attention_of_short_texts(
                queries, keys, values, mask, scale / 1.4426950408889634, fixed["CAUSAL"], columns, kernels.OFFSETS
            )
            for target, result in zip((output, shares, entropies, log_sums), results, strict=True):
                target.copy_(result)

        return launch


def test_a_kernel_that_is_used_for_the_first_time_is_named_in_the_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling takes seconds, in which nothing else moves."""
    module = SimpleNamespace(attention_with_numbers=KernelOfShortTexts())
    monkeypatch.setitem(sys.modules, "eyeline.models.triton_kernel", module)
    triton = SimpleNamespace(cdiv=lambda a, b: -(-a // b), next_power_of_2=lambda n: 1 << (n - 1).bit_length())
    monkeypatch.setitem(sys.modules, "triton", triton)
    monkeypatch.setattr(kernels, "kernel_is_there", lambda _kind: True)
    monkeypatch.setattr(kernels, "_used", set())
    torch.manual_seed(0)
    hf = t.LlamaModel(t.LlamaConfig(**{**TINY, "hidden_size": 64, "initializer_range": 0.3})).eval()
    model = el.wrap(hf, tiny_tokenizer(), name="llama")
    seen: list[Any] = []
    texts = ["the cat sat on the mat", "the dog ran home"]
    run = el.analyse(model, texts, [el.statistics.AverageAttention(), el.statistics.Entropy()], progress=seen.append)
    named = [progress.kernel for progress in seen if progress.kernel]
    assert named
    assert len(named) == len(set(named)), "a kernel was named twice"
    assert all(name.startswith("attention, 16 dimensions, float32") for name in named)
    assert seen[0].kernel, "it is named before the batch that waits for it is reported"
    assert KernelOfShortTexts.calls > len(named)
    again: list[Any] = []
    same = el.analyse(model, texts, [el.statistics.AverageAttention(), el.statistics.Entropy()], progress=again.append)
    assert again
    assert not any(progress.kernel for progress in again)
    assert same.table("entropy").to_csv() == run.table("entropy").to_csv()
