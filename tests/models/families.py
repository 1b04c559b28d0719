"""Tiny random models of many families: one record each, so that every test runs over all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import transformers as t
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import eyeline as el

WORDS = ["the", "cat", "sat", "on", "mat", "it", "purred", "dog", "ran", "and", "a", "very", "long", "way", "home", ".", ",", "!", "?"]
SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
VOCAB = 64


def tiny_tokenizer() -> t.PreTrainedTokenizerFast:
    """Word pieces over a few words: [CLS] A [SEP], or [CLS] A [SEP] B [SEP]."""
    letters = [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    vocab = {token: i for i, token in enumerate([*SPECIAL, *WORDS, *letters])}
    assert len(vocab) <= VOCAB
    backend = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return t.PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        unk_token="[UNK]",
        model_max_length=48,
    )


@dataclass(frozen=True, eq=False)
class Family:
    """A family's name, how to make a tiny one, and what is to be expected of it."""

    name: str
    config: Callable[[], t.PreTrainedConfig]
    layers: dict[str, int]
    reads: str = "text"
    recorded: bool = True
    plain: bool = True
    rows_sum_to_one: bool = True
    loudness: float = 4.0

    def model(self) -> t.PreTrainedModel:
        """Loud random weights, so that attention is far from uniform and layers differ."""
        torch.manual_seed(0)
        model = t.AutoModel.from_config(self.config(), attn_implementation="eager").eval()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if parameter.ndim > 1 and "embed" not in name:
                    parameter.mul_(self.loudness)
        return model

    def __str__(self) -> str:
        return self.name


TINY = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GROUPED = {**TINY, "num_key_value_heads": 2, "head_dim": 8}
SEQ2SEQ = {
    "vocab_size": VOCAB,
    "d_model": 32,
    "encoder_attention_heads": 4,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
    "forced_eos_token_id": None,
}
ROPE = {"rope_type": "default", "rope_theta": 10000.0}
ENCODER, DECODER = {"encoder": 3}, {"decoder": 3}
GPT = {"vocab_size": VOCAB, "n_embd": 32, "n_layer": 3, "n_head": 4, "bos_token_id": 1, "eos_token_id": 2}

