"""Activation patching against TransformerLens' own functions for it, whose numbers were written once (tests/reference/attribution)."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import eyeline as el
from eyeline.measure.causes.circuit import Contrast, patch_heads
from eyeline.models.inputs import Example
from eyeline.models.objective import Answer, AnsweredText
from tests.reference.attribution.tiny_decoder import IDS
from tests.reference.attribution.write_patching import AGAINST, ANSWER, CORRUPT, MODELS, PATH


def answered(model: el.Model, ids: list[int], answer: int) -> AnsweredText:
    example = Example(el.traces.TokenizedText.from_tokens([str(i) for i in ids]))
    inputs = {"input_ids": torch.tensor([ids])}
    return AnsweredText(model, model.hf, example, inputs, Answer("next", answer, len(ids) - 1, str(answer)))


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_every_patched_head_and_position_is_that_of_transformer_lens(kind: str) -> None:
    """get_act_patch_attn_head_out_all_pos and …_by_pos, with grouped keys too, to 1e-5 of the metric."""
    truth = json.loads(PATH.read_text(encoding="utf-8"))[kind]
    model = el.wrap(MODELS[kind](), None, name=kind)
    pair = Contrast(model, answered(model, IDS, ANSWER), answered(model, CORRUPT, AGAINST), AGAINST, truth["clean"], truth["corrupt"])
    patched = patch_heads(pair)
    assert patched.positions is not None
    whole = truth["clean"] - truth["corrupt"]
    heads, positions = np.array(truth["heads"]), np.array(truth["positions"])
    layers, n_heads = heads.shape
    ours = patched.heads.reshape(layers, n_heads) * whole + truth["corrupt"]
    by_position = patched.positions.reshape(layers, n_heads, -1).transpose(0, 2, 1) * whole + truth["corrupt"]
    assert np.abs(heads - truth["corrupt"]).max() > 0.1  # patches do something here
    assert np.allclose(ours, heads, rtol=0, atol=1e-5)
    assert np.allclose(by_position, positions, rtol=0, atol=1e-5)
