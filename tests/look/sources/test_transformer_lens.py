"""A cache of TransformerLens becomes a trace: patterns by layer, vectors where they give the patterns."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import eyeline as el
from tests.models.families import tiny_tokenizer


class Cache:
    """What `run_with_cache` returns, in short."""

    def __init__(self, arrays: dict[str, Any], model: Any = None) -> None:
        self.arrays, self.model = arrays, model
        self.keys = arrays.keys

    def __getitem__(self, name: str) -> Any:
        return self.arrays[name]


def cached(n_layers: int = 2, *, scale: float = 8**-0.5) -> dict[str, Any]:
    torch.manual_seed(0)
    arrays: dict[str, Any] = {}
    for layer in reversed(range(n_layers)):  # numbers decide, not the order in which they were kept
        q, k, v = (torch.randn(1, 3, 2, 8) for _ in range(3))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * scale
        pattern = scores.masked_fill(torch.ones(3, 3).triu(1).bool(), -torch.inf).softmax(-1)
        arrays |= {f"blocks.{layer}.attn.hook_{name}": array for name, array in zip("qkv", (q, k, v), strict=True)}
        arrays[f"blocks.{layer}.attn.hook_pattern"] = pattern
    return arrays


def test_a_cache_of_transformer_lens_has_weights_and_vectors():
    arrays = cached()
    trace = el.Trace.from_transformer_lens(Cache(arrays), ["the", "cat", "sat"])
    assert list(trace.stacks) == ["decoder"]
    np.testing.assert_allclose(trace.weights[1], arrays["blocks.1.attn.hook_pattern"][0], atol=1e-6)
    np.testing.assert_allclose(trace.queries[0], arrays["blocks.0.attn.hook_q"][0].movedim(0, 1), atol=1e-6)
    assert trace.model == "transformer-lens"


def test_queries_that_do_not_give_the_pattern_are_left_out():
    trace = el.Trace.from_transformer_lens(Cache(cached(scale=2.0)), ["the", "cat", "sat"])
    assert trace.weights.shape == (2, 2, 3, 3)
    assert not trace.only.has("queries")


def test_a_cache_that_knows_its_tokeniser_needs_no_tokens():
    arrays = {**cached(1), "embed.hook_in": torch.tensor([[4, 5, 6]])}
    with pytest.raises(el.EyelineError, match="to_str_tokens"):
        el.Trace.from_transformer_lens(Cache(arrays))
    model = SimpleNamespace(tokenizer=tiny_tokenizer(), cfg=SimpleNamespace(model_name="/somewhere/tiny"))
    trace = el.Trace.from_transformer_lens(Cache(arrays, model))
    assert trace.text.tokens == ("the", "cat", "sat")
    assert trace.model == "tiny"


def test_a_cache_without_patterns_and_a_batch_are_refused():
    with pytest.raises(el.EyelineError, match="hook_pattern"):
        el.Trace.from_transformer_lens(Cache({"hook_embed": torch.zeros(1)}), ["a"])
    with pytest.raises(el.EyelineError, match="hook_pattern"):
        el.Trace.from_transformer_lens(None, ["a"])
    two = {"blocks.0.attn.hook_pattern": torch.full((2, 1, 2, 2), 0.5)}
    with pytest.raises(el.EyelineError, match="batch of 2"):
        el.Trace.from_transformer_lens(Cache(two), ["a", "b"])
