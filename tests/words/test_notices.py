"""Notices that runs hold in English are shown in the reader's language."""

from __future__ import annotations

import re

import pytest

import eyeline as el
from eyeline.models.objective import objective_of
from eyeline.plots.style import provenance
from eyeline.words import Words, catalogue
from tests.laws.statistics import tiny_model

NOTICES = {key: text for key, text in catalogue("eyeline.words", "en").items() if key.startswith("notice.")}
ASIAN = re.compile(r"[ぁ-ん]|[가-힣]")


@pytest.mark.parametrize("language", ["ja", "ko"])
@pytest.mark.parametrize("key", NOTICES)
def test_every_notice_is_found_again_by_its_english_text(key, language):
    blanks = dict.fromkeys(re.findall(r"\{(\w+)\}", NOTICES[key]), "12")
    assert Words(language).translated(Words()(key, **blanks)) == Words(language)(key, **blanks)


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_the_name_of_a_model_before_a_notice_stays_and_an_unknown_sentence_too(language):
    notice = Words()("notice.unknown_tokens", unknown="1,200", tokens="2,000")
    own = Words(language)("notice.unknown_tokens", unknown="1,200", tokens="2,000")
    assert Words(language).translated(f"minilm: {notice}") == f"minilm: {own}"
    assert Words(language).translated("Nobody wrote this.") == "Nobody wrote this."
    assert Words().translated(notice) == notice


def test_the_reason_for_a_missing_analysis_is_in_the_language_of_the_report(tmp_path):
    model = el.load("minilm")  # without a language-modelling head
    with pytest.raises(el.EyelineError) as error:
        objective_of(model)
    translated = Words("ja").translated(str(error.value))
    assert all(ASIAN.search(line) for line in translated.splitlines())
    run = el.analyse(model, ["The cat sat."], [el.statistics.Entropy(), el.statistics.Importance()], layers=[0])
    page = el.runs.write_report(run.save(tmp_path), "ja").read_text(encoding="utf-8")
    assert translated.splitlines()[0] in page
    assert "has no language-modelling head" not in page.split("<pre>")[0]


def test_pairs_are_named_in_headings_and_documents_without_a_pair_are_counted():
    texts = ["the cat sat . it purred .", "a dog ran home", "it sat . the dog ran . it sat ."]
    run = el.analyse(tiny_model(), texts, [el.statistics.Entropy()], pairs=True)
    assert "1 of 3 documents gave no pair: they have fewer than two sentences." in run.facts.notices
    assert "2 pairs of texts, [CLS] A [SEP] B [SEP]" in provenance(run, Words())
    plain = el.analyse(tiny_model(), texts, [el.statistics.Entropy()])
    assert "3 texts" in provenance(plain, Words())
