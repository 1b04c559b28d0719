"""Tiny models that are not what they seem: watched ones that answer differently, some that change themselves, hidden bodies, own code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers as t
from torch import nn
from transformers.modeling_outputs import BaseModelOutput
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from tests.models.families import GROUPED, SEQ2SEQ, TINY, VOCAB

DECODER = {**SEQ2SEQ, "encoder_layers": 2, "decoder_layers": 2, "decoder_attention_heads": 4}


def loud(hf: t.PreTrainedModel) -> t.PreTrainedModel:
    """Random weights, so large that attention is far from uniform."""
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in hf.parameters():
            if parameter.ndim > 1:
                parameter.copy_(torch.randn(parameter.shape) * 0.15)
    return hf.eval()


def falcon(**options: Any) -> t.FalconForCausalLM:
    sizes = {"vocab_size": VOCAB, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "bos_token_id": 1, "eos_token_id": 2}
    return loud(t.FalconForCausalLM(t.FalconConfig(**sizes, **options)))


FORMS: dict[str, dict[str, Any]] = {
    "7b": {"multi_query": True, "parallel_attn": True, "alibi": False, "bias": False},
    "40b": {"new_decoder_architecture": True, "num_kv_heads": 2, "alibi": False, "bias": False},
}


def big_bird(**options: Any) -> t.BigBirdForMaskedLM:
    return loud(t.BigBirdForMaskedLM(t.BigBirdConfig(**TINY, block_size=2, num_random_blocks=1, **options)))


def big_bird_pegasus() -> t.BigBirdPegasusForConditionalGeneration:
    return loud(t.BigBirdPegasusForConditionalGeneration(t.BigBirdPegasusConfig(**DECODER, block_size=2, num_random_blocks=1)))


def vision_and_text() -> t.LlavaForConditionalGeneration:
    vision = t.CLIPVisionConfig(
        hidden_size=32, intermediate_size=32, num_attention_heads=4, num_hidden_layers=2, image_size=16, patch_size=4
    )
    config = t.LlavaConfig(
        vision_config=vision,
        text_config=t.LlamaConfig(**{**GROUPED, "num_hidden_layers": 2}),
        image_token_id=40,
        image_token_index=40,
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
    )
    return loud(t.LlavaForConditionalGeneration(config))


TROCR = {"d_model": 32, "decoder_layers": 2, "decoder_attention_heads": 4, "decoder_ffn_dim": 32, "max_position_embeddings": 64}
PROPHET = {
    "hidden_size": 32, "num_encoder_layers": 2, "num_decoder_layers": 2, "num_encoder_attention_heads": 4,
    "num_decoder_attention_heads": 4, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "max_position_embeddings": 64,
}  # fmt: skip
LLAMA4 = {**GROUPED, "num_hidden_layers": 2, "intermediate_size_mlp": 32, "num_local_experts": 2, "attention_chunk_size": 32}
SPECIAL = {"vocab_size": VOCAB, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
OPT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 32, "word_embed_proj_dim": 32}

WITHOUT_BASE: dict[str, Callable[[], t.PreTrainedModel]] = {
    "opt": lambda: t.OPTForCausalLM(t.OPTConfig(**SPECIAL, **OPT, max_position_embeddings=64)),
    "bart": lambda: t.BartForCausalLM(t.BartConfig(**DECODER)),
    "blenderbot-small": lambda: t.BlenderbotSmallForCausalLM(t.BlenderbotSmallConfig(**DECODER)),
    "trocr": lambda: t.TrOCRForCausalLM(t.TrOCRConfig(**SPECIAL, **TROCR)),
    "prophetnet": lambda: t.ProphetNetForCausalLM(t.ProphetNetConfig(**SPECIAL, **PROPHET)),
    "llama4": lambda: t.Llama4ForCausalLM(t.Llama4TextConfig(**LLAMA4)),
}


def eager_attention_forward(
    module: nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: torch.Tensor | None, **_: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    scores = query @ key.transpose(2, 3) * (query.shape[-1] ** -0.5)
    weights = (scores if attention_mask is None else scores + attention_mask).softmax(-1)
    return (weights @ value).transpose(1, 2).contiguous(), weights


class OwnAttention(nn.Module):
    """As code on the hub is written: it looks its function up in the table of functions itself."""

    is_causal = False

    def __init__(self, config: OwnConfig) -> None:
        super().__init__()
        self.config = config
        self.projections = nn.Linear(config.hidden_size, 3 * config.hidden_size)

    def forward(self, hidden: torch.Tensor, **kwargs: Any) -> tuple[torch.Tensor, torch.Tensor]:
        batch, n, size = hidden.shape
        query, key, value = self.projections(hidden).view(batch, n, 3, 2, size // 2).permute(2, 0, 3, 1, 4)
        function: Callable[..., Any] = eager_attention_forward
        if self.config._attn_implementation != "eager":
            function = ALL_ATTENTION_FUNCTIONS[self.config._attn_implementation]
        output, weights = function(self, query, key, value, None, **kwargs)
        return output.reshape(batch, n, size), weights


class OwnConfig(t.PreTrainedConfig):
    model_type = "eyeline_own"

    def __init__(self, vocab_size: int = VOCAB, max_position_embeddings: int = 64, hidden_size: int = 8, **options: Any) -> None:
        super().__init__(**options)
        self.vocab_size, self.max_position_embeddings, self.hidden_size = vocab_size, max_position_embeddings, hidden_size


class OwnModel(t.PreTrainedModel):
    config_class = OwnConfig
    _supports_sdpa = True

    def __init__(self, config: OwnConfig) -> None:
        super().__init__(config)
        self.tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList([OwnAttention(config) for _ in range(2)])
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.tokens

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None, output_attentions: bool = False
    ) -> BaseModelOutput:
        hidden, maps = self.tokens(input_ids), []
        for layer in self.layers:
            added, weights = layer(hidden)
            hidden = hidden + added
            maps.append(weights)
        return BaseModelOutput(last_hidden_state=hidden, attentions=tuple(maps) if output_attentions else None)
