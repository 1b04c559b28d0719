"""Small random models of every family that transformers can build, from nothing but the family's configuration class."""

from __future__ import annotations

import inspect
import random
import re
from dataclasses import dataclass
from typing import Any

import torch
import transformers as t
from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

from eyeline.models.opening import main_input
from tests.models.families import VOCAB

#: Every family with a model of its own, by transformers' name for it.
FAMILY_NAMES: tuple[str, ...] = tuple(sorted(MODEL_MAPPING_NAMES))
#: Models with more parameters than this are not built: their size lies in something that the rules below do not know.
LARGEST = 20_000_000


@dataclass(frozen=True)
class Sizes:
    """The few numbers that a small configuration is made of."""

    heads: int
    key_heads: int
    head_dim: int
    layers: int
    inner: int
    vocab: int
    positions: int

    @property
    def hidden(self) -> int:
        return self.heads * self.head_dim


def random_sizes(draw: random.Random) -> Sizes:
    heads = draw.choice([2, 4])
    return Sizes(
        heads, draw.choice([1, 2, heads]), draw.choice([8, 16]), draw.choice([2, 3]), draw.choice([32, 48]), draw.randint(64, 90), 64
    )


#: What is tried where transformers itself does not run a random choice: every head with keys of its own.
PLAIN = Sizes(heads=4, key_heads=4, head_dim=8, layers=2, inner=32, vocab=VOCAB, positions=64)

#: The name of a configuration's number → which of the sizes it is. The first that matches counts.
RULES: tuple[tuple[str, str], ...] = (
    (r"(^|_)vocab_size$", "vocab"),
    (r"(num_key_value_heads|num_kv_heads|n_head_kv|kv_heads|multi_query_group_num)$", "key_heads"),
    (r"(attention_heads|num_heads|n_heads?|nhead|num_head)$", "heads"),
    (r"(max_position_embeddings|n_positions|max_(source|target|text)_positions|max_seq_len|max_sequence_length|n_ctx)$", "positions"),
    (r"(num_hidden_layers|n_layers?|num_layers|encoder_layers|decoder_layers|num_(en|de)coder_layers|num_block_layers)$", "layers"),
    (r"^(head_dim|d_kv|attention_head_dim|global_head_dim|qk_nope_head_dim|qk_rope_head_dim|v_head_dim|kv_channels)$", "head_dim"),
    (r"(hidden_size|d_model|n_embd|^dim|embed_dim|hidden_dim|word_embed_proj_dim|embedding_size|d_embed|projection_dim)$", "hidden"),
    (r"(intermediate_size|ffn_dim|d_ff|d_inner|n_inner|ffn_hidden_size|mlp_dim|feed_forward_size|intermediate_dim)$", "inner"),
)
#: Numbers that no size stands for.
FIXED: tuple[tuple[str, int], ...] = (
    (r"(num_(local_|routed_)?experts|n_routed_experts|moe_num_experts)$", 4),
    (r"(num_experts_per_tok|num_experts_per_token|moe_top_?k|moe_k|experts_top_k|top_k_experts)$", 2),
    (r"^(n_group|topk_group|n_shared_experts|num_shared_experts|first_k_dense_replace)$", 1),
    (r"(q_lora_rank|kv_lora_rank)$", 16),
    (r"^(rotary_dim|context_size)$", 4),
    (r"^(num_mel_bins|num_feature_levels|mamba_d_state|state_size|ssm_state_size)$", 8),
    (r"^(attn_layer_period|full_attention_interval|expert_layer_period)$", 2),
    (r"^(attn_layer_offset|expert_layer_offset)$", 1),
    (r"^image_size$", 16),
    (r"^patch_size$", 4),
    (r"^(pad_token_id)$", 0),
    (r"^(bos_token_id|decoder_start_token_id|cls_token_id)$", 1),
    (r"^(eos_token_id|sep_token_id)$", 2),
)


#: What a family needs that no rule can know.
SPECIAL: dict[str, dict[str, Any]] = {
    "bamba": {"attn_layer_indices": [1]},
    "flaubert": {"emb_dim": 32, "n_heads": 4},
    "funnel": {"block_sizes": [1, 1]},
    "gemma3n_text": {"layer_types": ["sliding_attention", "full_attention"], "num_hidden_layers": 2, "num_kv_shared_layers": 0},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"], "num_hidden_layers": 2, "num_dense_layers": 1},
    "mimo_v2_flash": {"head_dim": 24, "v_head_dim": 16, "num_key_value_heads": 2, "num_attention_heads": 4},
    "nemotron_h": {"layers_block_type": ["linear_attention", "full_attention"], "mamba_num_heads": 8, "mamba_head_dim": 8, "n_groups": 8},
    "qwen2_5_omni_thinker": {"vision_start_token_id": 3},
    "qwen3_omni_moe_thinker": {"vision_start_token_id": 3},
    "zamba": {"layers_block_type": ["linear_attention", "hybrid", "hybrid"], "num_hidden_layers": 3},
    "zamba2": {"layers_block_type": ["linear_attention", "hybrid"], "num_hidden_layers": 2},
    "xlm": {"emb_dim": 32, "n_heads": 4},
    "xmod": {"default_language": "en_XX"},
}


