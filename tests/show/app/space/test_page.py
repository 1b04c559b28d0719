"""The Space page's logic: one space, one head by other projections, two models compared."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import eyeline as el
from eyeline.measure.compare.options import CompareOptions
from eyeline.measure.space.options import SpaceOptions
from eyeline.measure.space.result import FILE, head_space, picture_space
from eyeline.show.app.jobs.queue import JobQueue, job_queue
from eyeline.show.app.jobs.space import ComparisonWork, SpaceWork
from eyeline.show.app.kit.settings import Limits, Settings, current, use
from eyeline.show.app.kit.texts import TextSource
from eyeline.show.app.space import UNTRAINED
from eyeline.show.app.space_run import fidelity
from eyeline.words import Words
from tests.measure.space.short_fits import short_fits
from tests.show.app.grammar.test_page import ended
from tests.show.app.small_runs import TEXTS
from tests.show.app.test_pages import errors

pytestmark = pytest.mark.usefixtures("quick_pictures")


@pytest.fixture(scope="module")
def space(minilm) -> el.Space:
    with short_fits():
        return el.space(minilm, TEXTS, layers=[0], heads=[0, 2])


def corpus_of(texts: list[str]) -> el.corpora.Corpus:
    return el.corpora.Corpus.from_texts(list(texts), "three")


def test_a_pasted_text_that_is_too_long_is_answered_rather_than_dropped(script):
    at = script("space", "ja", limits=Limits(pasted=100)).run()
    at.segmented_control(key="space-source").set_value("paste").run()
    at.text_area(key="space-text").set_value("word " * 30).run()
    at.button(key="space-run").click().run()
    assert [element.value for element in at.error] == [Words("ja")("corpus.too_long", n="150", most="100")]


@pytest.mark.slow
def test_a_pasted_text_becomes_a_space_whose_fidelity_is_said_and_which_is_found_among_the_runs(script, shallow):
    at = script("space", model=str(shallow)).run()
    at.segmented_control(key="space-source").set_value("paste").run()
    at.button(key="space-run").click().run()
    assert errors(at) == [Words("en")("corpus.nothing")]
    at.text_area(key="space-text").set_value("\n\n".join(TEXTS[:2])).run()
    at.button(key="space-run").click().run()
    assert errors(at) == []
    job = ended(job_queue().job(at.session_state["space-job"]))
    assert (job.state, job.error) == ("done", "")
    at.run()
    assert errors(at) == []
    table = el.runs.open_run(job.folder).table("space")
    item, five = (f"**{100 * np.mean(table[name]):.0f} %**" for name in ("top1_held_out", "top5_held_out"))
    message = next(item.value for item in at.markdown if item.value.startswith("**How far to believe"))
    assert item in message
    assert five in message
    name = job.folder.name
    at.selectbox(key=f"space-head-{name}").set_value(el.HeadRef("encoder", 1, 3)).run()
    at.segmented_control(key=f"space-how-{name}").set_value("pca").run()
    assert errors(at) == []
    picture = el.runs.open_space(job.folder / FILE).project_head(1, 3, "pca")
    assert any(f"{100 * picture.top1:.0f} %" in item.value and "PCA" in item.value for item in at.caption)
    runs = script("runs", model=str(shallow))
    runs.session_state["visitor"] = at.session_state["visitor"]
    runs.run()
    assert errors(runs) == []
    assert "space, 2 texts" in runs.selectbox(key="run-name").options[0]


@pytest.mark.slow
def test_one_head_stands_beside_itself_by_another_projection(space):
    picture = space.project_head(0, 2, "pca")
    view = el.space_view(head_space(space, el.HeadRef("encoder", 0, 2)), picture_space(space, picture), layer=0, head=2)
    first, second = view.spec["spaces"]
    assert [entry["project"] for entry in (first, second)] == ["fitted", "pca"]
    assert first["stacks"][0]["heads"] == second["stacks"][0]["heads"] == [2]
    facts = [entry["stacks"][0]["layers"][0]["facts"][0]["top1_held_out"] for entry in (first, second)]
    assert facts == pytest.approx([space.only.facts["top1_held_out"][0, 1], picture.top1], rel=1e-5)
    assert view.spec["state"]["opened"]


def test_how_fidelity_was_measured_is_said_once_in_the_view(space, monkeypatch):
    messages: list[str] = []
    for kind in ("caption", "markdown"):
        monkeypatch.setattr(f"eyeline.show.app.space_run.st.{kind}", messages.append)
    fidelity(Words("en"), space.run())
    notices = el.space_view(space).spec["notices"]
    assert any("95 % interval" in notice for notice in notices)
    assert any("too few" in notice for notice in notices)
    assert not [text for text in messages if "interval" in text or "too few" in text]


def test_a_text_too_large_for_all_is_refused_in_the_visitors_language(minilm, tmp_path):
    before = current()
    use(Settings(tmp_path, limits=Limits(points=72 * 20)))
    try:
        work = SpaceWork(Words("ko"), minilm, corpus_of(TEXTS), SpaceOptions(limit=3, max_tokens=256))
        job = JobQueue(Limits()).submit(tmp_path / "run", work)
        assert ended(job).state == "failed"
        assert job.error.startswith("헤드 72개마다")
    finally:
        use(before)


def test_a_model_beside_itself_does_not_differ_and_its_spaces_are_the_same(shallow, tmp_path):
    model = el.load(shallow)
    work = ComparisonWork(Words("en"), model, lambda: model, corpus_of(TEXTS[:1]), CompareOptions(limit=1, max_tokens=256))
    job = ended(JobQueue(Limits()).submit(tmp_path / "run", work))
    assert (job.state, job.error) == ("done", "")
    run = el.runs.open_run(tmp_path / "run")
    assert np.abs(run.table("compare")["js"]).max() == 0
    spaces = [el.runs.open_space(tmp_path / "run" / name) for name in ("compare-a.safetensors", "compare-b.safetensors")]
    assert np.array_equal(spaces[0].only.queries, spaces[1].only.queries)


@pytest.mark.slow
def test_layers_that_only_one_model_has_are_named_and_the_others_compared(script, shallow, tmp_path):
    at = script("space")
    shutil.copytree(shallow, tmp_path / "workspace" / "models" / "shallow")
    at.run()
    at.segmented_control(key="space-task").set_value("two").run()
    at.segmented_control(key="space-source").set_value("paste").run()
    at.text_area(key="space-text").set_value(TEXTS[0])
    at.selectbox(key="space-model-b").set_value("shallow").run()
    assert "--with" in at.code[-1].value
    at.button(key="space-run").click().run()
    job = ended(job_queue().job(at.session_state["space-job"]))
    assert (job.state, job.error) == ("done", "")
    at.run()
    assert errors(at) == []
    assert at.warning[0].value == Words("en")("space.left_out")
    assert "layers 2 to 5" in at.code[0].value
    assert len(at.dataframe[0].value) == 2 * 12


def test_parts_of_speech_come_along_from_an_uploaded_treebank():
    class Upload:
        name = "mine.conllu"

        def getvalue(self) -> bytes:
            return b"1\tBirds\tbird\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tsing\tsing\tVERB\t_\t_\t0\troot\t_\t_\n\n"

    corpus = TextSource("upload", upload=Upload()).corpus(Words("en"))
    assert corpus.name == "mine.conllu"
    assert next(iter(corpus)).tags == ("NOUN", "VERB")


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [("a.txt", b"\xff\xfe", "not UTF-8"), ("a.png.gz", b"x", "“gz”"), ("a.jsonl", b"{", "line 1"), ("a.txt", b"   ", "")],
)
def test_bad_uploads_are_named(script, name, data, text):
    at = script("space").run()
    at.segmented_control(key="space-source").set_value("upload").run()
    at.file_uploader(key="space-file").set_value((name, data, "text/plain")).run()
    at.button(key="space-run").click().run()
    assert errors(at) == [Words("en")("corpus.bad_text" if text else "corpus.nothing")]
    assert not text or text in at.code[0].value
    assert not at.button(key="space-run").disabled


def test_values_have_a_picture_by_another_projection_and_no_fidelity(minilm):
    space = el.space(minilm, TEXTS[:2], of="values", layers=[0], heads=[1])
    fidelity(Words("en"), space.run())  # draws nothing, and asks for the best of no numbers as little
    shown = picture_space(space, space.project_head(0, 1, "pca"))
    assert shown.only.queries is None
    beside = el.space_view(head_space(space, el.HeadRef("encoder", 0, 1)), shown)
    assert beside.spec["spaces"][1]["of"] == "values"


@pytest.mark.slow
@pytest.mark.parametrize("of", ["values", "shared"])
def test_values_and_one_space_for_all_heads_can_be_chosen_on_the_page(script, shallow, of):
    at = script("space", model=str(shallow)).run()
    at.segmented_control(key="space-source").set_value("paste").run()
    at.text_area(key="space-text").set_value("\n\n".join(TEXTS[:2])).run()
    at.selectbox(key="space-of").set_value(of).run()
    assert at.selectbox(key="space-project").options == ["PCA"]
    assert any(f"of='{of}'" in block.value or f"--of {of}" in block.value for block in at.code)
    at.button(key="space-run").click().run()
    job = ended(job_queue().job(at.session_state["space-job"]))
    assert (job.state, job.error) == ("done", "")
    at.run()
    assert errors(at) == []
    space = el.runs.open_space(job.folder / FILE)
    assert space.of == of
    assert any("It is exact" in notice for notice in space.facts.notices) == (of == "shared")  # the view shows its notices


@pytest.mark.slow
def test_a_searched_gauge_has_its_choices_and_every_gauge_is_shown_beside_none(script, shallow):
    at = script("space", model=str(shallow)).run()
    at.segmented_control(key="space-source").set_value("paste").run()
    at.text_area(key="space-text").set_value("\n\n".join(TEXTS[:2])).run()
    at.selectbox(key="space-project").set_value("pca").run()
    at.selectbox(key="space-gauge").set_value("searched").run()
    assert Words("en")("space.gauge_help") in [caption.value for caption in at.caption], "explained on the page, not in a tooltip alone"
    at.selectbox(key="space-distance").set_value("cosine").run()
    assert any("distance='cosine'" in block.value for block in at.code)
    at.button(key="space-run").click().run()
    job = ended(job_queue().job(at.session_state["space-job"]))
    assert (job.state, job.error) == ("done", "")
    at.run()
    assert errors(at) == []
    (table,) = el.space_view(el.runs.open_space(job.folder / FILE)).spec["tables"]
    assert len(table["rows"]) == 12


@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_models_whose_heads_cannot_be_compared_are_not_offered_and_the_page_says_why(script, language):
    at, say = script("space", language).run(), Words(language)
    at.segmented_control(key="space-task").set_value("two").run()
    at.selectbox(key="space-model-b").select("e5-small").run()
    assert "smollm2" not in at.selectbox(key="space-model-b").options
    assert say("space.not_offered", model="minilm", names="smollm2") in [caption.value for caption in at.caption]
    at.selectbox(key="space-model").select("smollm2").run()
    assert at.selectbox(key="space-model-b").options == [say("space.untrained"), "smollm2"]
    assert at.selectbox(key="space-model-b").value == UNTRAINED, "what was chosen before cannot be compared with it"
    assert errors(at) == []
