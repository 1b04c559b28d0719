"""Each claim of the lesson, checked against the live model."""

from __future__ import annotations

import numpy as np
import pytest

from eyeline.hosts.app.learn.lesson import CAT, LONG, SENTENCES, SOFT, STEPS, TIRED, reaches, vectors, weight
from eyeline.hosts.app.messages import LANGUAGES, Say
from eyeline.measures.focus import entropy
from eyeline.measures.targets import mass_at_offset


@pytest.fixture(scope="module")
def trace(minilm):
    kept = {}

    def record(text, pair=""):
        if (text, pair) not in kept:
            kept[text, pair] = minilm.trace(text, pair or None)
        return kept[text, pair]

    return record


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_every_blank_of_a_step_is_filled_from_the_model(step, language, trace):
    text = Say(language)(f"learn.{step.name}.text", **step.facts(trace))
    assert "{" not in text
    assert "nan" not in text


def test_step_1_sat_looks_at_cat_and_shares_add_up_to_1(trace):
    found = trace(CAT)
    assert weight(found, 5, 11, "sat", "cat") > 0.85
    assert found.text.tokens[found.weights[5, 11, 3].argmax()] == "cat"
    np.testing.assert_allclose(found.weights.sum(-1), 1, atol=1e-5)


def test_step_2_the_numbers_are_those_behind_the_weight(trace):
    found = trace(CAT)
    rows = vectors(found, 5, 11, 3)
    assert found.queries.shape[-1] == 32
    assert found.scales[5] == pytest.approx(1 / np.sqrt(32))
    np.testing.assert_allclose([row[3] for row in rows], found.weights[5, 11, 3], atol=1e-4)
    assert rows[2][0] == "cat"
    assert rows[2][2] == pytest.approx(rows[2][1] * found.scales[5], rel=1e-5)


def test_step_3_it_looks_across_the_border_at_cat(trace):
    found = trace(CAT, "It purred.")
    place = found.text.tokens.index("it")
    assert found.text.segments[place] == 1
    assert found.text.tokens[found.weights[5, 11, place].argmax()] == "cat"
    assert weight(found, 5, 11, "it", "cat") > 0.6


def test_step_4_six_layers_of_twelve_heads_and_one_looks_a_step_up(trace):
    found = trace(CAT)
    assert found.weights.shape[:2] == (6, 12)
    assert sum(word.isalpha() for word in found.text.tokens) == 6
    assert mass_at_offset(found.weights[0, 2], -1)[1:].min() > 0.98


def test_step_5_a_resting_head_parks_on_cls_and_short_sentences_drift_to_sep(trace):
    assert trace(CAT).weights[4, 5, :, 0].mean() > 0.9
    found = [float(trace(text).weights[0, 0, :, -1].mean()) for text in ("Cats purr.", CAT, LONG)]
    assert found[0] > 0.35
    assert found[0] > found[1] > found[2]
    assert found[2] < 0.1
    parked = trace(CAT).weights.mean(axis=(0, 1, 2))  # [key]
    assert parked[0] > 4 * parked[-1], "this model parks on [CLS], not on [SEP]"


def test_step_6_the_four_heads_do_what_is_said_of_them(trace):
    found = trace(TIRED)
    assert mass_at_offset(found.weights[0, 2], -1)[1:].mean() > 0.99
    following = mass_at_offset(found.weights[1, 8], 1)[:-1]
    assert following.mean() == max(mass_at_offset(found.weights[layer, head], 1)[:-1].mean() for layer in range(6) for head in range(12))
    elsewhere = [place for place in range(1, len(found.text) - 1) if found.weights[1, 8, place].argmax() != place + 1]
    assert elsewhere
    assert {found.text.tokens[found.weights[1, 8, place].argmax()] for place in elsewhere} == {"[CLS]"}
    assert weight(found, 5, 11, "it", "cat") > 0.6
    assert found.weights[4, 5, :, 0].mean() > 0.8


#: Words that hold a sentence together rather than carry its content.
SMALL = "the a an and in on by of to that because it she he was had were every before like my we her i . , [CLS] [SEP]"


@pytest.mark.parametrize("sentence", [CAT, TIRED, SOFT, *(sentence for kind in SENTENCES.values() for sentence in kind)])
def test_step_6_the_gathering_head_gathers_on_words_that_carry_the_content(sentence, trace):
    found = trace(sentence)
    most = [found.text.tokens[place] for place in found.weights[5, 11].mean(axis=0).argsort()[::-1]]
    first = next(token for token in most if token not in ("[CLS]", "[SEP]"))
    assert first not in SMALL.split()
    assert [token for token in most[:2] if token not in SMALL.split()], "it does not only rest"


def test_step_7_shallow_layers_stay_near_and_deep_ones_reach_far(trace):
    found = reaches(trace(TIRED))
    assert all(found[1][0] > found[deep][0] + 0.1 for deep in (3, 4, 5))
    assert all(found[1][1] < found[deep][1] - 0.5 for deep in (3, 4, 5))
    spread = entropy(trace(TIRED).weights[0]).mean(axis=-1)  # [head]
    assert spread[2] < 0.1, "layer 0 holds the previous-word head"
    assert (spread > 0.85 * np.log(len(trace(TIRED).text))).sum() >= 3, "and heads that look everywhere"
    long = reaches(trace(LONG))
    assert all(long[1][0] > long[deep][0] and long[1][1] < long[deep][1] for deep in (3, 4, 5)), "it holds on a longer sentence too"


def test_step_8_the_head_does_not_follow_the_meaning_and_cls_hands_over_little(trace):
    tired, soft = (weight(trace(text), 5, 11, "it", "cat") for text in (TIRED, SOFT))
    assert tired > 0.6
    assert soft > 0.6
    assert weight(trace(TIRED), 3, 1, "it", "cat") - weight(trace(SOFT), 3, 1, "it", "cat") > 0.2, "layer 3, head 1 does react"
    lengths = np.linalg.norm(trace(CAT).values[4, 5], axis=-1)
    assert lengths[0] < 0.2
    assert lengths[1:-1].min() > 3


def test_the_sentences_of_the_exercise_have_the_length_that_it_asks_for():
    lengths = {sentence: len(sentence.split()) for kind in SENTENCES.values() for sentence in kind}
    assert all(5 <= length <= 10 for length in lengths.values()), lengths


def test_where_a_step_begins_is_a_state_that_its_view_can_take(trace):
    from eyeline.hosts.app.view_state import VIEWS

    for step in STEPS:
        VIEWS[step.view](trace(step.text, step.pair)).starting(**step.state)
        for choice in step.choices:
            VIEWS[step.view](trace(choice.text, step.pair)).starting(**choice.state)
