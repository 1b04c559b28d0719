"""What was saved inside a trace of nnsight becomes a trace of ours."""

from __future__ import annotations

import pytest
import torch

import eyeline as el

TOKENS = ["[CLS]", "the", "cat", "sat", "[SEP]"]


def test_what_attention_modules_returned_is_enough_for_nnsight():
    weights = torch.full((1, 2, 5, 5), 0.2)
    saved = [(torch.zeros(1, 5, 8), weights), (torch.zeros(1, 5, 8), weights)]
    assert el.Trace.from_nnsight(saved, TOKENS).weights.shape == (2, 2, 5, 5)
    with pytest.raises(el.EyelineError, match="eager"):
        el.Trace.from_nnsight([(torch.zeros(1, 5, 8), None)], TOKENS)
    with pytest.raises(el.EyelineError, match="Nothing was saved"):
        el.Trace.from_nnsight([], TOKENS)


def test_proxies_of_older_nnsight_become_their_values():
    proxy = type("Proxy", (), {"__module__": "nnsight.intervention", "value": torch.full((1, 2, 5, 5), 0.2)})()
    assert el.Trace.from_nnsight([proxy], TOKENS).weights.shape == (1, 2, 5, 5)
