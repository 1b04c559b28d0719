"""The sentences that the app draws before a model is open are what the models say of them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import eyeline as el
from eyeline.look.ready import READY, ReadySentence, ready_sentence


@pytest.mark.parametrize("ready", [each for each in READY if each.model == "e5-small-mlm"], ids=lambda each: each.name)
def test_a_ready_sentence_is_what_the_model_says(ready: ReadySentence, e5_small_mlm: el.Model) -> None:
    check(ready, e5_small_mlm)


@pytest.mark.slow
@pytest.mark.parametrize("ready", [each for each in READY if each.model == "smollm2"], ids=lambda each: each.name)
def test_a_ready_sentence_of_the_decoder_is_what_it_says(ready: ReadySentence, smollm2: el.Model) -> None:
    check(ready, smollm2)


def check(ready: ReadySentence, model: el.Model) -> None:
    """Made again: python -m scripts.ready_sentences."""
    again = model.trace(ready.text, ready.pair or None)
    kept = ready.trace
    assert kept.text == again.text
    np.testing.assert_allclose(kept.weights, again.weights, atol=1e-4)
    if again.prediction is None:
        assert kept.prediction is None
        assert ready.effects == []
        return
    assert kept.prediction is not None
    assert kept.prediction.tokens == again.prediction.tokens
    np.testing.assert_allclose(kept.prediction.probabilities, again.prediction.probabilities, atol=1e-3)
    for before, now in zip(ready.effects, model.head_effects(again), strict=True):
        assert (before["stack"], before["layer"]) == (now["stack"], now["layer"])
        np.testing.assert_allclose(before["probabilities"], now["probabilities"], atol=1e-3)


def test_another_text_is_not_ready() -> None:
    first = READY[0]
    assert ready_sentence(first.model, first.text) is first
    assert ready_sentence(first.model, first.text + " ") is None
    assert ready_sentence("e5-small", first.text) is None


def test_the_first_screen_is_drawn_without_torch() -> None:
    code = (
        "import sys; from eyeline.look.ready import READY; from eyeline.look.findings import findings; from eyeline.heads import HeadRef;"
        "import eyeline.show.app.look, eyeline.show.app.shell; from eyeline.show.app.kit.mounted import VIEWS, packed, with_state;"
        "t = READY[0].trace; packed(with_state(VIEWS['sentence'](t), {'layer': 8, 'heads': [10]}), {}, True);"
        "assert findings(t, HeadRef('', 8, 10), 10, READY[0].effects); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
