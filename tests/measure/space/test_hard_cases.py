"""Spaces that are hard to draw: dead heads, numbers that are none, texts of one token; and what is refused in words."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.measure.space import fit as space_fit
from eyeline.measure.space.fit import fit_projections
from tests.laws.statistics import new_tiny_model, tiny_model
from tests.models.families import BY_NAME, VOCAB, open_family, tiny_tokenizer

pytestmark = pytest.mark.usefixtures("quick_pictures")

TEXTS = [
    "the cat sat on the mat . it purred , and sat .",
    "a dog ran a very long way home , and it sat .",
    "dog",
    "the cat and the dog ran home , and sat on the mat .",
    "it purred .",
]
PAIRS = list(zip(TEXTS[:3], TEXTS[2:], strict=True))


@pytest.fixture
def quick_fit(monkeypatch):
    """Where what is asked does not depend on how true the picture is."""
    monkeypatch.setattr(space_fit, "fit_projections", partial(fit_projections, starts=2, steps=20))


def broken(how: str) -> el.Model:
    torch.manual_seed(0)
    config = t.BertConfig(vocab_size=VOCAB, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32)
    hf = t.BertModel._from_config(config, attn_implementation="eager").eval()
    attention = hf.encoder.layer[1].attention.self
    with torch.no_grad():
        if how == "nan":
            attention.query.weight[8] = float("nan")
        elif how == "nan in a word":
            hf.embeddings.word_embeddings.weight[tiny_tokenizer().vocab["purred"]] = float("nan")
        else:  # head 2 is dead: its queries and keys are the same everywhere
            for part in (attention.query, attention.key):
                part.weight[12:18] = 0
                part.bias[12:18] = 0.5
    return el.wrap(hf, tiny_tokenizer(), name=how)


@pytest.mark.parametrize("project", ["freed", "pca"])
def test_a_dead_head_has_a_picture_but_no_fidelity(project, quick_fit):
    space = el.space(broken("dead"), TEXTS, project=project)
    facts = space.only.facts
    assert np.isfinite(space.only.keys).all()
    assert np.isnan(facts["top1_projected"][1, 2])
    assert np.isnan(facts["rank_correlation"][1, 2])
    others = np.delete(facts["top1_projected"].ravel(), 6)
    assert np.isfinite(others).all()
    assert facts["entropy"][1, 2] == facts["entropy"].max()
    el.figure(space.run(), "space")


def test_a_model_that_computes_nan_is_named_with_the_layer_and_head():
    with pytest.raises(el.EyelineError, match="BertModel computes nan"):
        broken("nan")
    with pytest.raises(el.EyelineError, match="queries of nan in a word are not finite, first in encoder L0·H0"):
        el.space(broken("nan in a word"), TEXTS)


@pytest.mark.parametrize("name", ["deberta-v2", "xlnet", "gpt-j"])
def test_a_model_without_queries_and_keys_is_refused(name):
    with pytest.raises(el.EyelineError, match=f"No queries and keys of {name}"):
        el.space(open_family(name), TEXTS)


@pytest.mark.parametrize(
    ("texts", "options", "words"),
    [
        (["dog"], {"project": "umap"}, "6 points are too few for umap"),
        (["dog", "it purred ."], {"project": "tsne"}, "too few for tsne"),
        (TEXTS, {"project": "fited"}, "Did you mean fitted"),
        (TEXTS, {"gauge": "lited", "project": "pca"}, "Did you mean lifted"),
        (TEXTS, {"dims": 4}, "4 dimensions"),
        (TEXTS, {"of": "keys"}, "A space of 'keys'"),
        (TEXTS, {"heads": [4]}, "Head 4 of a model with 4 heads"),
        (TEXTS, {"layers": [3]}, "layers are 0…2"),
        (TEXTS, {"limit": 0}, "A limit of 0"),
        (["the cat sat on the mat . " * 30], {}, "are longer than 48 tokens"),
        ([], {}, "An empty corpus"),
    ],
)
def test_what_cannot_be_is_refused_in_words(texts, options, words):
    with pytest.raises(el.EyelineError, match=words):
        el.space(tiny_model(), texts, **options)


def bare() -> el.Model:
    """A tokeniser that adds nothing: a word is a text of one token."""
    from tokenizers import processors

    tokenizer = tiny_tokenizer()
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(single="$A", pair="$A $B", special_tokens=[])
    return el.wrap(BY_NAME["gpt2"].model(), tokenizer, name="bare")


@pytest.mark.parametrize("project", ["freed", "pca"])
def test_texts_of_one_token_are_placed_beside_longer_ones(project, quick_fit):
    space = el.space(bare(), ["dog", "the cat sat on the mat .", "cat"], project=project)
    assert np.diff(space.only.query_tokens.starts).tolist() == [1, 7, 1]
    assert np.isfinite(space.only.queries).all()
    assert np.isfinite(space.only.facts["top1_projected"]).all()


@pytest.mark.parametrize("texts", [["dog"], ["dog", "cat", "mat", "home"]])
def test_nothing_but_texts_of_one_token_is_refused(texts):
    with pytest.raises(el.EyelineError, match=r"too few for a picture|sees two keys"):
        el.space(bare(), texts)


def test_too_much_attention_to_keep_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr("eyeline.measure.space.capture.MOST_MAP_BYTES", 1000)
    with pytest.raises(el.EyelineError, match="limit=…, max_tokens=…"):
        el.space(tiny_model(), TEXTS)


def test_values_are_projected_anew_as_values():
    space = el.space(tiny_model(), TEXTS, of="values")
    picture = space.project_head(1, 2, "pca")
    assert picture.queries.shape == (0, 2)
    assert np.allclose(picture.keys, space.only.keys[1, 2], atol=1e-5)
    assert np.isnan(picture.top1)


def test_a_dead_head_has_no_fidelity_by_another_projection_either(quick_fit):
    model = new_tiny_model()
    hf = next(module for module in model.hf.modules() if type(module).__name__.endswith("SelfAttention"))
    with torch.no_grad():
        hf.query.weight.zero_()
        hf.query.bias.zero_()
    space = el.space(el.wrap(model.hf, model.tokenizer, name="dead"), TEXTS, layers=[0])
    assert np.isnan(space.only.facts["top1_projected"]).all()
    assert np.isnan(space.project_head(0, 1, "pca").top1)
