"""The pages' logic, without a browser."""

from __future__ import annotations

import time

import pytest

from eyeline.look.views.view import look_of_stack
from eyeline.show.app.jobs.queue import job_queue
from eyeline.show.app.kit.address import pack
from eyeline.show.app.kit.models import choices
from eyeline.show.app.kit.page import escaped
from eyeline.show.app.kit.settings import Limits, current
from eyeline.show.app.kit.workspace import Ownership, write_ownership
from eyeline.words import LANGUAGES, Words
from tests.show.app.conftest import small_run
from tests.tiers import slow_but


def errors(at) -> list[str]:
    assert not at.exception, [element.value for element in at.exception]
    return [element.value for element in at.error]


def field(at):
    """The sentence, which is the field; of several lines or long, a larger one."""
    return next(each for each in (*at.text_input, *at.text_area) if each.key == "look-text")


def typed(at, text: str) -> None:
    field(at).set_value(text)
    at.button(key="look-show").click().run()


def test_the_app_opens_on_a_sentence_and_writes_it_into_the_address(script, minilm):
    at = script().run()
    assert errors(at) == []
    assert at.title[0].value == "Look at a text"
    assert at.query_params["text"] == "The cat sat on the mat because it was tired."
    best = look_of_stack(minilm.trace(at.query_params["text"]).encoder)
    assert (at.query_params["layer"], at.query_params["heads"]) == (str(best.layer), str(best.head))


@pytest.mark.parametrize("page", ["look", "model", "learn", "corpus", "runs"])
@pytest.mark.parametrize("language", slow_but(["ja"], LANGUAGES))
def test_every_page_opens_in_every_language(script, page, language):
    at = script(page, language).run()
    assert errors(at) == []
    assert at.title[0].value == Words(language)(f"{page}.title")


def test_the_map_of_a_model_opens_on_the_head_of_the_address_and_says_what_it_does(script):
    at = script("model", model="e5-small-mlm")
    at.query_params["head"] = "L2·H2"
    at.run()
    assert errors(at) == []
    said = [element.value.replace("\\", "") for element in at.markdown]
    assert any(line.startswith("L2·H2 looks at the previous token: 0.9") for line in said)
    assert any("layer=2&heads=2" in line for line in said), "a link tries it on a sentence"


def test_a_link_to_a_layer_and_a_head_that_there_are_not_says_so_and_shows_others(script):
    at = script("look")
    for key, value in {"text": "Birds sing.", "layer": "99", "heads": "77"}.items():
        at.query_params[key] = value
    at.run()
    assert errors(at) == []
    assert at.warning[0].value.replace("\\", "") == Words("en")("look.no_layer", model="minilm", layer=99, last=5)
    assert at.session_state["looking"].state["locked"]


def test_a_model_that_was_not_measured_says_which_were(script):
    at = script("model", model="smollm2").run()
    assert errors(at) == []
    assert "e5-small-mlm" in at.info[0].value.replace("\\", "")


def test_the_language_can_be_switched_and_stays(script):
    at = script().run()
    at.session_state["language"] = "ko"
    at.run()
    assert at.title[0].value == Words("ko")("look.title")
    at.run()
    assert at.title[0].value == Words("ko")("look.title")


def test_an_address_brings_text_pair_view_and_state(script):
    at = script()
    for key, value in {"text": "Birds sing.", "pair": "So do we.", "view": "neuron", "layer": "2", "heads": "3", "model": "minilm"}.items():
        at.query_params[key] = value
    at.run()
    assert errors(at) == []
    assert field(at).value == "Birds sing."
    assert at.session_state["looking"].view == "neuron"
    code = [item.value for item in at.code]
    assert "el.neuron_view(trace, layer=2, head=3)" in code[0]


@pytest.mark.parametrize("model", ["../../etc", "/etc", "google-bert/bert-base-uncased", "no-such"])
def test_a_model_that_is_not_offered_is_refused_with_the_choices(script, model):
    at = script("look", "ja")
    at.query_params["model"] = model
    at.run()
    assert errors(at) == [Words("ja")("look.failed")]
    known = Words("ja").listed(choices(current()))
    assert at.code[0].value == Words("ja")("look.not_offered", model=model, known=known)
    assert "minilm" in known


@pytest.mark.slow
@pytest.mark.parametrize(
    "state", [{"stack": 99, "layer": 1}, {"stack": "x"}, {"layer": -7}, {"layer": None}, {"heads": 7}, {"heads": [10**9]}, {"query": "x"}]
)
def test_a_made_up_link_shows_what_can_be_shown(script, state):
    at = script()
    at.query_params["text"], at.query_params["s"] = "Birds sing.", pack(state)
    at.run()
    assert errors(at) == []
    assert "el.sentence_view" in at.code[0].value


