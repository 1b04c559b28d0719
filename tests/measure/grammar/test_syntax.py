"""Heads as dependency classifiers: the protocol against its slow form, on every relation, head and direction; and bad input, counted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import eyeline as el
from eyeline.errors import TextError, TraceError
from eyeline.measure.grammar.result import gold_of, halves
from eyeline.mentions import MarkedDocument, Mention
from eyeline.treebanks import Sentence, Treebank, read_treebank, sample_treebank, write_sample
from tests.laws.statistics import new_tiny_model, tiny_model
from tests.models.families import BY_NAME, open_family, tiny_tokenizer
from tests.reference import syntax as slow
from tests.text.corpora.treebanks import data_file

#: Two hundredths of a point would be a word in five thousand; no relation here has so many.
WITHIN = 0.01


def relations_of(sentences: list[Sentence]) -> list[tuple[str, ...]]:
    return [gold_of(sentence).relations for sentence in sentences]


def check_against_reference(run: el.Run, traces: list[el.Trace], sentences: list[Sentence]) -> None:
    """Every relation that may have a row, every head, both directions; and the baselines."""
    relations = relations_of(sentences)
    expected = slow.every_head(traces, sentences, relations)
    rows = list(run.table("syntax_heads").rows())
    names = {name for name, *_ in expected} - {"root", "punct"}
    assert len(rows) == sum(name in names for name, *_ in expected)
    for row in rows:
        assert row["accuracy"] == pytest.approx(expected[row["relation"], row["layer"], row["head"], row["direction"]], abs=WITHIN)
    baselines = slow.baselines(sentences, relations)
    for row in run.table("syntax").rows():
        assert row["baseline"] == pytest.approx(baselines[str(row["relation"])], abs=WITHIN)
        assert row["accuracy"] == pytest.approx(max(v for (name, *_), v in expected.items() if name == row["relation"]), abs=WITHIN)


def test_the_built_in_treebank_is_scored_as_the_slow_protocol_scores_it(minilm: el.Model) -> None:
    sentences = list(sample_treebank(16, seed=3))
    run = el.syntax(minilm, sentences, min_count=1)
    check_against_reference(run, [minilm.trace(words=list(item.words), keep={"weights"}) for item in sentences], sentences)


@pytest.mark.slow
def test_a_real_treebank_is_scored_as_the_slow_protocol_scores_it(minilm: el.Model) -> None:
    bank = read_treebank(data_file("en_ewt-dev.conllu.gz"))
    possessors = [sentence for sentence in bank if "'s" in sentence.words and "nmod:poss" in sentence.deprels and len(sentence) < 20][:4]
    sentences = [sentence for sentence in bank if 3 <= len(sentence) <= 20][:200:10] + possessors
    run = el.syntax(minilm, sentences, min_count=1)
    check_against_reference(run, [minilm.trace(words=list(sentence.words), keep={"weights"}) for sentence in sentences], sentences)


WORDS = [("the", "cat", "sat", "."), ("a", "dog", "ran", "home", ",", "and", "it", "purred"), ("catty", "doggy", "ran"), ("it", "ran")]
HEADS = [(1, 2, -1, 2), (1, 2, -1, 2, 7, 7, 7, 2), (2, 2, -1), (1, -1)]
RELATIONS = [
    ("det", "nsubj", "root", "punct"),
    ("det", "nsubj", "root", "advmod", "punct", "cc", "nsubj", "conj"),
    ("nsubj", "obj", "root"),
    ("nsubj", "root"),
]
SENTENCES = [Sentence(f"s{i}", *parts) for i, parts in enumerate(zip(WORDS, HEADS, RELATIONS, strict=True))]


@pytest.mark.parametrize("family", ["llama", "gpt2", "t5", "bart", "modernbert", "deberta-v2"])
def test_decoders_encoder_decoders_and_models_outside_the_interface_are_scored_alike(family: str) -> None:
    model = open_family(family)
    pair = ["the", "cat"] if model.hf.config.is_encoder_decoder else None
    traces = [model.trace(words=list(record.words), pair_words=pair, keep={"weights"}) for record in SENTENCES]
    check_against_reference(el.syntax(model, SENTENCES, min_count=1), traces, SENTENCES)


def test_a_causal_head_predicts_nothing_for_what_it_cannot_see() -> None:
    """The first word of a decoder sees only itself, and nothing sees the last: both are wrong, not right by chance."""
    model = el.wrap(BY_NAME["llama"].model(), _without_special_tokens(), name="llama")
    two = [Sentence("a", ("cat", "ran"), (1, -1), ("nsubj", "root")), Sentence("b", ("ran", "cat"), (-1, 0), ("root", "obj"))]
    table = el.syntax(model, two, min_count=1).table("syntax_heads")
    assert set(table.where(relation="nsubj", direction="dependent-to-governor").columns["accuracy"]) == {0.0}
    assert set(table.where(relation="nsubj", direction="governor-to-dependent").columns["accuracy"]) == {100.0}
    assert set(table.where(relation="obj", direction="dependent-to-governor").columns["accuracy"]) == {100.0}
    assert set(table.where(relation="obj", direction="governor-to-dependent").columns["accuracy"]) == {0.0}


def _without_special_tokens():
    from tokenizers import processors

    tokenizer = tiny_tokenizer()
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(single="$A", pair="$A $B", special_tokens=[])
    return tokenizer


def test_root_and_punctuation_count_in_all_and_have_no_row() -> None:
    table = el.syntax(tiny_model(), SENTENCES, min_count=1).table("syntax")
    assert list(table.columns["relation"]) == ["all", "nsubj", "det", "advmod", "cc", "conj", "obj"]
    assert table.columns["count"][0] == sum(map(len, SENTENCES)) == 17


def test_relations_with_few_words_get_no_row_and_an_empty_table_says_why() -> None:
    run = el.syntax(tiny_model(), SENTENCES, min_count=4)
    assert list(run.table("syntax").columns["relation"]) == ["all", "nsubj"]
    none = el.syntax(tiny_model(), SENTENCES)
    assert list(none.table("syntax").columns["relation"]) == ["all"]
    assert "No relation has 100 words" in none.facts.notices[0]
    bare = el.syntax(tiny_model(), [Sentence("s", ("ran", "."), (-1, 0), ("root", "punct"))], min_count=1)
    assert list(bare.facts.notices) == ["No relation stands in this treebank but root and punct."]


def test_a_file_is_read_and_what_is_no_sentence_is_refused(tmp_path: Path, minilm: el.Model) -> None:
    write_sample(tmp_path / "x.conllu.gz", 4)
    run = el.syntax(minilm, tmp_path / "x.conllu.gz", layers=[0], min_count=1)
    assert run.table("syntax").to_csv() == el.syntax(minilm, sample_treebank(4), layers=[0], min_count=1).table("syntax").to_csv()
    with pytest.raises(TextError, match="A sentence given as str"):
        el.syntax(minilm, ["the cat sat"])  # type: ignore[list-item]


def test_layers_may_differ_in_how_many_heads_they_have() -> None:
    hf = new_tiny_model().hf
    attention = hf.bert.encoder.layer[1].attention.self
    attention.num_attention_heads, attention.attention_head_size = 2, 12
    model = el.wrap(hf, tiny_tokenizer(), name="uneven")
    traces = model.traces([list(sentence.words) for sentence in SENTENCES])
    check_against_reference(el.syntax(model, SENTENCES, min_count=1), traces, SENTENCES)


@pytest.mark.parametrize("layers", [None, [2]])
def test_an_encoder_deeper_than_its_decoder_is_asked_in_all_its_layers(layers: list[int] | None) -> None:
    t5 = BY_NAME["t5"]
    assert t5.layers["encoder"] == 3 > t5.layers["decoder"]
    model = el.wrap(t5.model(), tiny_tokenizer(), name="t5")
    requested = set(layers or range(3))
    assert set(el.syntax(model, SENTENCES, min_count=1, layers=layers).table("syntax_heads").columns["layer"]) == requested
    assert set(el.probe(model, SENTENCES, seeds=1, layers=layers).table("probe_weights").columns["layer"]) == requested
    twice = MarkedDocument("d", (WORDS[1],), (Mention(0, 1, 1, 0, "nominal"), Mention(6, 6, 6, 0, "pronoun")))
    assert set(el.coreference(model, [twice], layers=layers).table("coreference_heads").columns["layer"]) == requested
    with pytest.raises(TraceError, match="model's encoder whose layers are 0…2"):
        el.syntax(model, SENTENCES, layers=[3])
    for ask in (lambda: el.syntax(model, SENTENCES, layers=2), lambda: el.coreference(model, [twice], layers=2)):  # type: ignore[arg-type]
        with pytest.raises(TraceError, match="Give a list of layer numbers"):
            ask()


def test_the_held_out_head_is_chosen_on_one_half_and_scored_on_the_other() -> None:
    sentences = SENTENCES * 3
    run = el.syntax(tiny_model(), sentences, min_count=1, seed=5)
    half = halves(len(sentences), 5)
    assert Counter(half) == {0: 6, 1: 6}
    parts = [el.syntax(tiny_model(), [item for item, h in zip(sentences, half, strict=True) if h == part], min_count=1) for part in (0, 1)]
    row = next(run.table("syntax").rows())
    right = 0.0
    for chosen, scored in ((0, 1), (1, 0)):
        best = next(parts[chosen].table("syntax").rows())
        where = {name: best[name] for name in ("relation", "layer", "head", "direction")}
        result = next(parts[scored].table("syntax_heads").where(**where).rows())
        right += float(result["accuracy"]) * float(result["count"])
    assert row["accuracy_held_out"] == pytest.approx(right / float(row["count"]))
    assert row["accuracy_held_out"] <= row["accuracy"]


def test_a_subset_of_layers_gives_the_same_numbers_for_those_layers() -> None:
    every, first = (el.syntax(tiny_model(), SENTENCES, min_count=1, layers=layers).table("syntax_heads") for layers in (None, [2]))
    assert list(every.where(layer=2).rows()) == list(first.rows())


def test_batching_does_not_change_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    together = el.syntax(tiny_model(), SENTENCES, min_count=1).table("syntax_heads")
    monkeypatch.setattr("eyeline.models.tracing.BATCH_TEXTS", 1)
    np.testing.assert_allclose(el.syntax(tiny_model(), SENTENCES, min_count=1).table("syntax_heads")["accuracy"], together["accuracy"])


class TestLabels:
    SENTENCE = Sentence(
        "x",
        ("Anna", "'s", "doctor", "was", "picked", "up", "in", "the", "city"),
        (2, 0, 4, 4, -1, 4, 8, 8, 4),
        ("nmod:poss", "case", "nsubj:pass", "aux:pass", "root", "compound:prt", "case", "det", "obl:loc"),
        ("PROPN", "PART", "NOUN", "AUX", "VERB", "ADP", "ADP", "DET", "NOUN"),
    )

    def test_ud_cuts_subtypes_that_are_not_relations_of_their_own(self) -> None:
        names = gold_of(self.SENTENCE, "ud").relations
        assert names == ("nmod:poss", "case", "nsubj:pass", "aux:pass", "root", "compound:prt", "case", "det", "obl")
        assert gold_of(self.SENTENCE, "as-is").relations[-1] == "obl:loc"

    def test_stanford_turns_prepositional_phrases_round(self) -> None:
        gold = gold_of(self.SENTENCE, "stanford")
        assert gold.relations == ("poss", "possessive", "nsubjpass", "auxpass", "root", "prt", "prep", "det", "pobj")
        assert (gold.governors[6], gold.governors[8], gold.governors[7]) == (4, 6, 8)

    def test_the_s_after_a_possessor_is_judged_in_its_place(self) -> None:
        assert gold_of(self.SENTENCE).judged == (1, 1, 2, 3, 4, 5, 6, 7, 8)
        other = Sentence("y", ("her", "doctor"), (1, -1), ("nmod:poss", "root"))
        assert gold_of(other).judged == (0, 1)

    def test_the_stanford_form_of_any_sentence_is_still_a_tree(self) -> None:
        for sentence in sample_treebank(60, seed=2):
            gold = gold_of(sentence, "stanford")
            Sentence(sentence.id, sentence.words, gold.governors, gold.relations)  # it is checked at birth

    def test_unknown_labels_offer_the_known(self) -> None:
        with pytest.raises(TextError, match="Did you mean stanford"):
            el.syntax(tiny_model(), SENTENCES, labels="standford")


class TestBadInput:
    def test_long_sentences_and_words_that_are_dropped_are_counted_and_named(self, minilm: el.Model) -> None:
        long = Sentence("long", ("cat",) * 200, (-1, *(0,) * 199), ("root", *("dep",) * 199))
        dropped = Sentence("dropped", ("cat", "\u200b\u200b", "ran"), (2, 2, -1), ("nsubj", "dep", "root"))
        run = el.syntax(minilm, [*sample_treebank(4), long, dropped, long], min_count=1)
        counts = run.facts.counts
        assert (counts["given"], counts["sentences"], counts["too_long"], counts["unreadable"]) == (7, 4, 2, 1)
        notes = run.facts.dropped
        assert notes["too_long"] == dict.fromkeys(("long", "long, sentence 7"), "202 tokens, more than 128.")
        assert set(notes["unreadable"]) == {"dropped"}

    def test_a_treebank_of_which_nothing_can_be_used_is_refused(self) -> None:
        with pytest.raises(TextError, match="None of the 4 sentences"):
            el.syntax(tiny_model(), SENTENCES, max_tokens=3)

    @pytest.mark.parametrize("options", [{"limit": 0}, {"min_count": 0}])
    def test_numbers_below_one_are_refused(self, options: dict[str, int]) -> None:
        with pytest.raises(TextError, match="or more"):
            el.syntax(tiny_model(), SENTENCES, **options)

    def test_no_sentences_are_refused(self) -> None:
        with pytest.raises(TextError, match="empty treebank"):
            el.syntax(tiny_model(), [])


def test_a_limit_chooses_the_same_sentences_for_the_same_seed() -> None:
    counts = [el.syntax(tiny_model(), SENTENCES * 5, limit=7, seed=seed).facts.counts["words"] for seed in (1, 1, 2, 3, 4)]
    assert counts[0] == counts[1]
    assert len(set(counts)) > 1


def test_examples_hold_the_attention_of_the_best_head(minilm: el.Model) -> None:
    import json

    run = el.syntax(minilm, sample_treebank(40), min_count=20)
    for row in run.table("syntax_examples").rows():
        words, weights = json.loads(str(row["words"])), np.array(json.loads(str(row["weights"])))
        trace = minilm.trace(words=words, keep={"weights"}).words()
        stack = trace.stacks["encoder"]
        kept = [i for i, special in enumerate(stack.query_text.special) if not special]
        expected = stack.weights_by_layer[int(row["layer"])][int(row["head"])][np.ix_(kept, kept)]
        np.testing.assert_allclose(weights, expected, atol=6e-4)
        assert all(gold_of_arc in range(-1, len(words)) for arc in json.loads(str(row["gold"])) for gold_of_arc in arc)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ja_gsd-dev.conllu.gz", "ko_gsd-dev.conllu.gz"])
def test_japanese_and_korean_treebanks_keep_every_word_and_are_read_as_they_are_written(name: str, minilm: el.Model) -> None:
    from eyeline.measure.statistics.word_maps import read_words

    sentences = [sentence for sentence in read_treebank(data_file(name)) if len(sentence) < 25][:40]
    texts = read_words(minilm, [sentence.words for sentence in sentences], [sentence.spaces for sentence in sentences])
    assert len(texts.kept) >= 38
    for example, index in zip(texts.examples, texts.kept, strict=True):
        assert example.source.word_texts == sentences[index].words
        assert {word for word in example.source.words if word is not None} == set(range(len(sentences[index])))
    if name.startswith("ja"):  # a space is put only where a token would cross the border between two words
        assert sum(" " not in example.source.sources[0] for example in texts.examples) > len(texts.examples) / 2
    run = el.syntax(minilm, Treebank.of(sentences), min_count=10)
    assert len(run.table("syntax")) > 3
