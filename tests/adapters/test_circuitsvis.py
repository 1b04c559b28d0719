"""CircuitsVis' calls give views of ours."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import eyeline as el
import eyeline.circuitsvis as cv

TOKENS = ["the", "cat", "sat"]
WEIGHTS = torch.full((4, 3, 3), 1 / 3)


def test_attention_patterns_shows_every_head_of_the_layer():
    view = cv.attention.attention_patterns(tokens=TOKENS, attention=WEIGHTS)
    assert view.kind == "model"
    assert view.spec["texts"][0]["tokens"] == TOKENS
    assert view.weights().shape == (4, 3, 3)


def test_attention_heads_has_its_arguments_the_other_way_round_and_masks_later_keys():
    view = cv.attention.attention_heads(WEIGHTS, TOKENS, mask_upper_tri=True)
    assert np.triu(view.weights()[0], 1).max() == 0
    assert view.spec["stacks"][0]["name"] == "decoder"
    with pytest.raises(el.EyelineError, match="from_transformer_lens"):
        cv.attention.attention_heads(WEIGHTS, TOKENS, ["L0H0"] * 4)


def test_attention_pattern_shows_one_head_as_a_heatmap():
    view = cv.attention.attention_pattern(TOKENS, WEIGHTS[0])
    assert (view.kind, view.state["as"]) == ("head", "heatmap")
