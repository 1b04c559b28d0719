"""The Grammar page's logic: what it takes, what it shows, and what it says of files that are no treebanks."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import time

import pytest

import eyeline as el
from eyeline.errors import TextError
from eyeline.measure.grammar.options import SyntaxOptions
from eyeline.show.app.jobs.grammar import GrammarWork, read_gold, request_of
from eyeline.show.app.jobs.job import Job
from eyeline.show.app.jobs.queue import JobQueue, job_queue
from eyeline.show.app.kit.settings import Limits
from eyeline.show.app.kit.texts import unpacked_size
from eyeline.text.corpora.sample_treebank import sample_conllu
from eyeline.words import LANGUAGES, Words
from tests.show.app.test_pages import errors

PLAIN = sample_conllu(30).replace("Entity=", "Nothing=")
WORDS = ["Anna", "saw", "Tom", ".", "She", "waved", ",", "and", "Anna", "left", "."]
SAME = [{"start": index, "end": index, "cluster": 1} for index in (0, 4, 8)]
MARKED = json.dumps({"tokens": WORDS, "sent_lens": [4, 7], "mentions": SAME})


def ended(job: Job) -> Job:
    end = time.monotonic() + 120
    while not job.ended:
        assert time.monotonic() < end, job
        time.sleep(0.02)
    return job


def measured(at) -> Job:
    at.button(key="grammar-run").click().run()
    assert errors(at) == []
    job = ended(job_queue().job(at.session_state["grammar-job"]))
    at.run()
    return job


def tables_on(at) -> list[list[list[str]]]:
    """The cells of the page's small tables, row by row."""
    bodies = [element.proto.body for element in at.get("html") if "el-table" in element.proto.body]
    rows = [re.findall(r"<tr>(.*?)</tr>", body.partition("<tbody>")[2]) for body in bodies]
    return [[[re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td.*?</td>", row)] for row in table] for table in rows]


@pytest.mark.parametrize("page", ["grammar", "space"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_opens_in_every_language(script, page, language):
    at = script(page, language).run()
    assert errors(at) == []
    assert at.title[0].value == Words(language)(f"{page}.title")


@pytest.mark.slow
def test_the_built_in_sentences_give_three_tables_which_are_found_among_the_runs(script, shallow):
    say = Words("ja")
    at = script("grammar", "ja", model=str(shallow)).run()
    assert say("grammar.sample_about") in [item.value for item in at.markdown]
    at.number_input(key="grammar-limit").set_value(40)
    at.number_input(key="grammar-min-count").set_value(10).run()
    job = measured(at)
    assert (job.state, job.error) == ("done", "")
    assert at.success[0].value == say("corpus.saved")
    run = el.runs.open_run(job.folder)
    assert list(run.parts) == ["syntax", "coreference", "probe"]
    _table_1(say, run, at.dataframe[0].value)
    assert '<html lang="ja">' in (job.folder / "report.html").read_text(encoding="utf-8")[:200]
    methods, _ = tables_on(in_tab(at, say, "coreference", job.folder.name))
    assert [row[2] for row in methods] == [f"{share:.1f} %" for share in run.table("coreference")["all"]]
    assert methods[3][0] == say.name("method", "best head")
    probes, pair, _ = tables_on(in_tab(at, say, "probe", job.folder.name))
    assert [row[1] for row in probes] == [f"{share:.1f} %" for share in run.table("probes")["uas"]]
    parse = el.probes.open_probe(run, model=el.load(shallow)).parse("The cat sat on the mat.")
    assert [row[0] for row in pair] == [str(item.head) for item in parse.pair(0, parse.governors[0])[: len(pair)]]
    runs = script("runs", "ja", model=str(shallow))
    runs.session_state["visitor"] = at.session_state["visitor"]
    runs.run()
    assert errors(runs) == []
    assert runs.selectbox(key="run-name").value == job.folder.name
    assert "文法、40 文" in runs.selectbox(key="run-name").options[0]
    assert len(runs.dataframe) == 1
    assert len(tables_on(runs)) == 1
    assert len(tables_on(in_tab(runs, say, "probe", job.folder.name))) == 3


@pytest.mark.slow
def test_a_run_of_probes_alone_shows_its_heads_on_a_sentence(script, shallow):
    say = Words("en")
    at = script("grammar", model=str(shallow)).run()
    at.number_input(key="grammar-limit").set_value(24)
    at.pills(key="grammar-analyses").set_value(["probe"]).run()
    assert measured(at).state == "done"
    assert say("corpus.no_example") not in [item.value for item in at.caption]
    heads = next(element.proto.body for element in at.get("html") if say("grammar.parse_contribution") in element.proto.body)
    assert say("grammar.column_head") not in heads  # those of a pair of words, not the best ones


def in_tab(at, say, kind, name):
    """The page after a click on one of the tabs of a run: only that tab is drawn."""
    at.session_state[f"tabs-grammar-{name}-{say.language}"] = say(f"grammar.analysis_{kind}")
    at.run()
    assert errors(at) == []
    return at


def _table_1(say, run, shown) -> None:
    """As the run has it, "all" first, then those that are furthest ahead of the fixed offset."""
    rows = {str(row["relation"]): row for row in run.table("syntax").rows()}
    names = list(shown[say("grammar.column_relation")])
    assert names[0] == "all"
    assert set(names) == set(rows)
    gains = list(shown[say("grammar.column_gain")])[1:]
    assert gains == sorted(gains, reverse=True)
    for position, name in enumerate(names):
        assert shown[say("grammar.column_accuracy")][position] == pytest.approx(rows[name]["accuracy"])
        assert shown[say("grammar.column_held_out")][position] == pytest.approx(rows[name]["accuracy_held_out"])
        assert shown[say("grammar.column_baseline")][position] == pytest.approx(rows[name]["baseline"])
        assert shown[say("grammar.column_head")][position] == f"L{rows[name]['layer']}·H{rows[name]['head']}"


@pytest.mark.slow
def test_a_relation_shows_its_best_head_whose_card_opens_from_there(script, shallow, kept_runs, tmp_path):
    at = script("runs", model=str(shallow))
    shutil.copytree(kept_runs / "small-grammar", tmp_path / "workspace" / "runs" / "mine")
    run = el.runs.open_run(kept_runs / "small-grammar")
    at.run()
    best = next(row for row in run.table("syntax").rows() if row["relation"] == "det")
    head = f"L{best['layer']}·H{best['head']}"
    at.selectbox(key="relation-mine").set_value("det").run()
    assert errors(at) == []
    assert head in at.button(key="best-mine").label
    at.button(key="best-mine").click().run()
    assert errors(at) == []
    assert at.selectbox(key="grammar-head-mine").value == ("", best["layer"], best["head"])
    assert "det" in [row[0] for row in tables_on(at)[0]]


@pytest.mark.slow
def test_a_treebank_without_mentions_is_measured_and_reference_is_left_out_with_the_reason(script, shallow):
    at = script("grammar", model=str(shallow)).run()
    at.segmented_control(key="grammar-source").set_value("upload").run()
    at.file_uploader(key="grammar-file").set_value(("mine.conllu.gz", gzip.compress(PLAIN.encode()), "application/gzip"))
    at.pills(key="grammar-analyses").set_value(["syntax", "coreference"]).run()
    job = measured(at)
    assert (job.state, job.error) == ("done", "")
    assert at.warning[0].value == Words("en")("grammar.left_out", name=Words("en")("grammar.analysis_coreference"))
    assert "Entity=" in at.code[0].value
    run = el.runs.open_run(job.folder)
    assert list(run.parts) == ["syntax"]
    assert run.facts.corpus.name == "mine.conllu.gz"
    assert "'mine.conllu.gz'" in next(element.value for element in at.code if "el.load" in element.value)


def test_a_coreference_file_gives_table_2_alone():
    gold = read_gold("a.jsonl", MARKED.encode(), ("syntax", "coreference", "probe"))
    assert gold.treebank is None
    assert gold.marked is not None
    assert set(gold.left_out) == {"syntax", "probe"}
    assert [document.id for document in gold.marked] == ["a.jsonl, line 1"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.conllu", b"\xff\xfe caf\xe9", "not UTF-8"),
        ("a.conllu", b"This is just a text.\n", "not CoNLL-U"),
        ("a.conllu.gz", b"\x1f\x8b broken", "damaged"),
        ("a.conllu", b"", "empty treebank"),
        ("a.jsonl", b'{"words": ["no", "mentions"]}\n', "a.jsonl"),
        ("a.tar.gz", gzip.compress(b"x", mtime=0), "“gz”"),
        ("a.conllu", b"x" * 3_000_000, "3,000,000"),
        ("a.conllu.gz", gzip.compress(bytes(50_000_000)), "Unpacked"),
    ],
)
def test_bad_uploads_are_named_and_the_page_goes_on(script, name, data, message):
    at = script("grammar").run()
    at.segmented_control(key="grammar-source").set_value("upload").run()
    at.file_uploader(key="grammar-file").set_value((name, data, "text/plain")).run()
    at.button(key="grammar-run").click().run()
    assert errors(at) == [Words("en")("grammar.bad_file")]
    assert message in at.code[0].value
    assert "/tmp" not in at.code[0].value
    assert not at.button(key="grammar-run").disabled


def test_no_file_is_asked_for_in_words(script):
    at = script("grammar", "ko").run()
    at.segmented_control(key="grammar-source").set_value("upload").run()
    at.button(key="grammar-run").click().run()
    assert errors(at) == [Words("ko")("grammar.nothing")]


def test_a_stopped_analysis_leaves_nothing_and_the_page_goes_on(script, minilm, tmp_path):
    gold = read_gold("sample.conllu", sample_conllu(200).encode(), ("syntax", "coreference"))
    work = GrammarWork(minilm, gold, request_of(("syntax", "coreference"), SyntaxOptions(limit=200, min_count=20)))
    job = JobQueue(Limits()).submit(tmp_path / "run", work)
    while not job.done and not job.ended:
        time.sleep(0.002)
    job.stop.set()
    assert ended(job).state == "stopped"
    assert not (tmp_path / "run").exists()
    at = script("grammar", limits=Limits()).run()
    job_queue()._jobs[job.id] = job
    at.session_state["grammar-job"] = job.id
    at.run()
    assert at.info[0].value == Words("en")("corpus.stopped")
    assert not at.button(key="grammar-run").disabled


def test_a_file_from_which_nothing_can_be_made_says_every_reason():
    with pytest.raises(TextError, match="Mentions are marked by Entity=") as error:
        read_gold("mine.conllu", PLAIN.encode(), ("coreference",))
    assert str(error.value).startswith("mine.conllu: no mentions")


def test_what_a_packed_file_would_grow_to_is_counted_within_bounds():
    assert unpacked_size(gzip.compress(bytes(1000)), 10_000) == 1000
    assert 10_000 < unpacked_size(gzip.compress(bytes(50_000_000)), 10_000) < 3_000_000
    assert unpacked_size(gzip.compress(b"") + bytes(10) + gzip.compress(bytes(50_000_000)), 10_000) > 10_000  # members after zero padding
    assert unpacked_size(b"\x1f\x8b damaged", 10_000) == 0
