"""One text, every figure; pairs in Corpus."""

from __future__ import annotations

import pytest

import eyeline as el
from eyeline.words import Words
from tests.show.app.test_pages import errors, finish, typed
from tests.tiers import slow_but


@pytest.mark.parametrize("language", slow_but(["ko"], ["en", "ja", "ko"]))
def test_who_comes_to_them_sees_figures_1_2_4_and_6_of_the_text(script, language, monkeypatch):
    monkeypatch.setattr("eyeline.show.app.kit.mounted.is_seen", lambda what, key: key == "eyeline-seen-figures")
    at, say = script("look", language).run(), Words(language)
    assert errors(at) == []
    titles = [heading.value for heading in at.subheader]
    assert say("look.figure_heads") in titles
    assert len(at.get("plotly_chart")) == 3
    described = [image.alt for images in at.get("image") for image in images.proto.imgs]
    assert described
    assert all("·H" in alt for alt in described)  # each picture is named for those who cannot see it


def test_nothing_is_measured_for_figures_that_nobody_has_come_to(script, monkeypatch):
    monkeypatch.setattr("eyeline.show.app.look._measure", lambda *request: pytest.fail("measured"))
    at = script("look").run()
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


def test_the_first_picture_of_the_default_model_is_the_head_that_its_answer_needs_most(script, e5_small_mlm):
    at = script("look", model="e5-small-mlm").run()
    assert errors(at) == []
    looking = at.session_state["looking"]
    shown = e5_small_mlm.trace(looking.text)
    tokens, head = shown.text.tokens, (looking.state["layer"], looking.state["heads"][0])
    assert looking.state["locked"] == [tokens.index("[MASK]")]
    assert shown.weights[*head, tokens.index("[MASK]"), tokens.index("he")] > 0.6
    before = e5_small_mlm.predict(looking.text)
    after = e5_small_mlm.predict(looking.text, interventions=el.Ablate([head]))
    assert (before.label, after.label) == ("her", "him")
    assert any("L8·H10" in (said := element.value.replace("\\", "")) and "0.29" in said for element in at.markdown), "and the words say so"
