"""Notices, reasons and refusals are keys and values: kept so in files, and put into words in the reader's language."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import eyeline as el
from eyeline import messages
from eyeline.errors import Advice, TextError
from eyeline.measure.runs.facts import CorpusFacts, ModelFacts, facts_from_json, facts_to_json
from eyeline.measure.runs.figure import provenance
from eyeline.measure.statistics.options import AnalyseFacts, AnalyseOptions
from eyeline.messages import Message, blanks, catalogue
from eyeline.models.objective import objective_of
from eyeline.words import LANGUAGES, Words
from tests.laws.statistics import tiny_model

SOURCE = Path(el.__file__).parent
ASIAN = re.compile(r"[ぁ-んァ-ヶ一-龠가-힣]")
#: The files whose messages are records.
RECORDS = ("notice", "refusal")
ENGLISH = {key: text for key, text in catalogue("en").items() if key.partition(".")[0] in RECORDS}


@pytest.mark.parametrize("language", ["ja", "ko"])
@pytest.mark.parametrize("key", ENGLISH)
def test_every_notice_and_refusal_is_in_every_language_with_the_same_blanks(key: str, language: str) -> None:
    own = catalogue(language)[key]
    assert blanks(own) == blanks(ENGLISH[key])
    filled = Words(language).of(Message(key, **dict.fromkeys(blanks(own), "12")))
    assert not re.search(r"\{\w+\}", filled)
    assert ASIAN.search(filled) or not re.search("[a-z]{3}", re.sub(r"\{\w+\}", "", ENGLISH[key]))


def made() -> Iterator[tuple[str, str, set[str] | None]]:
    """Every `Message(key, …)` of the package: where it stands, its key with {} for what is computed, the names of its values (or None)."""
    for path in sorted(SOURCE.rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Message":
                key = call.args[0]
                parts = key.values if isinstance(key, ast.JoinedStr) else [key]
                shape = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
                names = [keyword.arg for keyword in call.keywords]
                yield f"{path.relative_to(SOURCE)}:{call.lineno}", shape, None if None in names else {name for name in names if name}


def keys_of(shape: str) -> list[str]:
    pattern = re.compile(re.escape(shape).replace(r"\{\}", r"\w+"))
    return [key for key in ENGLISH if pattern.fullmatch(key)]


def test_every_message_that_the_code_makes_has_words_and_fills_their_blanks() -> None:
    calls = list(made())
    assert len(calls) > 80
    assert [where for where, shape, _ in calls if not keys_of(shape)] == []
    named = [(where, key, names, "{}" in shape) for where, shape, names in calls if names is not None for key in keys_of(shape)]
    wrong = [
        f"{where}: {key}"
        for where, key, names, computed in named
        if not (blanks(ENGLISH[key]) <= names if computed else blanks(ENGLISH[key]) == names)
    ]
    assert wrong == []


def test_every_notice_and_refusal_has_a_place_in_the_code() -> None:
    used = {key for _, shape, _ in made() for key in keys_of(shape)}
    assert sorted(ENGLISH.keys() - used) == []


def test_a_message_is_its_english_words_and_keeps_key_and_values() -> None:
    notice = Message("notice.truncated", dropped="3", tokens="515")
    assert notice == "3 of 515 tokens were cut off: the text is longer than the model takes."
    assert ("cut off" in notice, f"{notice}", " ".join([notice])) == (True, str(notice), str(notice))
    assert Words().of(notice) == notice
    assert Words("ja").of(notice) == Words("ja")("notice.truncated", dropped="3", tokens="515")
    for again in (pickle.loads(pickle.dumps(notice)), copy.deepcopy(notice), Message.from_json(json.loads(json.dumps(notice.to_json())))):
        assert (again, again.key, again.values) == (str(notice), notice.key, notice.values)


def test_other_english_words_are_shown_in_the_same_japanese(monkeypatch: pytest.MonkeyPatch) -> None:
    """No sentence is recognised by its English."""
    before = messages.words_of

    def other(language: str, file: str) -> Mapping[str, str]:
        return {key: f"Other words. {text}" for key, text in before(language, file).items()} if language == "en" else before(language, file)

    monkeypatch.setattr(messages, "words_of", other)
    notice = Message("notice.unreadable_pieces", n="2")
    assert notice.startswith("Other words.")
    assert Words("ja").of(notice) == Words("ja")("notice.unreadable_pieces", n="2")


HOSTILE = "x: {n} {model.__class__} <b>&\n[red]5 of 6 tokens were cut off: \x1b[31m"


@pytest.mark.parametrize("language", LANGUAGES)
def test_values_are_data_whatever_they_hold(language: str) -> None:
    notice = Message("notice.of_model", model=HOSTILE, notice=Message("notice.unreadable_pieces", n=HOSTILE))
    again = Message.from_json(json.loads(json.dumps(notice.to_json())))
    assert Words(language).of(again).count(HOSTILE) == 2
    assert ASIAN.search(Words(language).of(again).replace(HOSTILE, "")) or language == "en"


def test_what_was_written_before_is_shown_as_it_is() -> None:
    before = Message.from_json("3 of 515 tokens were cut off: the text is longer than the model takes.")
    assert (before.key, before.to_json()) == ("", str(before))
    assert [Words(language).of(before) for language in LANGUAGES] == [before] * 3


@pytest.mark.parametrize(
    "data",
    [
        3,
        None,
        [],
        {},
        {"key": "notice.truncated"},
        {"key": 1, "values": {}, "words": ""},
        {"key": "a", "values": [], "words": ""},
        {"key": "a", "values": {"n": {}}, "words": ""},
        {"key": "a", "values": {"n": None}, "words": ""},
        {"key": "", "values": {"lines": "ab"}, "words": ""},
    ],
)
def test_what_is_no_message_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match="message"):
        Message.from_json(data)


@pytest.mark.parametrize("values", [{}, {"dropped": "3"}, {"tokens": 5, "other": "x"}])
def test_a_message_of_another_version_is_shown_in_its_english_words(values: dict[str, Any]) -> None:
    for key in ("notice.truncated", "notice.of_tomorrow"):
        assert Words("ja").of(Message.from_json({"key": key, "values": values, "words": "As it was written."})) == "As it was written."


def test_a_refusal_is_shown_in_the_language_of_its_reader_line_by_line() -> None:
    advice = Advice("Pass truncate=True.", "Add --truncate.", Message("refusal.advice.shorten"))
    error = TextError(Message("refusal.too_long", n="600", most="512"), "plain", advice)
    assert str(error) == "600 tokens, but the model takes 512.\n  plain\n  Pass truncate=True."
    assert error.for_command_line.endswith("  Add --truncate.")
    for shown in (error, pickle.loads(pickle.dumps(error))):
        first, plain, last = Words("ja").of(shown.for_app).splitlines()
        assert (bool(ASIAN.search(first)), plain, bool(ASIAN.search(last))) == (True, "  plain", True)
        assert shown.message.first_line == "600 tokens, but the model takes 512."
    renamed = TextError(Message("refusal.column", file="/tmp/x/a.csv"), "/tmp/x/a.csv").for_app.replacing("/tmp/x/a.csv", "a.csv")
    assert renamed == "a.csv: which column holds the text?\n  a.csv"
    assert ASIAN.search(Words("ja").of(renamed))


def test_the_words_are_read_when_they_are_needed() -> None:
    """A message without a key, such as most errors have, reads no file of words; one with a key reads that of its language alone."""
    messages.words_of.cache_clear()
    TextError("A plain refusal.", "With its advice.")
    assert messages.words_of.cache_info().currsize == 0
    TextError(Message("refusal.too_long", n="600", most="512"))
    assert messages.words_of.cache_info().currsize == 1


def test_the_notices_of_a_run_are_kept_with_their_keys_and_shown_in_the_language_of_the_report(tmp_path: Path) -> None:
    texts = ["the cat sat . it purred .", "a dog ran home", "it sat . the dog ran . it sat ."]
    run = el.analyse(tiny_model(), texts, [el.statistics.Entropy()], pairs=True)
    assert "1 of 3 documents gave no pair: they have fewer than two sentences." in run.facts.notices
    written = (run.save(tmp_path) / "run.json").read_text(encoding="utf-8")
    (part,) = json.loads(written)["parts"].values()
    assert {"key": "notice.no_pair", "values": {"n": "1", "documents": "3"}, "words": str(run.facts.notices[-1])} in part["notices"]
    opened = el.runs.open_run(tmp_path)
    assert [(notice, notice.key) for notice in opened.facts.notices] == [(notice, notice.key) for notice in run.facts.notices]
    page = el.runs.write_report(tmp_path, "ja").read_text(encoding="utf-8")
    assert Words("ja")("notice.no_pair", n="1", documents="3") in page
    assert "2 pairs of texts, [CLS] A [SEP] B [SEP]" in provenance(run, Words())
    plain = el.analyse(tiny_model(), texts, [el.statistics.Entropy()])
    assert "3 texts" in provenance(plain, Words())


def test_runs_and_traces_written_before_are_shown_as_they_are(tmp_path: Path) -> None:
    notices = (Message("notice.unreadable_pieces", n="2"),)
    facts = AnalyseFacts(ModelFacts("minilm"), CorpusFacts("a.txt"), AnalyseOptions(), notices=notices)
    before = {
        **facts_to_json(facts),
        "notices": ["A sentence."],
        "left_out": {"entropy": "Why.\n  More."},
        "dropped": {"no_tree": {"s1": "no root"}},
    }
    read = facts_from_json(json.loads(json.dumps(before)))
    assert (read.notices, read.left_out, read.dropped) == (("A sentence.",), before["left_out"], before["dropped"])
    assert Words("ja").of(read.left_out["entropy"].first_line) == "Why."
    assert facts_from_json(json.loads(json.dumps(facts_to_json(facts)))) == facts


def test_a_trace_keeps_its_notices_with_their_keys(tmp_path: Path) -> None:
    trace = el.load("minilm").trace("the cat " * 400, truncate=True)
    (notice,) = el.open(trace.save(tmp_path / "trace.safetensors")).notices
    assert (notice, notice.key, dict(notice.values)) == (trace.notices[0], "notice.truncated", dict(trace.notices[0].values))
    assert Words("ko").of(notice) in json.dumps(el.head_view(trace, language="ko").spec, ensure_ascii=False)


def test_the_reason_for_a_missing_analysis_is_in_the_language_of_the_report(tmp_path: Path) -> None:
    model = el.load("minilm")  # without a language-modelling head
    with pytest.raises(el.EyelineError) as error:
        objective_of(model)
    translated = Words("ja").of(error.value.message)
    assert all(ASIAN.search(line) for line in translated.splitlines())
    run = el.analyse(model, ["The cat sat."], [el.statistics.Entropy(), el.statistics.Importance()], layers=[0])
    page = el.runs.write_report(run.save(tmp_path), "ja").read_text(encoding="utf-8")
    assert translated.splitlines()[0] in page
    assert "has no language-modelling head" not in page.split("<pre>")[0]