def test_an_empty_and_a_long_text_are_answered_in_words(script):
    at = script("look", "ja", limits=Limits(characters=200, tokens=12)).run()
    typed(at, "   ")
    assert errors(at) == []
    assert at.info[0].value == Words("ja")("look.empty")
    typed(at, "one two three four five six seven eight nine ten eleven twelve")
    assert errors(at) == [Words("ja")("look.too_many", n=14, most=12)]
    typed(at, "The cat sat.")
    assert errors(at) == []


def test_long_texts_are_answered_in_words_rather_than_dropped(script):
    at = script("look", limits=Limits(characters=200)).run()
    typed(at, "word " * 60)
    assert errors(at) == [Words("en")("look.too_long", n="299", most="200")]
    at = script("corpus", "ko", limits=Limits(pasted=100)).run()
    at.segmented_control(key="corpus-source").set_value("paste").run()
    at.text_area(key="corpus-text").set_value("word " * 30).run()
    at.button(key="corpus-run").click().run()
    assert errors(at) == [Words("ko")("corpus.too_long", n="150", most="100")]
    assert not at.button(key="corpus-run").disabled


def test_text_is_never_markup(script):
    at = script("look").run()
    typed(at, "<script>alert(1)</script> **bold** :red[x] [a](http://b)")
    assert errors(at) == []
    shown = [element.value for kind in (at.markdown, at.caption, at.info, at.subheader) for element in kind]
    assert not [text for text in shown if "alert" in text or "**bold**" in text]


def finish(at):
    end = time.monotonic() + 120
    job = job_queue().job(at.session_state["corpus-job"])
    while not job.ended:
        assert time.monotonic() < end
        time.sleep(0.05)
    return job


@pytest.mark.slow
def test_a_corpus_is_measured_saved_and_found_among_the_runs(script):
    at = script("corpus").run()
    at.number_input(key="corpus-limit").set_value(4).run()
    at.button(key="corpus-run").click().run()
    assert errors(at) == []
    job = finish(at)
    at.run()
    assert errors(at) == []
    assert at.success[0].value == Words("en")("corpus.saved")
    assert job.folder.is_dir()
    again = script("runs")
    again.session_state["visitor"] = at.session_state["visitor"]
    again.run()
    assert errors(again) == []
    assert again.selectbox(key="run-name").value == job.folder.name
    other = script("runs").run()
    assert other.info[0].value == Words("en")("runs.none_of_yours"), "a run of pasted text is not listed for others"


def test_an_analysis_that_cannot_be_done_leaves_the_page_usable(script, monkeypatch):
    monkeypatch.setattr("eyeline.show.app.corpus.declared_by", lambda name: None)  # as for a model that declares nothing
    at = script("corpus").run()
    at.segmented_control(key="corpus-source").set_value("paste").run()
    at.button(key="corpus-run").click().run()
    assert errors(at) == [Words("en")("corpus.nothing")]
    at.text_area(key="corpus-text").set_value("A cat.\n\nA dog.").run()
    at.pills(key="corpus-analyses").set_value(["importance"]).run()
    at.button(key="corpus-run").click().run()
    job = finish(at)
    at.run()
    assert job.state == "failed"
    assert errors(at) == [Words("en")("corpus.failed")]
    assert not at.button(key="corpus-run").disabled


@pytest.mark.parametrize("language", LANGUAGES)
def test_analyses_that_a_model_cannot_do_are_not_offered_and_the_page_says_why(script, language):
    at, say = script("corpus", language).run(), Words(language)
    loss, answer = say("corpus.analysis_importance"), say("corpus.analysis_causes")
    assert not {loss, answer} & set(at.pills(key="corpus-analyses").options)
    reason = say(
        "corpus.not_offered", model="minilm", names=say.listed([loss, answer]), others=escaped(say.listed(["e5-small-mlm", "smollm2"]))
    )
    assert reason in [caption.value for caption in at.caption]
    at.selectbox(key="corpus-model").select("e5-small-mlm").run()
    at.pills(key="corpus-analyses").set_value(["entropy", "importance", "causes"]).run()
    at.selectbox(key="corpus-model").select("e5-small-sentiment").run()
    assert answer in at.pills(key="corpus-analyses").options
    assert loss not in at.pills(key="corpus-analyses").options
    assert at.pills(key="corpus-analyses").value == ["entropy", "causes"], "what still can be done stays chosen"
    assert errors(at) == []


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [("a.txt", b"\xff\xfe", "not UTF-8"), ("a.jsonl", b"{", "line 1"), ("a.txt", b"x" * 2000, "2,000"), ("a.txt", b"  ", "")],
)
def test_bad_uploads_are_named(script, name, data, message):
    at = script("corpus", limits=Limits(upload=1024 * 1024 if len(data) < 1000 else 1500)).run()
    at.segmented_control(key="corpus-source").set_value("upload").run()
    at.file_uploader(key="corpus-file").set_value((name, data, "text/plain")).run()
    at.button(key="corpus-run").click().run()
    assert errors(at) == [Words("en")("corpus.bad_text" if message else "corpus.nothing")]
    assert not message or message in at.code[0].value


