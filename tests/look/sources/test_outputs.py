"""What transformers returns becomes the trace that we record ourselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers as t

import eyeline as el
from tests.models.families import GPT, GROUPED, SEQ2SEQ, tiny_tokenizer

IDS = torch.tensor([[1, 4, 5, 6, 2]])
TOKENS = ["[CLS]", "the", "cat", "sat", "[SEP]"]


@pytest.fixture(scope="module")
def gpt2() -> Any:
    torch.manual_seed(0)
    model = t.GPT2LMHeadModel(t.GPT2Config(**GPT, pad_token_id=0)).eval()
    model.set_attn_implementation("eager")
    return model


def test_the_output_of_a_decoder_is_its_trace(gpt2):
    trace = el.Trace.from_transformers(gpt2(IDS, output_attentions=True), TOKENS, model="tiny")
    own = el.wrap(gpt2, tiny_tokenizer()).trace("the cat sat")
    gpt2.set_attn_implementation("eager")
    assert list(trace.stacks) == ["decoder"] == list(own.stacks)
    assert trace.only.query_text.special == (True, False, False, False, True)
    np.testing.assert_allclose(trace.weights, own.weights, atol=1e-6)


def test_the_attentions_alone_are_enough(gpt2):
    outputs = gpt2(IDS, output_attentions=True)
    whole, alone = (el.Trace.from_transformers(given, TOKENS) for given in (outputs, outputs.attentions))
    assert np.array_equal(whole.weights, alone.weights)


def test_the_steps_of_generate_are_joined_to_the_maps_of_the_whole_text(gpt2):
    written = gpt2.generate(IDS, max_new_tokens=3, min_new_tokens=3, do_sample=False, output_attentions=True, return_dict_in_generate=True)
    read = written.sequences[:, :-1]  # the last token was written and never read
    tokens = tiny_tokenizer().convert_ids_to_tokens(read[0].tolist())
    trace = el.Trace.from_transformers(written, tokens)
    np.testing.assert_allclose(trace.weights, torch.cat(gpt2(read, output_attentions=True).attentions).detach(), atol=1e-6)


def test_windows_beams_and_padded_batches_of_generate_stand_at_their_places():
    torch.manual_seed(0)
    model = t.MistralForCausalLM(t.MistralConfig(**GROUPED, sliding_window=4)).eval()
    model.set_attn_implementation("eager")
    model.generation_config.update(eos_token_id=None, pad_token_id=0)
    batch = torch.tensor([[1, 4, 5, 6, 2, 7], [0, 0, 1, 8, 9, 2]])
    mask = (batch != 0).long()
    options = {"max_new_tokens": 5, "do_sample": False, "output_attentions": True, "return_dict_in_generate": True}
    for further in ({}, {"cache_implementation": "static"}, {"num_beams": 3, "num_return_sequences": 2}):
        written = model.generate(batch, attention_mask=mask, **options, **further)
        copies = len(written.sequences) // 2
        for row, sequence in enumerate(written.sequences):
            padding = 0 if row < copies else 2
            ids = sequence[None, padding:-1]
            names = [str(number) for number in ids[0].tolist()]
            trace = el.Trace.from_transformers(written, names, row=row, padding=padding)
            np.testing.assert_allclose(trace.weights, torch.cat(model(ids, output_attentions=True).attentions).detach(), atol=1e-5)
    with pytest.raises(el.EyelineError, match="4 texts in this output"):
        el.Trace.from_transformers(written, names)
    with pytest.raises(el.EyelineError, match="row=7 of an output of 4"):
        el.Trace.from_transformers(written, names, row=7)


def test_what_an_encoder_decoder_model_generates_with_beams_has_three_stacks():
    torch.manual_seed(0)
    model = t.BartForConditionalGeneration(t.BartConfig(**SEQ2SEQ)).eval()
    model.set_attn_implementation("eager")
    options = {"max_new_tokens": 4, "min_new_tokens": 4, "num_beams": 3, "num_return_sequences": 2, "do_sample": False}
    written = model.generate(IDS, **options, output_attentions=True, return_dict_in_generate=True)
    for row in (0, 1):
        ids = written.sequences[row : row + 1, :-1]
        names = [str(number) for number in ids[0].tolist()]
        trace = el.Trace.from_transformers(written, TOKENS, decoder_tokens=names, row=row)
        whole = model(input_ids=IDS, decoder_input_ids=ids, output_attentions=True)
        for stack, name in (("encoder", "encoder_attentions"), ("decoder", "decoder_attentions"), ("cross", "cross_attentions")):
            np.testing.assert_allclose(trace.stacks[stack].weights, torch.cat(whole[name]).detach(), atol=1e-5)


def test_a_model_with_two_towers_gives_three_stacks():
    torch.manual_seed(0)
    model = t.BartModel(t.BartConfig(**SEQ2SEQ)).eval()
    model.set_attn_implementation("eager")
    outputs = model(input_ids=IDS, decoder_input_ids=IDS[:, :3], output_attentions=True)
    trace = el.Trace.from_transformers(outputs, TOKENS, decoder_tokens=TOKENS[:3])
    assert {name: stack.weights.shape[-2:] for name, stack in trace.stacks.items()} == {
        "encoder": (5, 5), "decoder": (3, 3), "cross": (3, 5),
    }  # fmt: skip
    np.testing.assert_allclose(trace.cross.weights, torch.cat(outputs.cross_attentions).detach(), atol=1e-6)
    with pytest.raises(el.EyelineError, match="decoder_tokens"):
        el.Trace.from_transformers(outputs, TOKENS)


def test_an_output_without_attention_says_how_to_get_it(gpt2):
    with pytest.raises(el.EyelineError, match="output_attentions=True"):
        el.Trace.from_transformers(gpt2(IDS), TOKENS)


def test_an_encoder_and_where_its_second_text_begins():
    weights = np.full((1, 2, 5, 5), 0.2, dtype=np.float32)
    trace = el.Trace.from_transformers((weights,), TOKENS, second_from=3)
    assert list(trace.stacks) == ["encoder"]
    assert trace.text.segments == (0, 0, 0, 1, 1)
