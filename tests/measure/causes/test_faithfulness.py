"""Faithfulness over a corpus: against a slow computation, merged parts equal the whole, a resumed run goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import eyeline as el
from eyeline.attributions import Faithfulness
from eyeline.errors import ModelError
from eyeline.measure.causes.faithfulness import DECILES, SHARES, candidates, erasure_scores
from eyeline.models.objective import ask
from tests.measure.causes.tiny import PLAIN, classifier, classifying_decoder, decoder, headless, masked

TEXTS = ["the cat sat on the mat .", "a dog ran a very long way home", "it purred and the dog sat", "the mat"]
METHODS = ("attention", "rollout", "gradient")


def slow_scores(model: el.Model, scores: np.ndarray) -> tuple[float, float, float]:
    """One text, one pass each, ids by hand: the decoder loses tokens, the classifier has no mask token either."""
    text = model.read(PLAIN).source
    answered = ask(model, model.read(PLAIN))
    last = answered.answer.position

    def probability(kept: list[int]) -> float:
        with torch.no_grad():
            logits = model.hf(torch.tensor([[text.ids[i] for i in kept]])).logits
        row = logits[0] if logits.ndim == 2 else logits[0, kept.index(last)]
        return float(row.softmax(-1)[answered.answer.index])

    everything = list(range(len(text)))
    allowed = [i for i in everything if not text.special[i] and (answered.answer.kind == "label" or i != last)]
    ranked = sorted(allowed, key=lambda i: -scores[i])

    def top(share: float) -> list[int]:
        return ranked[: max(1, int(np.ceil(share * len(allowed))))]

    whole = probability(everything)
    without = [whole - probability([i for i in everything if i not in top(share)]) for share in SHARES]
    alone = [whole - probability([i for i in everything if i not in allowed or i in top(share)]) for share in SHARES]
    steps = [whole - probability([i for i in everything if i not in top(share)]) for share in DECILES]
    return float(np.mean(without)), float(np.mean(alone)), sum(steps) / (len(steps) + 1)


@pytest.mark.parametrize("open_model", [decoder, classifier, classifying_decoder], ids=lambda f: f.__name__)
def test_erasure_is_that_of_one_pass_for_each_text_by_hand(open_model) -> None:
    model = open_model()
    answered = ask(model, model.read(PLAIN))
    drawn = np.random.default_rng(0)
    orders = {name: drawn.random(len(answered.text)) for name in ("one", "two")}
    computed = erasure_scores(answered, orders, candidates(answered))
    for name, scores in orders.items():
        assert np.allclose(computed[name], slow_scores(model, scores), atol=1e-5)


def test_a_set_of_tokens_that_several_orders_erase_runs_once() -> None:
    model = decoder()
    answered = ask(model, model.read(PLAIN))
    scores = np.random.default_rng(0).random(len(answered.text))
    n_texts: list[int] = []
    watch = answered.hf.register_forward_hook(lambda _module, _inputs, outputs: n_texts.append(len(outputs.logits)))
    try:
        erasure_scores(answered, {"one": scores}, candidates(answered))
        alone = sum(n_texts)
        n_texts.clear()
        erasure_scores(answered, {"one": scores, "two": 2 * scores}, candidates(answered))
    finally:
        watch.remove()
    assert sum(n_texts) == alone


@pytest.mark.parametrize("open_model", [masked, decoder, classifier], ids=lambda f: f.__name__)
def test_a_table_has_a_row_for_each_method_and_for_a_random_order(open_model) -> None:
    run = el.analyse(open_model(), TEXTS, [Faithfulness(METHODS)])
    table = run.table("faithfulness")
    assert list(table.columns["method"]) == [*METHODS, "random"]
    assert set(table.columns["texts"]) == {3}  # "the mat" is too short
    assert np.isfinite(table["aopc"]).all()


def test_the_standard_error_is_that_of_a_sample_and_one_text_has_none() -> None:
    alone = [el.analyse(decoder(), [text], [Faithfulness(["attention"])]).table("faithfulness") for text in TEXTS[:3]]
    together = el.analyse(decoder(), TEXTS[:3], [Faithfulness(["attention"])]).table("faithfulness")
    each = [float(table["aopc"][0]) for table in alone]
    assert float(together["aopc_error"][0]) == pytest.approx(np.std(each, ddof=1) / 3**0.5, rel=1e-4)
    assert np.isnan(alone[0]["aopc_error"].astype(float)).all()


def test_without_names_the_methods_that_the_model_refuses_are_left_out_with_a_reason() -> None:
    statistic = Faithfulness()
    statistic.prepare(masked(), 0)
    assert set(statistic.refused) == {"logits"}
    with pytest.raises(ModelError, match="norm on the residual stream"):
        Faithfulness(["logits"]).prepare(masked(), 0)
    with pytest.raises(ModelError, match="answers nothing"):
        el.analyse(headless(), TEXTS, [Faithfulness(METHODS)])


def test_runs_over_parts_merge_into_the_run_over_all(tmp_path: Path) -> None:
    whole = el.analyse(decoder(), TEXTS, [Faithfulness(METHODS)]).table("faithfulness")
    for name, part in (("one", TEXTS[:2]), ("two", TEXTS[2:])):
        el.analyse(decoder(), part, [Faithfulness(METHODS)], folder=tmp_path / name).save(tmp_path / name)
    merged = el.statistics.merge_runs([tmp_path / "one", tmp_path / "two"], own=[Faithfulness]).table("faithfulness")
    assert list(merged.columns["method"]) == list(whole.columns["method"])
    for column in ("comprehensiveness", "sufficiency", "aopc", "texts"):
        assert np.allclose(merged[column].astype(float), whole[column].astype(float), atol=1e-6)


def test_a_finished_run_is_resumed_to_the_same_numbers(tmp_path: Path) -> None:
    first = el.analyse(classifier(), TEXTS, [Faithfulness(METHODS)], folder=tmp_path)
    again = el.analyse(classifier(), TEXTS, [Faithfulness(METHODS)], folder=tmp_path, resume=True)
    assert again.table("faithfulness").to_csv() == first.table("faithfulness").to_csv()
