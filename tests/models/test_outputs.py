"""trace.outputs: what each head writes, against what the output projection of the model receives."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from eyeline.errors import TraceError

TEXT = "The cat sat on the mat because it was tired."


@pytest.mark.parametrize(("name", "projection"), [("minilm", "attention.output.dense"), ("smollm2", "self_attn.o_proj")])
def test_outputs_are_what_the_output_projection_receives(name, projection, request):
    model = request.getfixturevalue(name)
    received = []
    hooks = [
        module.register_forward_pre_hook(lambda _, inputs: received.append(inputs[0][0].numpy()))
        for path, module in model.hf.named_modules()
        if path.endswith(projection)
    ]
    try:
        with torch.inference_mode():
            model.hf(**model.tokenizer(TEXT, return_tensors="pt"))
    finally:
        for hook in hooks:
            hook.remove()
    trace = model.trace(TEXT)
    layers, heads, tokens, size = trace.outputs.shape
    joined = trace.outputs.swapaxes(1, 2).reshape(layers, tokens, heads * size)  # [layer, token, head · dim]
    assert np.abs(joined - np.stack(received)).max() < 1e-5


def test_outputs_need_values(minilm):
    with pytest.raises(TraceError, match="no values"):
        _ = minilm.trace(TEXT, keep={"weights"}).outputs
