"""Importance: gradients of the model's own loss, checked by moving an attention weight a little and watching the loss."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.errors import ModelError
from eyeline.models import attention
from eyeline.models.objective import objective_of
from tests.models.families import VOCAB, tiny_tokenizer


def tiny_decoder(window: int | None = None) -> el.Model:
    """window: no token looks further back than so many tokens, itself included."""
    torch.manual_seed(0)
    config = t.MistralConfig(
        vocab_size=VOCAB, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
        max_position_embeddings=48, sliding_window=window,
    )  # fmt: skip
    hf = t.MistralForCausalLM._from_config(config, attn_implementation="eager").double().eval()
    return el.wrap(hf, tiny_tokenizer(), name="tiny decoder")


def loss_with(model: el.Model, ids: torch.Tensor, layer: int, change: torch.Tensor, monkeypatch: pytest.MonkeyPatch) -> float:
    """The next-token loss when `change` [head, query, key] is added to one layer's weights."""
    calls = iter(range(100))

    def nudged(module, query, key, value, mask, **options):  # type: ignore[no-untyped-def]
        own = attention.own_eager(type(module))
        _, weights = own(module, query, key, value, mask, **options)
        if next(calls) == layer:
            weights = weights + change
        values = value.repeat_interleave(weights.shape[1] // value.shape[1], 1)
        return (weights @ values).transpose(1, 2).contiguous(), weights

    with monkeypatch.context() as patch, torch.no_grad():
        patch.setitem(t.AttentionInterface._global_mapping, attention.IMPLEMENTATION, nudged)
        logits = model.hf(input_ids=ids, use_cache=False).logits[0, :-1]
    return float(torch.nn.functional.cross_entropy(logits, ids[0, 1:]))


@pytest.mark.parametrize("window", [None, 3])
def test_the_mean_gradient_is_what_moving_each_visible_weight_does_to_the_loss(window: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_decoder(window)
    run = el.analyse(model, ["the cat sat ."], [el.statistics.Importance()])
    ids = torch.tensor([model.read("the cat sat .").source.ids])
    n, step = ids.shape[1], 1e-3  # its softmax rounds to single precision: smaller steps drown in that
    for layer in range(2):
        sizes = np.zeros((2, n, n))
        for head, i, j in np.ndindex(2, n, n):
            change = torch.zeros(2, n, n, dtype=torch.float64)
            change[head, i, j] = step
            up, down = (loss_with(model, ids, layer, sign * change, monkeypatch) for sign in (1, -1))
            sizes[head, i, j] = abs(up - down) / (2 * step)
        seen = np.tril(np.ones((n, n))) - np.tril(np.ones((n, n)), -(window or n))
        for target, keys in (("first", [0]), ("punctuation", [4]), ("other", [1, 2, 3]), ("sep", [5])):
            expected = (sizes * seen)[:, :, keys].sum() / (2 * seen[:, keys].sum())
            (result,) = run.table("importance").where(layer=layer, target=target)["mean"]
            assert result == pytest.approx(expected, rel=1e-3)


def test_the_masks_are_drawn_by_the_seed() -> None:
    from tests.laws.statistics import TEXTS, tiny_model

    tables = [el.analyse(tiny_model(), TEXTS, [el.statistics.Importance()], seed=seed).table("importance").to_csv() for seed in (0, 0, 1)]
    assert tables[0] == tables[1] != tables[2]


def test_a_loaded_decoder_keeps_its_own_head(smollm2: el.Model) -> None:
    objective = objective_of(smollm2)
    assert objective.kind == "next"
    assert objective.hf is smollm2.hf  # one set of weights
    assert objective.hf.lm_head.weight.data_ptr() == smollm2.hf.get_input_embeddings().weight.data_ptr()


def test_a_head_is_never_made_up(minilm: el.Model) -> None:
    with pytest.raises(ModelError, match="no language-modelling head"):
        objective_of(minilm)
