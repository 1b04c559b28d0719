"""Layers have the model's own numbers, also where some of its layers have no attention."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.errors import TraceError
from eyeline.text.corpora.treebank import parse_treebank
from tests.models.families import GROUPED, TINY, tiny_tokenizer

pytestmark = pytest.mark.usefixtures("quick_pictures")

TEXT = "the cat sat on the mat ."
FOUR = {**GROUPED, "num_hidden_layers": 4}
LINEAR = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "layer_types": ["linear_attention", "full_attention"] * 2,
}
EXPERTS = {"num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 16, "shared_expert_intermediate_size": 16}
MAMBA = {"mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 8}
#: Tiny hybrids of four layers, with attention in layers 1 and 3.
HYBRIDS: dict[str, Callable[[], t.PreTrainedConfig]] = {
    "jamba": lambda: t.JambaConfig(
        **FOUR, attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=1, num_experts=2, mamba_d_state=4,
        use_mamba_kernels=False,
    ),
    "qwen3_next": lambda: t.Qwen3NextConfig(**FOUR, **LINEAR, **EXPERTS),
    "qwen3_5": lambda: t.Qwen3_5TextConfig(**FOUR, **LINEAR),
    "lfm2": lambda: t.Lfm2Config(**FOUR, layer_types=["conv", "full_attention"] * 2),
    "bamba": lambda: t.BambaConfig(**FOUR, **MAMBA, attn_layer_indices=[1, 3], mamba_n_groups=1),
    "zamba2": lambda: t.Zamba2Config(
        **{**TINY, "num_hidden_layers": 4}, num_key_value_heads=4, layers_block_type=["mamba", "hybrid"] * 2, mamba_d_state=8,
        n_mamba_heads=4, mamba_ngroups=1, num_mem_blocks=1, use_mem_rope=False, adapter_rank=4,
    ),
    "nemotron_h": lambda: t.NemotronHConfig(
        **FOUR, hybrid_override_pattern="M*M*", mamba_num_heads=4, mamba_head_dim=16, ssm_state_size=8, n_groups=1
    ),
    "granitemoehybrid": lambda: t.GraniteMoeHybridConfig(
        **FOUR, **MAMBA, layer_types=["mamba", "attention"] * 2, num_local_experts=2, num_experts_per_tok=1, shared_intermediate_size=16
    ),
    "olmo_hybrid": lambda: t.OlmoHybridConfig(**FOUR, **LINEAR),
    "recurrent_gemma": lambda: t.RecurrentGemmaConfig(
        **FOUR, block_types=["recurrent", "attention"], attention_window_size=16, lru_width=32
    ),
}  # fmt: skip


@cache
def hybrid(name: str) -> el.Model:
    torch.manual_seed(0)
    return el.wrap(t.AutoModel.from_config(HYBRIDS[name](), attn_implementation="eager").eval(), tiny_tokenizer(), name=name)


@pytest.mark.parametrize("name", HYBRIDS)
def test_a_hybrid_models_layers_have_its_own_numbers(name):
    model = hybrid(name)
    assert model.layout.layers("decoder") == (1, 3)
    whole, last = model.trace(TEXT), model.trace(TEXT, layers=[3])
    assert whole.layers == (1, 3)
    assert last.layers == (3,)
    assert (last.weights[0] == whole.weights[1]).all()
    with pytest.raises(TraceError, match=r"whose layers are 1, 3\.\n.*other layers have no attention"):
        model.trace(TEXT, layers=[0])


TREEBANK = (
    "# sent_id = cat\n1\tthe\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tcat\t_\tNOUN\t_\t_\t3\tnsubj\t_\t_\n3\tsat\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
)


def test_views_and_tables_of_a_hybrid_model_show_its_own_numbers():
    model = hybrid("jamba")
    view = el.head_view(model.trace(TEXT), layer=3)
    assert [layer["layer"] for layer in view.spec["stacks"][0]["layers"]] == [1, 3]
    assert view.state["layer"] == 1  # its index in the list above
    run = el.analyse(model, [TEXT, "a dog ran home"], [el.statistics.Entropy(), el.statistics.AverageAttention()])
    assert set(run.table("entropy")["layer"]) == {1, 3}
    assert set(run.table("average_attention")["layer"]) == {1, 3}
    chosen = el.analyse(model, [TEXT], [el.statistics.Entropy()], layers=[3])
    assert set(chosen.table("entropy")["layer"]) == {3}
    syntax = el.syntax(model, parse_treebank(TREEBANK))
    assert set(syntax.table("syntax_heads")["layer"]) == {1, 3}
    assert el.space(model, [TEXT], project="pca").only.layers == (1, 3)
    assert set(el.compare(model, model, [TEXT]).run.table("compare")["layer"]) == {1, 3}


def test_layers_that_share_weights_are_counted():
    config = t.AlbertConfig(**TINY, embedding_size=16)
    model = el.wrap(t.AlbertModel(config).eval(), tiny_tokenizer())
    assert model.layout.layers("encoder") == (0, 1, 2)
