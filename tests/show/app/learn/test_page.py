"""The lesson's page: its steps, its questions and the exercise, as a visitor goes through them."""

from __future__ import annotations

import pytest

from eyeline.show.app.learn.page import _turn
from eyeline.words import Words
from tests.show.app.test_pages import errors


@pytest.fixture(autouse=True)
def the_model_of_the_lesson(e5_small_mlm):
    """The lesson opens e5-small-mlm: without it these tests are skipped."""


@pytest.mark.slow
@pytest.mark.parametrize("step", range(1, 11))
def test_every_step_of_the_lesson_opens(script, step):
    at = script("learn", "ko")
    at.query_params["step"] = str(step)
    at.run()
    assert errors(at) == []
    assert at.session_state["lesson-step"] == step


def test_the_lesson_is_walked_from_start_to_end_and_the_sentence_stays(script):
    at = script("learn").run()
    for step in range(1, 10):
        assert at.session_state["lesson-step"] == step
        at.button(key="lesson-next").click().run()
        assert errors(at) == []
    at.text_input(key="exercise-text").set_value("Too short.").run()
    assert Words("en")("learn.exercise.few", n=2) in [element.value for element in at.caption]
    at.button(key="sentence-pronoun-0").click().run()
    assert at.text_input(key="exercise-text").value == "Mary told Anna that she had won."
    at.button(key="lesson-back").click().run()
    at.button(key="lesson-next").click().run()
    assert at.text_input(key="exercise-text").value == "Mary told Anna that she had won."


@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_a_question_is_answered_by_clicking_and_says_whether_that_is_right(script, language):
    at, say = script("learn", language), Words(language)
    at.query_params["step"] = "2"
    at.run()
    at.radio(key="answer-attention").set_value(0).run()
    assert [item.value for item in at.warning] == [say("learn.wrong")]
    at.radio(key="answer-attention").set_value(2).run()
    assert [item.value for item in at.success] == [f"{say('learn.right')} {say('learn.attention.why')}"]
    assert not at.warning


def test_the_exercise_opens_on_all_heads_and_then_shows_one(script):
    at = script("learn")
    at.query_params["step"] = "10"
    at.run()
    assert at.text_input(key="exercise-text").value == "The cat sat on the mat."
    assert at.segmented_control(key="exercise-view").value == "model"
    at.segmented_control(key="exercise-view").set_value("head").run()
    at.button(key="sentence-first-1").click().run()
    assert errors(at) == []
    assert at.text_input(key="exercise-text").value == "She loves programming."


def test_the_exercise_keeps_its_sentence_over_a_reload(script):
    at = script("learn")
    at.query_params["step"] = "10"
    at.run()
    at.text_input(key="exercise-text").set_value("Tom thanked Lisa before he left.").run()
    again = script("learn")
    for key in ("step", "text"):
        value = at.query_params[key]
        again.query_params[key] = value if isinstance(value, str) else value[0]
    again.run()
    assert errors(again) == []
    assert again.text_input(key="exercise-text").value == "Tom thanked Lisa before he left."


def test_a_step_is_turned_where_streamlit_has_forgotten_which_it_was(monkeypatch):
    state: dict[str, int] = {}
    monkeypatch.setattr("streamlit.session_state", state)
    _turn(1)
    assert state == {"lesson-step": 2}
    state = {"lesson-left": 6}
    monkeypatch.setattr("streamlit.session_state", state)
    _turn(-1)
    assert state["lesson-step"] == 5
