"""What is said under the picture, each sentence against the arrays: nothing of its author is used here but the numbers that it gives."""

from __future__ import annotations

import numpy as np
import pytest

import eyeline as el
from eyeline.heads import HeadRef
from eyeline.look.findings import AnswerWithout, findings
from tests.tiers import slow_but

#: Sentences that nothing was chosen on.
MASKED = (
    "The doctor told the nurse that [MASK] was late.",
    "Paris is the capital of [MASK].",
    "She put the milk into the [MASK] and went out.",
    "The children [MASK] football in the park.",
    "My grandmother cooked [MASK] for us every Sunday.",
    "He opened the letter and [MASK] it twice.",
    "The train to London leaves at [MASK] o'clock.",
    "The soup was too hot, so we [MASK] a little.",
    "Birds [MASK] in the early morning.",
    "The king and the [MASK] lived in a castle.",
)
OPEN = (
    "The doctor told the nurse that",
    "Paris is the capital of",
    "She put the milk into the",
    "The children played",
    "My grandmother cooked",
    "He opened the letter and",
    "The train to London leaves at",
    "The soup was too hot, so we",
    "Birds sing in the early",
    "The king and the",
)


def number(text: str) -> float:
    return float(text)


def check(model: el.Model, text: str) -> set[str]:
    """Every sentence that is said of some heads of this text, recomputed; returns which kinds were said."""
    trace = model.trace(text)
    effects = model.head_effects(trace)
    assert trace.prediction is not None
    position, answer, before = trace.prediction.positions[0], trace.prediction.label, trace.prediction.probabilities[0]
    without = np.array([layer["probabilities"] for layer in effects])  # [layer, head]
    tokens, special = trace.text.tokens, np.array(trace.text.special)
    heads = {np.unravel_index(i, without.shape) for i in (without.argmin(), without.argmax(), 0, without.size // 2, without.size - 1)}
    kinds = set()
    for layer, head in heads:
        row = trace.weights[layer, head, position]
        off = model.predict_again(trace, el.Ablate([(int(layer), int(head))]), top=200)
        said = findings(trace, HeadRef("", int(layer), int(head)), position, effects)
        said += findings(trace, HeadRef("", int(layer), int(head)), None, (), AnswerWithout(f"L{layer}·H{head}", off))
        for each in said:
            kinds.add(each.key)
            v = each.values
            after = without[layer, head]
            if each.key in ("needs_most", "needs", "raises", "changes_little"):
                assert (v["head"], v["answer"]) == (f"L{layer}·H{head}", answer)
                assert number(v["before"]) == pytest.approx(before, abs=0.006)
                assert number(v["after"]) == pytest.approx(after, abs=0.006)
                assert int(v["n"]) == without.size
                assert (each.key == "changes_little") == (abs(after - before) < 0.02)
            if each.key == "needs_most":
                assert after == without.min() < before
            elif each.key == "needs":
                assert int(v["rank"]) == 1 + int((without < after).sum()) > 1
            elif each.key == "raises":
                assert after > before
            elif each.key in ("looks", "looks_broadly", "looks_at_itself"):
                key = int(np.where(special, -1, row).argmax())
                assert number(v["weight"]) == pytest.approx(row[key], abs=0.006)
                assert row[special].sum() < 0.5
                assert (key == position) == (each.key == "looks_at_itself")
                assert v.get("token", tokens[position]) == tokens[key]
            elif each.key == "rests":
                assert number(v["weight"]) == pytest.approx(row[special].sum(), abs=0.006)
                assert row[special].sum() >= 0.5
            elif each.key == "telling_but_idle":
                other = HeadRef.parse(v["head"])
                weights = trace.weights[other.layer, other.head, position]
                keys = [i for i, token in enumerate(tokens) if token == v["token"]]
                assert max(weights[keys]) == pytest.approx(number(v["weight"]), abs=0.006)
                assert abs(without[other.layer, other.head] - before) < 0.02
                assert (other.layer, other.head) != (layer, head)
            elif each.key in ("other_answer", "other_answer_gone"):
                assert off.label == v["now"] != answer
                assert number(v["p"]) == pytest.approx(off.probabilities[0], abs=0.006)
            elif each.key in ("same_answer", "same_answer_same_share"):
                assert off.label == answer
                assert number(v["after"]) == pytest.approx(off.probabilities[0], abs=0.006)
    return kinds


@pytest.mark.parametrize("text", slow_but(list(MASKED[:2]), list(MASKED)))
def test_each_sentence_about_an_encoder_is_true(text: str, e5_small_mlm: el.Model) -> None:
    kinds = check(e5_small_mlm, text)
    assert "needs_most" in kinds
    assert kinds & {"other_answer", "other_answer_gone", "same_answer", "same_answer_same_share"}


@pytest.mark.slow
@pytest.mark.parametrize("text", OPEN)
def test_each_sentence_about_a_decoder_is_true(text: str, smollm2: el.Model) -> None:
    assert "needs_most" in check(smollm2, text)


@pytest.mark.slow
@pytest.mark.parametrize("text", [text.replace("[MASK]", "it") for text in MASKED])
def test_each_sentence_about_a_classifier_is_true(text: str) -> None:
    model = el.load("e5-small-sentiment")
    trace = model.trace(text)
    effects = model.head_effects(trace)
    without = np.array([layer["probabilities"] for layer in effects])
    layer, head = np.unravel_index(without.argmin(), without.shape)
    (first, *_) = findings(trace, HeadRef("", int(layer), int(head)), 1, effects)
    assert first.key in ("needs_most", "changes_little")
    assert number(first.values["after"]) == pytest.approx(without.min(), abs=0.006)


def test_nothing_is_said_about_an_answer_that_there_is_not() -> None:
    trace = el.Trace.from_arrays([np.array([[[0.2, 0.8], [0.6, 0.4]]])], ["a", "b"])
    assert [each.key for each in findings(trace, HeadRef("", 0, 0), 0)] == ["looks"]
    assert findings(trace, HeadRef("", 0, 0), None) == []
