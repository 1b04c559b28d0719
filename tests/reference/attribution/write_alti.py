"""Write alti.json: the contributions that the code of ALTI's authors computes for a tiny BERT.

    python -m tests.reference.attribution.write_alti FOLDER

FOLDER holds the repository mt-upc/transformer-contributions (Ferrando et al. 2022). One thing is changed while it runs: the standard
deviation of its layer norms is that of PyTorch's own layer norm (divided by n); theirs divides by n − 1, so that its parts do not add up
to what the model computes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import transformers as t

from tests.reference.attribution.tiny_decoder import IDS, fill

PATH = Path(__file__).with_name("alti.json")


def tiny_encoder() -> t.BertForMaskedLM:
    """Three layers, four heads, 24 numbers a vector, 20 tokens; norms, biases and weights at random."""
    config = t.BertConfig(
        vocab_size=20, hidden_size=24, num_hidden_layers=3, num_attention_heads=4, intermediate_size=16, max_position_embeddings=16,
        pad_token_id=0,
    )  # fmt: skip
    model = t.BertForMaskedLM._from_config(config, attn_implementation="eager").eval()
    fill(model)
    return model


def alti_truth(folder: str) -> dict[str, Any]:
    """Per layer: the 1-norm of what is left of y_i without T_i(x_j), and y_i, as the authors' code gives them; the rest is the paper's."""
    sys.path.insert(0, folder)
    from src.contributions import ModelWrapper  # type: ignore[import-not-found, import-untyped, unused-ignore]

    deviation = torch.Tensor.std
    with patch.object(torch.Tensor, "std", lambda self, dim: deviation(self, dim, unbiased=False)):
        data = ModelWrapper(tiny_encoder())({"input_ids": torch.tensor([IDS])})[3]
    near = (data["contributions"] + data["resultants"].abs().sum(-1, keepdim=True)).clamp_min(0)  # [layer, query, key]
    layers = near / near.sum(-1, keepdim=True)
    joint = [layers[0]]
    for layer in layers[1:]:
        joint.append(layer @ joint[-1])
    return {"layers": layers.tolist(), "rollout": torch.stack(joint).tolist()}


if __name__ == "__main__":
    PATH.write_text(json.dumps(alti_truth(sys.argv[1]), indent=1) + "\n", encoding="utf-8")
    print(f"wrote {PATH}")
