"""What a model wrote itself has the words of any other text; a text that a tokeniser does not know is named as such."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.text.encode import encode
from eyeline.text.words import describe, written_token
from tests.models.families import TINY, tiny_tokenizer
from tests.text.sample_tokenisers import ALL, TRAINED

TEXT = "The cat sat on the mat, and it didn't purr."


@pytest.mark.parametrize("name", ALL)
def test_ids_have_the_words_of_the_text_that_they_came_from(name):
    tokenizer = ALL[name]()
    read = encode(tokenizer, TEXT)
    written = describe(tokenizer, read.ids)
    if name == "wordpiece" or name == "minilm":  # its ids decode to small letters with spaces around every mark
        assert [word for word in written.word_texts if word not in (".", ",", "'")]
        assert not any("##" in word for word in written.word_texts)
        return
    plain = [i for i, is_special in enumerate(read.special) if not is_special]
    assert written.word_texts == read.word_texts
    assert [written.words[i] for i in plain] == [read.words[i] for i in plain]
    assert not any("▁" in word or "Ġ" in word for word in written.word_texts)


@pytest.mark.parametrize("name", ["byte-level", "llama"])
def test_tokens_that_are_parts_of_one_character_belong_to_its_word(name):
    tokenizer = TRAINED[name]()
    read = encode(tokenizer, "a 🐈 b")
    written = describe(tokenizer, read.ids)
    assert "🐈" in written.word_texts


def bert() -> el.Model:
    torch.manual_seed(0)
    return el.wrap(t.BertModel(t.BertConfig(**TINY)).eval(), tiny_tokenizer(), name="small letters")


def test_a_text_of_unknown_tokens_is_named_in_trace_view_and_run():
    model = bert()
    assert model.trace("the cat sat").notices == ()
    trace = model.trace("THE CAT 猫 SAT")
    (notice,) = trace.notices
    assert notice.startswith("4 of 4 tokens are unknown")
    assert el.head_view(trace).spec["notices"] == [notice]
    assert "notices" not in el.head_view(model.trace("the cat")).spec
    run = el.analyse(model, ["THE CAT", "the DOG"], [el.statistics.Entropy()])
    assert any("3 of 8 tokens are unknown" in line for line in run.facts.notices) is False
    run = el.analyse(model, ["THE CAT SAT ON A MAT"], [el.statistics.Entropy()])
    assert any("6 of 8 tokens are unknown" in line for line in run.facts.notices)


def test_a_notice_is_kept_when_a_trace_is_saved(tmp_path):
    trace = bert().trace("THE CAT")
    trace.save(tmp_path / "x.safetensors")
    assert el.traces.open_trace(tmp_path / "x.safetensors").notices == trace.notices
    assert np.array_equal(el.traces.open_trace(tmp_path / "x.safetensors").weights, trace.weights)


def test_a_predicted_part_of_a_character_is_shown_as_its_bytes():
    tokenizer = TRAINED["byte-level"]()
    vocabulary = tokenizer.get_vocab()
    assert written_token(tokenizer, vocabulary["ç"]) == "<0xE7>"
    assert written_token(tokenizer, vocabulary["a"]) == "a"
    hf = t.GPT2LMHeadModel(t.GPT2Config(vocab_size=len(tokenizer), n_embd=8, n_layer=1, n_head=1, n_positions=16)).eval()
    hf.lm_head.weight = torch.nn.Parameter(torch.zeros(len(tokenizer), 8))
    with torch.no_grad():
        hf.lm_head.weight[vocabulary["ç"]] = hf.transformer.ln_f.bias.fill_(1.0) * 5
    prediction = el.wrap(hf, tokenizer, name="bytes").trace("a b").prediction
    assert prediction is not None
    assert prediction.choices[0].tokens[0] == "<0xE7>"