@pytest.mark.slow
def test_runs_of_the_command_line_are_everybodys_and_others_runs_need_the_link(script, minilm, tmp_path):
    start = script
    start("runs")
    runs = tmp_path / "workspace" / "runs"
    small_run(minilm, runs / "open")
    small_run(minilm, runs / "2026-01-01-0123456789abcdef")
    write_ownership(runs / "2026-01-01-0123456789abcdef", Ownership("somebody"))
    at = start("runs").run()
    assert errors(at) == []
    assert len(at.selectbox(key="run-name").options) == 1
    linked = start("runs")
    linked.query_params["run"] = "2026-01-01-0123456789abcdef"
    linked.run()
    assert errors(linked) == []
    assert linked.selectbox(key="run-name").value == "2026-01-01-0123456789abcdef"
    assert "head-2026-01-01-0123456789abcdef" in linked.session_state


@pytest.mark.slow
@pytest.mark.parametrize("name", ["../../etc", "/etc", "nothing-there", "..%2f", ".hidden"])
def test_a_made_up_run_is_not_opened(script, name):
    at = script("runs")
    at.query_params["run"] = name
    at.run()
    assert not at.exception
    assert not [element for element in at.selectbox if element.key == "run-name"]


def test_a_run_that_holds_a_link_out_of_the_workspace_is_not_read(script, minilm, tmp_path):
    at = script("runs")
    run = tmp_path / "workspace" / "runs" / "linked"
    small_run(minilm, run)
    (tmp_path / "secret.html").write_text("secret")
    (run / "report.html").unlink()
    (run / "report.html").symlink_to(tmp_path / "secret.html")
    at.run()
    assert errors(at) == [Words("en")("runs.damaged")]
    assert "leads out of the workspace" in at.code[0].value


@pytest.mark.parametrize("text", ["{}", '{"parts": {}}', "[" * 100_000])
def test_a_damaged_run_is_named_and_the_page_goes_on(script, tmp_path, text):
    at = script("runs")
    folder = tmp_path / "workspace" / "runs" / "broken"
    folder.mkdir()
    (folder / "run.json").write_text(text)
    at.run()
    assert errors(at) == [Words("en")("runs.damaged")]
    assert "not a finished run" in at.code[0].value


def test_after_an_empty_text_the_view_that_was_chosen_is_still_marked(script):
    at = script("look").run()
    at.segmented_control(key="look-view").set_value("model").run()
    typed(at, "")
    assert at.info[0].value == Words("en")("look.empty")
    typed(at, "The cat sat.")
    assert errors(at) == []
    assert at.segmented_control(key="look-view").value == "model"


@pytest.mark.slow
def test_a_visitor_renames_and_deletes_an_own_run_and_no_other(script, minilm, tmp_path):
    at = script("runs")
    for name, owner in (("2026-01-01-0123456789abcdef", "me"), ("2026-01-02-0123456789abcdef", "somebody")):
        small_run(minilm, tmp_path / "workspace" / "runs" / name)
        write_ownership(tmp_path / "workspace" / "runs" / name, Ownership(owner))
    at.session_state["visitor"] = "me"
    at.run()
    at.text_input(key="title-2026-01-01-0123456789abcdef").set_value("My first")
    at.button(key="rename-run").click().run()
    assert at.selectbox(key="run-name").options[0].startswith("My first · ")
    assert at.button(key="delete-run").disabled
    at.checkbox(key="sure-2026-01-01-0123456789abcdef").check().run()
    at.button(key="delete-run").click().run()
    assert errors(at) == []
    assert at.info[0].value == Words("en")("runs.none_of_yours")
    assert [path.name for path in (tmp_path / "workspace" / "runs").iterdir()] == ["2026-01-02-0123456789abcdef"]
