"""One text, every figure; pairs in Corpus."""

from __future__ import annotations

import pytest

from eyeline.words import Words
from tests.show.app.test_pages import errors, finish, typed
from tests.tiers import slow_but


@pytest.mark.parametrize("language", slow_but(["ko"], ["en", "ja", "ko"]))
def test_one_click_shows_figures_1_2_4_and_6_of_the_text_on_the_page(script, language):
    at, say = script("look", language).run(), Words(language)
    at.button(key="look-figures").click().run()
    assert errors(at) == []
    titles = [heading.value for heading in at.subheader]
    assert say("look.figure_heads") in titles
    assert len(at.get("plotly_chart")) == 3
    described = [image.alt for images in at.get("image") for image in images.proto.imgs]
    assert described
    assert all("·H" in alt for alt in described)  # each picture is named for those who cannot see it


def test_another_text_hides_the_figures_until_they_are_asked_for_again(script):
    at = script("look").run()
    at.button(key="look-figures").click().run()
    typed(at, "Birds sing.")
    assert errors(at) == []
    assert at.session_state["looking"].text == "Birds sing."
    assert not at.get("plotly_chart")


@pytest.mark.slow
def test_a_corpus_is_measured_in_pairs(script):
    at = script("corpus").run()
    at.number_input(key="corpus-limit").set_value(4).run()
    at.checkbox(key="corpus-pairs").check().run()
    at.button(key="corpus-run").click().run()
    assert errors(at) == []
    job = finish(at)
    assert '"pairs": true' in (job.folder / "run.json").read_text()


def test_the_first_picture_of_the_default_model_is_a_head_that_leads_from_it_to_cat(script, e5_small_mlm):
    at = script("look", model="e5-small-mlm").run()
    assert errors(at) == []
    looking = at.session_state["looking"]
    shown = e5_small_mlm.trace(looking.text)
    tokens = shown.text.tokens
    assert shown.weights[looking.state["layer"], looking.state["heads"][0], tokens.index("it"), tokens.index("cat")] > 0.85
