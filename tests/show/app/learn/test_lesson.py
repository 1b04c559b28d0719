"""Each claim of the lesson, checked against the live model."""

from __future__ import annotations

import numpy as np
import pytest

import eyeline as el
from eyeline.heads import HeadRef
from eyeline.look.numbers import key_numbers, pair_weight
from eyeline.look.sample import by_written_words, measured_translator
from eyeline.mathematics import mass_at_offset
from eyeline.show.app.learn.lesson import (
    ACROSS,
    CAT,
    FRESH,
    HUNGRY,
    LONG,
    MIDDLE,
    PREVIOUS,
    PRONOUN,
    RARE,
    REACTING,
    RESTING,
    SAT,
    SENTENCES,
    SOFT,
    STEPS,
    TIRED,
    measured,
    translation_facts,
)
from eyeline.words import LANGUAGES, Words


@pytest.fixture(scope="module")
def trace(e5_small_mlm):
    kept = {}

    def record(text, pair=""):
        if (text, pair) not in kept:
            kept[text, pair] = e5_small_mlm.trace(text, pair or None)
        return kept[text, pair]

    return record


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_every_blank_of_a_step_is_filled_from_the_model(step, language, trace):
    text = Words(language)(f"learn.{step.name}.text", **step.facts(trace))
    assert "{" not in text
    assert "nan" not in text


def head_of(trace, text, head):
    return trace(text).weights[head]


def test_step_1_a_rare_word_is_cut_into_pieces(trace):
    tokens = trace(RARE).text.tokens
    assert tokens[2:5] == ("cap", "##y", "##bara")
    assert (tokens[0], tokens[-1]) == ("[CLS]", "[SEP]")


def test_step_2_sat_looks_at_cat_other_words_do_not_and_shares_add_up_to_1(trace):
    shown = head_of(trace, CAT, PREVIOUS)
    cat = trace(CAT).text.tokens.index("cat")
    assert shown[SAT, cat] > 0.99
    assert np.delete(shown[:, cat], SAT).max() < 0.2
    assert mass_at_offset(shown, -1)[1:].mean() > 0.9, "it is the head of the previous token, as the text says"
    np.testing.assert_allclose(trace(CAT).weights.sum(-1), 1, atol=1e-5)


def test_step_3_the_numbers_are_those_behind_the_weight_and_the_output(trace):
    shown = trace(CAT)
    rows = key_numbers(shown, *PREVIOUS, SAT)
    assert shown.scales[2] == pytest.approx(1 / np.sqrt(shown.queries.shape[-1]))
    np.testing.assert_allclose([row.weight for row in rows], shown.weights[*PREVIOUS, SAT], atol=1e-4)
    assert rows[2].token == "cat"
    assert rows[2].score == pytest.approx(rows[2].dot * shown.scales[2], rel=1e-5)
    assert sum(row.taken for row in rows) == pytest.approx(float(shown.outputs[*PREVIOUS, SAT, 0]), abs=1e-3)


def test_step_4_it_looks_across_the_border_at_cat(trace):
    shown = trace(CAT, "It purred.")
    index = shown.text.tokens.index("it")
    assert shown.text.segments[index] == 1
    assert shown.text.tokens[shown.weights[*ACROSS, index].argmax()] == "cat"


def test_step_4_the_translator_aligns_words_as_the_text_says():
    translator = measured_translator()
    facts = translation_facts()
    assert (facts["aligning"], facts["straying"]) == (str(translator.best.ref), str(translator.least.ref))
    assert translator.exact > 0.95
    assert translator.best.aligned > 0.8
    assert translator.least.aligned < 0.5
    shown = by_written_words(el.traces.sample_translation("cat-fr")).only
    weights = shown.weights[translator.best.layer, translator.best.head]
    looked_at = {word: shown.key_text.tokens[row.argmax()] for word, row in zip(shown.query_text.tokens, weights, strict=True)}
    assert {"chat": "cat", "noir": "black", "tapis": "mat"}.items() <= looked_at.items()


def test_step_5_twelve_layers_of_twelve_heads(trace):
    assert trace(CAT).weights.shape[:2] == (12, 12)


def test_step_6_a_resting_head_parks_on_special_tokens_and_short_sentences_drift_to_sep(trace):
    given = head_of(trace, CAT, RESTING).mean(axis=0)
    assert given[0] + given[-1] > 0.9
    shares = [float(trace(text).weights[MIDDLE, :, :, -1].mean()) for text in ("Cats purr.", CAT, LONG)]
    assert shares == sorted(shares, reverse=True)
    lengths = np.linalg.norm(trace(CAT).values[RESTING], axis=-1)
    assert max(lengths[0], lengths[-1]) < 0.2
    assert lengths[1:-1].min() > 2


@pytest.mark.parametrize("step", [step for step in STEPS if step.name == "heads"], ids=["heads"])
def test_step_7_a_choice_shows_the_head_that_was_measured_for_its_role(step):
    heads = {entry.role.name: HeadRef.parse(entry.head)[1:] for entry in measured().roles}
    shown = {choice.name: (choice.state["layer"], *choice.state["heads"]) for choice in step.choices}
    same = {name: heads[name] for name in ("previous", "next", "subject")}
    assert shown == {**same, "determiner": heads["noun_phrase"], "rest": heads["sep"]}


def test_step_8_grammar_is_highest_in_the_middle_and_the_last_layers_look_far():
    layers = measured().layers
    best = max(layers, key=lambda layer: layer.grammar)
    assert 3 <= best.layer <= 8
    assert best.grammar > layers[0].grammar + 10
    assert best.grammar > layers[-1].grammar + 10
    assert 3 <= max(layers, key=lambda layer: layer.reference).layer <= 8
    assert layers[0].near > 2 * layers[-1].near


def test_step_9_one_head_does_not_follow_the_meaning_and_another_does(trace):
    tired, soft = (pair_weight(trace(text), *PRONOUN, "it", "cat") for text in (TIRED, SOFT))
    assert tired > 0.8
    assert soft > 0.5
    hungry, fresh = (pair_weight(trace(text), *REACTING, "it", "cat") for text in (HUNGRY, FRESH))
    assert hungry > 0.4 > 4 * fresh
    assert pair_weight(trace(FRESH), *REACTING, "it", "fish") > 0.7


def test_the_sentences_of_the_exercise_have_the_length_that_it_asks_for():
    lengths = {sentence: len(sentence.split()) for kind, sentences in SENTENCES.items() if kind != "first" for sentence in sentences}
    assert SENTENCES["first"] == ("The cat sat on the mat.", "She loves programming.")
    assert all(5 <= length <= 10 for length in lengths.values()), lengths


def test_where_a_step_begins_is_a_state_that_its_view_can_take(trace):
    from eyeline.show.app.kit.mounted import VIEWS

    for step in STEPS:
        VIEWS[step.view](trace(step.text, step.pair)).starting(**step.state)
        for choice in step.choices:
            VIEWS[step.view](trace(choice.text, step.pair)).starting(**choice.state)
