"""Coreference over a model: equal to the plain loops on real text, chosen and scored apart, and clear about what is not there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import eyeline as el
from eyeline.errors import TextError, TraceError
from eyeline.heads import MENTION_DIRECTIONS, MENTION_TO_ANTECEDENT
from eyeline.measure.coreference.antecedents import RULES, questions
from eyeline.measure.coreference.run import Scores, held_out, method_table
from eyeline.measure.coreference.windows import Windows
from eyeline.mentions import MarkedDocument, Mention, read_coreference
from eyeline.text.corpora.mentions import TYPES
from tests.reference import coreference as slow
from tests.text.corpora.treebanks import data_file

FIRST = "Mary told John that she liked the old house because it reminded her of home ."
SECOND = "John said that he liked the house too ."
MARY = MarkedDocument(
    "mary",
    (tuple(FIRST.split()), tuple(SECOND.split())),
    (
        Mention(0, 0, 0, 0, "proper", "sg", "Fem", "3"),
        Mention(2, 2, 2, 1, "proper", "sg", "Masc", "3"),
        Mention(4, 4, 4, 0, "pronoun", "sg", "Fem", "3"),
        Mention(6, 8, 8, 2, "nominal", "sg", None, "3"),
        Mention(10, 10, 10, 2, "pronoun", "sg", "Neut", "3"),
        Mention(12, 12, 12, 0, "pronoun", "sg", "Fem", "3"),
        Mention(16, 16, 16, 1, "proper", "sg", "Masc", "3"),
        Mention(19, 19, 19, 1, "pronoun", "sg", "Masc", "3"),
        Mention(21, 22, 22, 2, "nominal", "sg", None, "3"),
    ),
)


def twins(n: int) -> list[MarkedDocument]:
    return [MarkedDocument(f"{MARY.id}-{i}", MARY.sentences, MARY.mentions) for i in range(n)]


def slowly(model: el.Model, documents: list[MarkedDocument], max_tokens: int) -> dict[tuple[object, ...], list[float]]:
    """(layer, head, direction) or method → accuracies of all and of each type, in per cent, from whole traces."""
    answers: dict[tuple[object, ...], list[tuple[str, bool]]] = {}
    for document in documents:
        for window in Windows(model.tokenizer, max_tokens).of(document):
            mentions = list(window.mentions)
            types = [question.mention.type for question in questions(mentions)]
            for method in RULES:
                answers.setdefault((method,), []).extend(zip(types, slow.rule_answers(document, mentions, method), strict=True))
            (stack,) = model.trace(words=[document.words[word] for word in window.words]).stacks.values()
            index_of = {word: index for index, word in enumerate(window.words)}
            for layer, weights in zip(stack.layers, stack.weights_by_layer, strict=True):
                for head, map_ in enumerate(weights):
                    words = slow.word_level(map_, stack.query_text)
                    for back, direction in enumerate(MENTION_DIRECTIONS):
                        result = slow.attention_answers(words, index_of, mentions, back=bool(back))
                        answers.setdefault((layer, head, direction), []).extend(result)
    return {
        key: [100 * float(np.mean([right for type_, right in result if name in ("all", type_)] or [np.nan])) for name in ("all", *TYPES)]
        for key, result in answers.items()
    }


def check_equal(run: el.Run, expected: dict[tuple[object, ...], list[float]], directions: int = 2) -> None:
    heads = run.table("coreference_heads")
    assert len(heads) == len([key for key in expected if len(key) == 3 and key[2] in MENTION_DIRECTIONS[:directions]])
    for row in heads.rows():
        actual = [row[name] for name in ("all", *TYPES)]
        assert actual == pytest.approx(expected[row["layer"], row["head"], row["direction"]], abs=0.01, nan_ok=True)
    for row in list(run.table("coreference").rows())[:3]:
        assert [row[name] for name in ("all", *TYPES)] == pytest.approx(expected[row["method"],], abs=0.01, nan_ok=True)


@pytest.mark.slow
def test_every_head_and_rule_is_that_of_the_plain_loops_on_real_documents(minilm: el.Model) -> None:
    corpus = read_coreference(data_file("ontogum-dev.jsonl.gz"))
    documents = [_beginning(corpus[number], 9) for number in (0, 7)]
    run = el.coreference(minilm, documents, max_tokens=64)
    assert run.facts.counts["windows"] > 4
    check_equal(run, slowly(minilm, documents, 64))


def test_a_decoder_is_scored_the_same_way_and_never_looks_ahead(smollm2: el.Model) -> None:
    run = el.coreference(smollm2, [MARY], layers=[3, 17])
    expected = {key: row for key, row in slowly(smollm2, [MARY], 128).items() if len(key) == 1 or key[0] in (3, 17)}
    check_equal(run, expected, directions=1)
    assert set(run.table("coreference_heads").columns["direction"]) == {MENTION_TO_ANTECEDENT}
    assert any("never looks ahead" in notice for notice in run.facts.notices)


def _beginning(document: MarkedDocument, n: int) -> MarkedDocument:
    sentences = document.sentences[:n]
    size = sum(map(len, sentences))
    return MarkedDocument(document.id, sentences, tuple(m for m in document.mentions if m.end < size))


def test_the_tables_are_those_that_were_promised(minilm: el.Model) -> None:
    run = el.coreference(minilm, twins(3))
    table = run.table("coreference")
    assert list(table.columns) == ["method", "layer", "head", "all", "pronoun", "proper", "nominal", "n"]
    assert list(table.columns["method"]) == ["nearest", "head match", "rule-based", "best head", "best head, held out"]
    assert set(table.columns["n"]) == {18}
    heads = run.table("coreference_heads").where(direction=MENTION_TO_ANTECEDENT)
    assert len(heads) == 72
    assert max(heads["all"]) == table["all"][3]
    assert run.facts.coreference.n == {"pronoun": 12, "proper": 3, "nominal": 3}
    counts = run.facts.counts
    assert counts["mentions_marked"] == 27 == counts["mentions"] + counts["mentions_first"] + counts["mentions_apart"]


def test_the_example_shows_what_the_best_head_attends_to(minilm: el.Model) -> None:
    run = el.coreference(minilm, [MARY])
    table = run.table("coreference_example")
    assert tuple(table.columns["word"]) == MARY.words
    mentions = [row for row in table.rows() if row["mention"]]
    assert [row["index"] for row in mentions] == [question.mention.main_word for question in questions(MARY.mentions)]
    layer, head = run.facts.coreference.example.layer, run.facts.coreference.example.head
    weights = minilm.trace(words=list(MARY.words)).words().weights[layer, head]  # [unit, unit], [CLS] first
    for row in mentions:
        assert row["weight"] == pytest.approx(weights[row["index"] + 1, int(row["attended"]) + 1], abs=1e-5)
    best = next(row for row in run.table("coreference").rows() if row["method"] == "best head")
    assert 100 * np.mean([row["right"] for row in mentions]) == pytest.approx(best["all"])


def test_the_held_out_head_is_chosen_on_one_half_and_scored_on_the_other() -> None:
    documents = np.array([0, 0, 1, 1])
    hits = {(MENTION_TO_ANTECEDENT, 0): np.array([[1, 1, 0, 0], [0, 0, 1, 1]], dtype=bool)}  # each head knows one document alone
    scores = Scores(np.array(["pronoun"] * 4, dtype=object), documents, {"nearest": np.zeros(4, dtype=bool)}, hits)
    apart = held_out(scores, seed=0)
    assert apart is not None
    assert set(apart.heads) == {(0, 0), (0, 1)}
    assert not apart.right.any()
    table = method_table(scores, apart)
    assert list(table["all"]) == [0, 50, 0]
    assert np.isnan(table["proper"].astype(float)).all()
    assert np.isnan(table["layer"][2])  # the halves chose different heads


def test_one_document_cannot_be_halved(minilm: el.Model) -> None:
    run = el.coreference(minilm, [MARY])
    assert list(run.table("coreference").columns["method"])[-1] == "best head"
    assert "only one document" in run.facts.coreference.held_out.why


def test_a_corpus_without_pronouns_has_an_empty_column(minilm: el.Model) -> None:
    nouns = MarkedDocument("x", MARY.sentences, tuple(m for m in MARY.mentions if m.type != "pronoun"))
    run = el.coreference(minilm, [nouns])
    assert np.isnan(run.table("coreference")["pronoun"].astype(float)).all()
    assert run.facts.coreference.n == {"pronoun": 0, "proper": 1, "nominal": 1}
    assert "No scored mention is of type pronoun." in run.facts.notices
    assert run.table("coreference").to_csv().splitlines()[1] == "nearest,,,0,,0,0,2"


def test_the_first_window_and_the_limit_leave_documents_out(minilm: el.Model) -> None:
    whole = el.coreference(minilm, twins(4), max_tokens=20)
    first = el.coreference(minilm, twins(4), max_tokens=20, first_window=True)
    assert whole.facts.counts["windows"] == 2 * first.facts.counts["windows"] == 8
    assert first.facts.counts["mentions_outside"] == 4 * 3
    some = el.coreference(minilm, twins(4), limit=2, seed=1)
    assert some.facts.counts["documents"] == 2


def test_mentions_of_another_window_are_no_candidates(minilm: el.Model) -> None:
    run = el.coreference(minilm, [MARY], max_tokens=20)
    assert run.facts.counts["mentions_apart"] == 2  # John and the house are first mentioned in the other sentence
    assert run.facts.counts["mentions"] == 4


def test_nothing_to_ask_is_an_error_that_says_so(minilm: el.Model) -> None:
    alone = MarkedDocument("x", MARY.sentences, MARY.mentions[:2])
    with pytest.raises(TextError, match="None of the 2 mentions in documents has an antecedent"):
        el.coreference(minilm, [alone])
    unreadable = MarkedDocument("y", (("Mary", "\u200b", "she"),), (Mention(0, 0, 0, 0, "proper"), Mention(2, 2, 2, 0, "pronoun")))
    with pytest.raises(TextError, match="1 sentences have words that this tokeniser drops"):
        el.coreference(minilm, [unreadable])
    with pytest.raises(TextError, match="No documents"):
        el.coreference(minilm, [])
    with pytest.raises(TextError, match="A document given as str"):
        el.coreference(minilm, ["Mary left. She ran."])
    with pytest.raises(TextError, match="Windows of 3 tokens"):
        el.coreference(minilm, [MARY], max_tokens=3)
    with pytest.raises(TextError, match="A limit of 0"):
        el.coreference(minilm, [MARY], limit=0)
    with pytest.raises(TraceError, match="0…5"):
        el.coreference(minilm, [MARY], layers=[9])


def test_chosen_layers_alone_are_scored_and_progress_is_told(minilm: el.Model) -> None:
    seen: list[tuple[int, int]] = []
    run = el.coreference(minilm, twins(2), layers=[1, 4], progress=lambda progress: seen.append((progress.done, progress.of or 0)))
    assert set(run.table("coreference_heads").columns["layer"]) == {1, 4}
    assert seen[-1] == (2, 2)


def test_japanese_in_conllu_is_asked_about_without_spaces(minilm: el.Model, tmp_path: Path) -> None:
    rows = [
        ("太郎", "PROPN", "(1-person)"),
        ("は", "ADP", "_"),
        ("彼", "PRON", "(1-person)"),
        ("の", "ADP", "_"),
        ("猫", "NOUN", "(2-animal)"),
    ]
    lines = ["# global.Entity = GRP-etype", f"# text = {''.join(row[0] for row in rows)}"]
    for i, (form, tag, entity) in enumerate(rows, 1):
        misc = "_" if entity == "_" else f"Entity={entity}"
        lines.append("\t".join([str(i), form, form, tag, "_", "_", "0" if i == 5 else "5", "dep", "_", misc]))
    (tmp_path / "x.conllu").write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    run = el.coreference(minilm, tmp_path / "x.conllu")
    assert run.facts.counts["mentions"] == 1
    assert list(run.table("coreference_example").columns["word"]) == [row[0] for row in rows]
