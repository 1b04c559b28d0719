"""Which keys count as what: the first position of a decoder is its sink, not an ordinary word."""

from __future__ import annotations

import numpy as np
import torch
import transformers as t

import eyeline as el
from eyeline.measure.corpus.average_attention import columns_of
from eyeline.measure.heads.profile import notable_heads
from eyeline.words import Words
from tests.laws.statistics import tiny_model
from tests.models.families import TINY, tiny_tokenizer

TEXTS = ["the cat sat on the mat .", ", it purred and ran home"]


def sink_decoder() -> el.Model:
    """A decoder without a beginning token; its words' keys are alike, so that attention is even over what is seen."""
    torch.manual_seed(0)
    tokenizer = tiny_tokenizer()
    tokenizer.backend_tokenizer.post_processor = None
    return el.wrap(t.AutoModel.from_config(t.LlamaConfig(**TINY), attn_implementation="eager").eval(), tokenizer, name="sink")


def test_the_first_position_of_a_decoder_without_a_beginning_token_is_first_alone():
    model = sink_decoder()
    table = el.analyse(model, TEXTS, [el.statistics.AverageAttention()]).table("average_attention")
    total = sum(table.where(target=target)["mean"].astype(float) for target in ("first", "punctuation", "other"))
    np.testing.assert_allclose(total, 1, atol=1e-5)


def test_a_pure_sink_is_not_said_to_look_at_ordinary_words():
    model = sink_decoder()
    run = el.analyse(model, ["the", "cat"], [el.statistics.AverageAttention()])  # one token each: all attention is on the first position
    assert set(run.table("average_attention").where(target="other")["mean"]) == {0.0}
    whys = " ".join(head.why(Words("en")) for head in notable_heads(run))
    assert "looks at the first token" in whys
    assert "ordinary words" not in whys


def test_the_first_position_of_an_encoder_keeps_its_kind():
    model = tiny_model()
    batch = el.statistics.Batch((model.read("the cat"),), {"cls": 1, "sep": 2})
    columns = columns_of(batch, "encoder", {})
    assert [name for i, name in enumerate(columns.names) if columns.matrix[0, 0, i]] == ["cls", "first", "special"]
