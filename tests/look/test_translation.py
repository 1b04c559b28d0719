"""The traces of translations are those of the model that was trained for them, and what is said of it is measured."""

from __future__ import annotations

import random

import numpy as np
import pytest
from training.translation.phrases import LANGUAGES, made_up
from training.translation.train import EXAMPLES, measure, tokenizer, translator

import eyeline as el
from eyeline.errors import TraceError
from eyeline.look.sample import TRANSLATIONS, by_written_words, measured_translator


@pytest.fixture(scope="module")
def model() -> el.Model:
    return translator()


def test_every_example_is_what_the_model_itself_writes_with_its_own_attention(model: el.Model) -> None:
    assert tuple(EXAMPLES) == TRANSLATIONS
    for name, (english, language, expected) in EXAMPLES.items():
        kept, again = el.traces.sample_translation(name), model.trace(f">>{language}<< {english}")
        assert " ".join(kept.stacks["cross"].query_text.tokens[1:]) == expected
        assert list(kept.stacks) == ["encoder", "decoder", "cross"]
        for stack in kept.stacks:
            np.testing.assert_allclose(kept.stacks[stack].weights, again.stacks[stack].weights, atol=1e-4)


@pytest.mark.slow
def test_what_is_said_of_the_translator_is_measured_on_sentences_that_it_never_saw(model: el.Model) -> None:
    measured, again = measured_translator(), measure(model.hf, tokenizer())
    assert again["exact"] == pytest.approx(measured.exact, abs=0.01)
    assert [head["aligned"] for head in again["heads"]] == pytest.approx([head.aligned for head in measured.heads], abs=0.01)


def test_rows_are_the_words_as_they_are_written() -> None:
    trace = el.traces.sample_translation("cat-fr")
    rows = by_written_words(trace).only
    assert rows.query_text.tokens[:3] == ("le", "chat", "noir")
    np.testing.assert_array_equal(rows.weights, trace.stacks["cross"].weights[:, :, :-1])


def test_a_translation_that_is_not_there_is_refused() -> None:
    with pytest.raises(TraceError, match="cat-de"):
        el.traces.sample_translation("cat-de")


def test_a_made_up_phrase_says_which_english_word_each_word_translates() -> None:
    rng = random.Random(7)  # noqa: S311 - seeded, not a secret
    for phrase in (made_up(rng) for _ in range(200)):
        for language in LANGUAGES:
            sources = {source for _, source in phrase.target(language) if source is not None}
            untranslated = [word for index, word in enumerate(phrase.english) if index not in sources]
            assert set(untranslated) <= ({"the", "a"} if language == "ja" else set())