FAMILIES = (
    Family("bert", lambda: t.BertConfig(**TINY), ENCODER),
    Family("roberta", lambda: t.RobertaConfig(**TINY), ENCODER),
    Family("distilbert", lambda: t.DistilBertConfig(vocab_size=VOCAB, dim=32, n_layers=3, n_heads=4, hidden_dim=32), ENCODER),
    Family("albert", lambda: t.AlbertConfig(**TINY, embedding_size=16), ENCODER),
    Family("electra", lambda: t.ElectraConfig(**TINY, embedding_size=16), ENCODER),
    Family(
        "modernbert",
        lambda: t.ModernBertConfig(**TINY, cls_token_id=1, sep_token_id=2, local_attention=6, global_attn_every_n_layers=2),
        ENCODER,
    ),
    Family("gpt2", lambda: t.GPT2Config(**GPT), DECODER),
    Family("gpt-neox", lambda: t.GPTNeoXConfig(**TINY), DECODER),
    Family(
        "opt",
        lambda: t.OPTConfig(**{k: v for k, v in TINY.items() if k != "intermediate_size"}, ffn_dim=32, word_embed_proj_dim=32),
        DECODER,
    ),
    Family("llama", lambda: t.LlamaConfig(**GROUPED), DECODER),
    Family("qwen3", lambda: t.Qwen3Config(**GROUPED), DECODER),
    Family("mistral", lambda: t.MistralConfig(**GROUPED, sliding_window=4), DECODER),
    Family("gemma2", lambda: t.Gemma2Config(**GROUPED, query_pre_attn_scalar=8, sliding_window=4), DECODER, plain=False),
    Family("gemma3", lambda: t.Gemma3TextConfig(**GROUPED, query_pre_attn_scalar=8, sliding_window=4), DECODER),
    Family(
        "gpt-oss",
        lambda: t.GptOssConfig(**GROUPED, num_local_experts=4, num_experts_per_tok=2, sliding_window=4, rope_parameters=ROPE),
        DECODER,
        plain=False,
        rows_sum_to_one=False,
    ),
    Family(
        "deepseek-v3",
        lambda: t.DeepseekV3Config(
            **TINY,
            num_key_value_heads=4,
            q_lora_rank=16,
            kv_lora_rank=16,
            qk_rope_head_dim=8,
            qk_nope_head_dim=8,
            v_head_dim=12,
            n_routed_experts=8,
            n_group=2,
            topk_group=1,
            num_experts_per_tok=2,
            moe_intermediate_size=16,
            first_k_dense_replace=1,
        ),
        DECODER,
    ),
    Family(
        "t5",
        lambda: t.T5Config(
            vocab_size=VOCAB, d_model=32, d_kv=8, d_ff=32, num_layers=3, num_decoder_layers=2, num_heads=4, decoder_start_token_id=0
        ),
        {"encoder": 3, "decoder": 2, "cross": 2},
        loudness=1.0,  # its queries are not scaled
    ),
    Family(
        "bart",
        lambda: t.BartConfig(**SEQ2SEQ, encoder_layers=3, decoder_layers=3, decoder_attention_heads=4),
        {"encoder": 3, "decoder": 3, "cross": 3},
    ),
    Family(
        "marian",
        lambda: t.MarianConfig(**SEQ2SEQ, encoder_layers=4, decoder_layers=2, decoder_attention_heads=2),
        {"encoder": 4, "decoder": 2, "cross": 2},
    ),
    Family(
        "whisper",
        lambda: t.WhisperConfig(
            vocab_size=VOCAB,
            d_model=32,
            encoder_layers=3,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=32,
            decoder_ffn_dim=32,
            num_mel_bins=8,
            max_source_positions=10,
            max_target_positions=20,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=1,
            suppress_tokens=None,
            begin_suppress_tokens=None,
        ),
        {"encoder": 3, "decoder": 2, "cross": 2},
        reads="sound",
    ),
    Family(
        "vit",
        lambda: t.ViTConfig(hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=32, image_size=12, patch_size=4),
        ENCODER,
        reads="image",
    ),
    Family(
        "deberta-v2",
        lambda: t.DebertaV2Config(
            **{k: v for k, v in TINY.items() if k not in ("bos_token_id", "eos_token_id")},
            relative_attention=True,
            pos_att_type=["p2c", "c2p"],
        ),
        ENCODER,
        recorded=False,
    ),
    Family("xlnet", lambda: t.XLNetConfig(vocab_size=VOCAB, d_model=32, n_layer=3, n_head=4, d_inner=32), ENCODER, recorded=False),
    Family("mpnet", lambda: t.MPNetConfig(**TINY), ENCODER, recorded=False),
    Family("gpt-j", lambda: t.GPTJConfig(**GPT, rotary_dim=4), DECODER, recorded=False),
    Family("bloom", lambda: t.BloomConfig(vocab_size=VOCAB, hidden_size=32, n_layer=3, n_head=4), DECODER, recorded=False),
)
#: The same by name.
BY_NAME = {family.name: family for family in FAMILIES}


def open_family(name: str) -> el.Model:
    """The tiny model of a family, opened with the tiny tokeniser."""
    return el.wrap(BY_NAME[name].model(), tiny_tokenizer(), name=name)


def inputs_for(family: Family) -> dict[str, torch.Tensor]:
    """An image, or a sound and what was heard in it."""
    generator = torch.Generator().manual_seed(1)
    if family.reads == "image":
        return {"pixel_values": torch.randn(1, 3, 12, 12, generator=generator)}
    return {"input_features": torch.randn(1, 8, 20, generator=generator), "decoder_input_ids": torch.tensor([[1, 5, 6, 7, 8, 9]])}
