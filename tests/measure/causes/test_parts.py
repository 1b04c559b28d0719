"""`el.part_effects`: what became of every written token without a part of the prompt, against passes made the plain way."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch

import eyeline as el
from eyeline.errors import EyelineError, TraceError
from eyeline.look.generation import Generation
from tests.models.families import tiny_tokenizer
from tests.models.test_generate import FAMILIES, PROMPT, opened
from tests.models.test_watch import t5, tiny

PARTS = {"beginning": "the cat sat", "end": "ran home"}


@cache
def generation() -> Generation:
    return opened("llama").generate(PROMPT, max_new_tokens=5, parts=PARTS)


def log_probabilities(ids: list[int], written: tuple[int, ...], mask: torch.Tensor | None = None) -> np.ndarray:
    """Of the written tokens at the end of these ids, by a plain pass of the model."""
    hf = tiny(FAMILIES["llama"]())
    hf.set_attn_implementation("eager")
    further = {} if mask is None else {"attention_mask": mask}
    logits = hf(torch.tensor([ids]), **further).logits[0, -len(written) - 1 : -1].log_softmax(-1)
    return logits[range(len(written)), list(written)].detach().numpy()


def test_a_part_that_is_removed_is_not_in_the_prompt() -> None:
    model, made = opened("llama"), generation()
    effects = el.part_effects(model, made)
    assert effects.parts == ("text", "beginning", "end")
    ids = list(made.text.ids)
    before = log_probabilities(ids, made.written_ids)
    for index, part in enumerate(effects.parts):
        left = [number for position, number in enumerate(ids) if position not in made.text.in_part(part)]
        expected = log_probabilities(left, made.written_ids) - before
        np.testing.assert_allclose(effects.removed[:, index], expected, atol=1e-5)
    assert np.abs(effects.removed).max() > 1e-4


def test_edges_that_are_cut_are_those_of_the_written_tokens_alone() -> None:
    model, made = opened("llama"), generation()
    effects = el.part_effects(model, made, ["end"], ways=("cut",))
    n = len(made.text)
    mask = torch.full((n, n), torch.finfo(torch.float32).min).triu(1)
    rows = range(made.n_prompt - 1, n)
    for key in made.text.in_part("end"):
        mask[rows, key] = torch.finfo(torch.float32).min
    ids = list(made.text.ids)
    expected = log_probabilities(ids, made.written_ids, mask[None, None]) - log_probabilities(ids, made.written_ids)
    np.testing.assert_allclose(effects.cut[:, 0], expected, atol=1e-5)
    assert np.isnan(effects.removed).all()
    assert np.abs(effects.cut).max() > 1e-4


def test_parts_of_the_source_of_an_encoder_decoder_model() -> None:
    model = el.wrap(t5(), tiny_tokenizer())
    made = model.generate(PROMPT, max_new_tokens=4, parts=PARTS)
    effects = el.part_effects(model, made, ["beginning"])
    source = made.source.only([i for i in range(len(made.source)) if i not in made.source.in_part("beginning")])
    hf = t5()
    ids = torch.tensor([made.text.ids])

    def plain(read: tuple[int, ...]) -> np.ndarray:
        logits = hf(input_ids=torch.tensor([read]), decoder_input_ids=ids[:, :-1]).logits[0].log_softmax(-1)
        return logits[range(4), list(made.written_ids)].detach().numpy()

    np.testing.assert_allclose(effects.removed[:, 0], plain(source.ids) - plain(made.source.ids), atol=1e-3)
    assert np.isfinite(effects.cut).all()
    assert np.abs(effects.cut).max() > 1e-3


def test_effects_are_kept_with_the_generation(tmp_path) -> None:
    made = generation()
    effects = el.part_effects(opened("llama"), made, ["end"])
    again = el.open(made.with_effects(effects).save(tmp_path / "effects.safetensors"))
    assert again.effects.parts == ("end",)
    np.testing.assert_array_equal(again.effects.cut, effects.cut)
    assert again.table()[0]["without end"] == pytest.approx(effects.removed[0, 0])


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(TraceError, match="no part 'middle'"):
        el.part_effects(opened("llama"), generation(), ["middle"])
    with pytest.raises(EyelineError, match="Choices: removed, cut"):
        el.part_effects(opened("llama"), generation(), ways=("shuffled",))
    with pytest.raises(TraceError, match="the model that wrote it"):
        el.part_effects(el.wrap(t5(), tiny_tokenizer()), generation())


def test_a_chosen_written_token_is_attributed() -> None:
    """The gradient at the position where a written token was chosen, of the token that was written."""
    model, made = opened("llama"), generation()
    trace = el.attribute(model, made, written=2, method="gradient")
    assert len(trace.text) == made.n_prompt + 2
    assert trace.text.part_of == made.text.part_of[: made.n_prompt + 2]
    text = made.text.only(range(made.n_prompt + 2))
    hf = tiny(FAMILIES["llama"]())
    hf.set_attn_implementation("eager")
    output = hf(torch.tensor([text.ids]), output_attentions=True)
    gradients = torch.autograd.grad(output.logits[0, -1, made.written_ids[2]], output.attentions)
    expected = torch.cat(gradients) * torch.cat([weights.detach() for weights in output.attentions])
    shape = trace.weights.shape
    assert shape == tuple(expected.shape)
    np.testing.assert_allclose(np.abs(trace.weights), np.abs(expected.numpy()), atol=1e-5)
    with pytest.raises(EyelineError, match="from 0 to 4"):
        el.attribute(model, made, written=5)
