"""The encoder e5-small with trainable low-rank changes of its frozen matrices: what both updates that ship are trained as."""

from __future__ import annotations

import math
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn
from transformers import BertConfig, BertModel

VOCABULARY = 30522
LINEAR = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)


class LowRank(nn.Module):
    """A frozen linear layer plus up · down; its bias is trained."""

    def __init__(self, linear: nn.Linear, rank: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(linear.weight.detach(), requires_grad=False)
        self.bias = nn.Parameter(linear.bias.detach().clone())
        self.down = nn.Parameter(torch.randn(rank, linear.in_features) / math.sqrt(linear.in_features))
        self.up = nn.Parameter(torch.zeros(linear.out_features, rank))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.weight, self.bias) + F.linear(F.linear(x, self.down), self.up)


def open_encoder(path: Path, rank: int, dropout: float = 0.0) -> BertModel:
    """The encoder; its low-rank changes and its norms are trained, all else is frozen."""
    config = BertConfig(
        hidden_size=384, num_hidden_layers=12, num_attention_heads=12, intermediate_size=1536, vocab_size=VOCABULARY,
        hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout,
    )  # fmt: skip
    bert = BertModel(config, add_pooling_layer=False)
    bert.load_state_dict({name: values.float() for name, values in load_file(path).items()})
    bert.requires_grad_(False)
    for layer in bert.encoder.layer:
        for linear in LINEAR:
            owner, name = layer.get_submodule(linear.rpartition(".")[0]), linear.rpartition(".")[2]
            setattr(owner, name, LowRank(getattr(owner, name), rank))
    for module in bert.modules():
        if isinstance(module, nn.LayerNorm):
            module.requires_grad_(True)
    return bert


def trained_arrays(model: nn.Module) -> dict[str, torch.Tensor]:
    """What training changed, by name: what `pack.py` reads."""
    return {name: p.detach().float().cpu().contiguous() for name, p in model.named_parameters() if p.requires_grad}


@torch.no_grad()
def round_like_the_packed_file(model: nn.Module) -> None:
    """Give every trained matrix the values that the packed file will hold, so that what is measured is what ships."""
    from training.updates.pack import rounded

    for p in model.parameters():
        if p.requires_grad and p.ndim == 2:
            values, scale = rounded(p.cpu().numpy())
            p.copy_(torch.from_numpy(values * scale))