def small_config(config_class: type[t.PreTrainedConfig], sizes: Sizes) -> t.PreTrainedConfig:
    """The family's configuration with every number that a rule knows made small; configurations inside it too."""
    default = config_class()
    chosen: dict[str, Any] = {}
    for name, parameter in inspect.signature(config_class.__init__).parameters.items():
        inner = vars(default).get(name)
        if name == "image_size" and isinstance(inner, list | tuple):
            chosen[name] = [small_number(name, sizes)] * len(inner)
            continue
        if isinstance(inner, t.PreTrainedConfig):
            chosen[name] = small_config(type(inner), sizes)
        elif (isinstance(parameter.default, int) and not isinstance(parameter.default, bool)) or parameter.default is None:
            value = small_number(name, sizes)
            if value is not None:
                chosen[name] = value
    chosen |= _hybrid_layers(default, sizes) | SPECIAL.get(config_class.model_type, {})
    config = config_class(**chosen)
    _split_rotary_dimensions(config, sizes)
    for name, value in vars(config).items():
        if re.search(r"_token_(id|index)$", name) and isinstance(value, int) and value >= sizes.vocab:
            setattr(config, name, sizes.vocab - 1)
    if config.is_encoder_decoder and getattr(config, "decoder_start_token_id", None) is None:
        config.decoder_start_token_id = 1
    return config


def _hybrid_layers(default: t.PreTrainedConfig, sizes: Sizes) -> dict[str, list[str]]:
    """Of a family that mixes linear and other attention: as many layers as there are, the last with a map."""
    types = vars(default).get("layer_types")
    if not isinstance(types, list) or "linear_attention" not in types or "layers_block_type" in vars(default):
        return {}
    kinds = [kind for kind in types if kind != "linear_attention" and (kind.endswith("_attention") or kind == "hybrid")]
    return {"layer_types": ["linear_attention"] * (sizes.layers - 1) + (kinds or ["full_attention"])[:1]}


def _split_rotary_dimensions(config: t.PreTrainedConfig, sizes: Sizes) -> None:
    """Models of images and text turn three parts of a head by three positions; the parts must sum to the dimensions that are turned."""
    rope = vars(config).get("rope_parameters")
    if isinstance(rope, dict) and "rope_type" in rope:
        half = int(sizes.head_dim * rope.get("partial_rotary_factor", 1.0)) // 2
        rope["mrope_section"] = [half - 2 * (half // 3), half // 3, half // 3]


def small_number(name: str, sizes: Sizes) -> int | None:
    for pattern, value in FIXED:
        if re.search(pattern, name):
            return value
    for pattern, size in RULES:
        if re.search(pattern, name):
            return int(getattr(sizes, size))
    return None


@dataclass(frozen=True)
class CannotBuildError(Exception):
    """transformers itself does not build or run a small model of this family by our rules; says why."""

    reason: str

    def __str__(self) -> str:
        return self.reason


def small_model(name: str, seed: int = 0) -> t.PreTrainedModel:
    """A random small model of this family; another seed gives other sizes.

    One that runs on its own if there is one; otherwise one that does not (our rules miss a number, or it reads what `own_inputs` does not
    know): opening it must end in our own error.
    """
    draw = random.Random(f"{name} {seed}")  # noqa: S311 - a choice of sizes, not a secret
    reason, built = "", None
    for sizes in (random_sizes(draw), PLAIN):
        try:
            model = _build(name, sizes)
            built = built or model
            _run(model)
        except Exception as error:  # noqa: BLE001 - whatever transformers raises for a configuration that it does not take
            reason = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            continue
        return model
    if built is None:
        raise CannotBuildError(reason)
    return built


def _build(name: str, sizes: Sizes) -> t.PreTrainedModel:
    config = small_config(t.CONFIG_MAPPING[name], sizes)
    if name == "gpt_neo":
        config = t.GPTNeoConfig(**{**config.to_dict(), "attention_types": [[["global", "local"], 1]], "num_layers": 2})
    with torch.device("meta"):
        parameters = t.AutoModel.from_config(config).num_parameters()
    if parameters > LARGEST:
        raise ValueError(f"{parameters:,} parameters")
    torch.manual_seed(0)
    return t.AutoModel.from_config(config).eval()


def _run(model: t.PreTrainedModel) -> None:
    cache = {"use_cache": False} if "use_cache" in inspect.signature(model.forward).parameters else {}
    with torch.no_grad():
        model(**own_inputs(model), **cache)


def own_inputs(model: t.PreTrainedModel) -> dict[str, torch.Tensor]:
    """What a model of this family reads: numbers of tokens, an image, or a sound."""
    ids = torch.tensor([[1, 5, 6, 7, 8, 2]])
    generator = torch.Generator().manual_seed(1)
    match main_input(model):
        case "pixel_values":
            vision = getattr(model.config, "vision_config", model.config)
            size = getattr(vision, "image_size", 16)
            height, width = size if isinstance(size, (list, tuple)) else (size, size)
            frames = [vision.num_frames] if hasattr(vision, "num_frames") else []
            inputs = {"pixel_values": torch.randn(1, *frames, getattr(vision, "num_channels", 3), height, width, generator=generator)}
        case "input_values" if hasattr(model.config, "num_mel_bins") and hasattr(model.config, "max_length"):
            inputs = {"input_values": torch.randn(1, model.config.max_length, model.config.num_mel_bins, generator=generator)}
        case "input_values":
            inputs = {"input_values": torch.randn(1, 4000, generator=generator)}
        case "input_features":
            inputs = {"input_features": torch.randn(1, getattr(model.config, "num_mel_bins", 8), 128, generator=generator)}
        case _:
            inputs = {"input_ids": ids}
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = ids[:, :5]
    return inputs
