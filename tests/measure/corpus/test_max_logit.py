"""The largest score before the softmax: that of a loop over queries and keys, streamed and from maps."""

from __future__ import annotations

import numpy as np
import pytest
import transformers as t

import eyeline as el
from eyeline.errors import ModelError
from tests.laws.statistics import TEXTS, tiny_model
from tests.models.families import GROUPED, TINY, tiny_tokenizer

PLAIN = [text for text in TEXTS if isinstance(text, str)]


def by_hand(model: el.Model, texts: list[str]) -> np.ndarray:
    """[layer, head]: over the keys that each row may see."""
    largest = []
    for text in texts:
        trace = model.trace(text)
        keys = np.repeat(trace.keys, trace.queries.shape[1] // trace.keys.shape[1], axis=1)  # [layer, head, key, dim]
        scores = trace.queries @ keys.swapaxes(2, 3) * np.array(trace.scales)[:, None, None, None]  # [layer, head, query, key]
        if (mask := trace.only.mask_by_layer[0]) is not None:
            scores = np.where(mask, scores, -np.inf)
        largest.append(scores.max((2, 3)))
    return np.max(largest, axis=0)


@pytest.mark.parametrize("kind", ["encoder", "decoder with grouped keys", "softcap: from maps"])
def test_it_is_that_of_a_loop(kind: str) -> None:
    if kind == "encoder":
        model = tiny_model()
    else:
        gemma = t.Gemma2Config(**GROUPED, query_pre_attn_scalar=8, sliding_window=64)
        config = gemma if "softcap" in kind else t.LlamaConfig(**GROUPED)
        model = el.wrap(t.AutoModel.from_config(config, attn_implementation="eager").eval(), tiny_tokenizer(), name=kind)
    table = el.analyse(model, PLAIN, [el.statistics.MaxLogit()]).table("max_logit")
    measured = table["max_logit"].astype(float).reshape(TINY["num_hidden_layers"], -1)  # [layer, head]
    np.testing.assert_allclose(measured, by_hand(model, PLAIN), rtol=1e-4, atol=1e-6)


def test_with_entropy_beside_it_it_is_the_same() -> None:
    """Another statistic may bring rows without scores."""
    alone = el.analyse(tiny_model(), PLAIN, [el.statistics.MaxLogit()]).table("max_logit")
    beside = el.analyse(tiny_model(), PLAIN, [el.statistics.AverageAttention(), el.statistics.Entropy(), el.statistics.MaxLogit()])
    np.testing.assert_allclose(beside.table("max_logit")["max_logit"].astype(float), alone["max_logit"].astype(float), rtol=1e-5)


def test_a_model_without_queries_is_refused() -> None:
    outside = el.wrap(t.MPNetModel(t.MPNetConfig(**TINY)).eval(), tiny_tokenizer())
    with pytest.raises(ModelError, match="No scores"):
        el.analyse(outside, PLAIN, [el.statistics.MaxLogit()])
