"""Probing runs: what is scored, what is counted, what is refused."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
import torch

import eyeline as el
from eyeline.errors import ModelError, TextError
from eyeline.heads import ARC_DIRECTIONS
from eyeline.measure.probes.features import Maps, heads_of, model_vectors, read_gold, record_maps
from eyeline.measure.probes.figures import training_notes
from eyeline.measure.probes.training import (
    GAIN,
    PATIENCE,
    AttentionAndWords,
    ProbeData,
    Training,
    count,
    evaluate,
    held_out_sentences,
    mean_score,
    train,
)
from eyeline.measure.runs.progress import Progress
from eyeline.words import Words
from tests.laws.statistics import new_tiny_model, tiny_model
from tests.models.families import BY_NAME, tiny_tokenizer

#: Sentences over the tiny tokeniser's words; each ends in punctuation.
SENTENCES = [
    el.treebanks.Sentence(f"s{i}", words, governors, relations)
    for i, (words, governors, relations) in enumerate(
        [
            (("the", "cat", "sat", "."), (1, 2, -1, 2), ("det", "nsubj", "root", "punct")),
            (("a", "dog", "ran", "home", "!"), (1, 2, -1, 2, 2), ("det", "nsubj", "root", "advmod", "punct")),
            (("it", "purred", "?"), (1, -1, 1), ("nsubj", "root", "punct")),
            (("sat", "on", "the", "mat", ","), (-1, 3, 3, 0, 0), ("root", "case", "det", "obl", "punct")),
            (("the", "dog", "and", "cat", "ran"), (1, 4, 3, 1, -1), ("det", "nsubj", "cc", "conj", "root")),
            (("a", "very", "long", "way"), (3, 2, 3, -1), ("det", "advmod", "amod", "root")),
        ]
    )
]
TRAIN, TEST = el.treebanks.Treebank.of(SENTENCES[:4] * 5, "train"), el.treebanks.Treebank.of(SENTENCES[2:], "test")


@pytest.fixture(scope="module")
def run() -> el.Run:
    return el.probe(tiny_model(), TEST, train=TRAIN, seeds=2, epochs=8)


def test_a_run_has_a_row_for_every_probe_and_says_where_its_words_come_from(run):
    table = run.table("probes")
    assert list(table.columns)[:6] == ["probe", "uas", "uas_with_punctuation", "low", "high", "n"]
    assert table.columns["probe"] == [
        "right-branching",
        "distances + model embeddings",
        "attention-only",
        "attention + model embeddings",
        "attention + model embeddings, random init",
    ]
    scored = sum(relation != "punct" for sentence in TEST for relation in sentence.deprels)
    assert set(table.columns["n"]) == {scored}
    for row in table.rows():
        assert 0 <= row["low"] <= row["uas"] <= row["high"] <= 100


def test_right_branching_is_counted_by_hand_with_and_without_punctuation(run):
    right = [
        (governor == index + 1 if index + 1 < len(s) else governor == -1, relation != "punct")
        for s in TEST
        for index, (governor, relation) in enumerate(zip(s.governors, s.deprels, strict=True))
    ]
    row = next(run.table("probes").rows())
    assert row["uas"] == pytest.approx(100 * np.mean([ok for ok, scored in right if scored]))
    assert row["uas_with_punctuation"] == pytest.approx(100 * np.mean([ok for ok, _ in right]))
    assert row["uas"] != row["uas_with_punctuation"]


def test_punctuation_is_left_out_of_the_score_alone():
    gold = read_gold(tiny_model(), SENTENCES[:1], "test", 128)
    wrong_at_the_stop = torch.tensor([2, 3, 0, 1])
    score = count(gold, [wrong_at_the_stop])
    assert (score.uas, score.uas_with_punctuation) == (100.0, 75.0)
    half = mean_score([score, count(gold, [torch.tensor([0, 3, 0, 3])])])
    assert half.uas == pytest.approx(100 * 5 / 6)


def test_the_same_seed_gives_the_same_run_and_another_seed_another(run):
    again, other = (el.probe(tiny_model(), TEST, train=TRAIN, seeds=2, epochs=8, seed=seed) for seed in (0, 1))
    for name in run.tables:
        assert again.table(name).to_csv() == run.table(name).to_csv()
    assert other.table("probe_weights").to_csv() != run.table("probe_weights").to_csv()


def test_the_learning_curve_of_every_seed_keeps_its_best_epoch_and_the_table_says_how_long_it_took(run):
    learning, table = run.table("probes_learning"), run.table("probes")
    for row in list(table.rows())[1:]:
        kept = []
        for seed in (0, 1):
            line = learning.where(probe=row["probe"], seed=seed)
            epochs = [(int(e), float(loss)) for e, loss in zip(line["epoch"], line["held_out_loss"], strict=True) if e == int(e)]
            best = min(epochs, key=lambda epoch: epoch[1])[0]
            assert line.where(kept=1)["epoch"].tolist() == [best]
            kept.append(best)
        assert row["epochs"] == pytest.approx(np.mean(kept))


def test_the_weights_name_every_head_twice(run):
    weights = run.table("probe_weights")
    first = weights.where(probe="attention-only")
    assert len({(row["layer"], row["head"], row["direction"]) for row in first.rows()}) == len(first) == 2 * 3 * 4
    assert set(weights.columns["probe"]) == {"attention-only", "attention + model embeddings"}


def test_maps_are_the_word_level_maps_of_a_trace_with_special_tokens_behind():
    model = tiny_model()
    gold = read_gold(model, SENTENCES, "test", 128)
    heads = heads_of(model, [0, 2])
    maps, in_a_file = Maps(gold, heads), Maps(gold, heads, in_memory=0)
    for item in (maps, in_a_file):
        record_maps(model, [(gold, item)])
    for position, sentence in enumerate(SENTENCES):
        result = model.trace(words=list(sentence.words)).words().weights[[0, 2]]  # [layer, head, unit, unit]
        order = [*range(1, len(sentence) + 1), 0, len(sentence) + 1]
        expected = result[:, :, order][:, :, :, order].reshape(-1, len(order), len(order)).transpose(1, 2, 0)
        assert np.abs(maps[position].numpy() - expected).max() < 1e-3  # half precision
        assert torch.equal(maps[position], in_a_file[position])


def data_of(model: el.Model) -> ProbeData:
    gold = read_gold(model, TRAIN.sentences, "training", 128)
    heads = heads_of(model, None)
    part = ProbeData("train", gold, Maps(gold, heads), model_vectors(model, {"train": gold, "test": gold}))
    record_maps(model, [(gold, part.maps)])
    return part


def both(part: ProbeData, random: torch.Generator) -> AttentionAndWords:
    return AttentionAndWords(len(part.maps.heads), part.gold.n_special, part.vectors.n_dims, random)


def test_training_finds_the_governors_of_the_sentences_it_has_seen():
    part, random = data_of(tiny_model()), torch.Generator().manual_seed(0)
    scorer = both(part, random)
    before = evaluate(scorer, part).uas
    train(scorer, part, epochs=20, generator=random)
    assert evaluate(scorer, part).uas > max(before, 90)


def trained(part: ProbeData, **options: object) -> tuple[AttentionAndWords, Training]:
    random = torch.Generator().manual_seed(0)
    scorer = both(part, random)
    return scorer, train(scorer, part, generator=random, **options)


def with_wrong_answers(part: ProbeData, sentences: list[int]) -> ProbeData:
    governors = list(part.gold.governors)
    for index in sentences:
        governors[index] = torch.zeros_like(governors[index])
    return dataclasses.replace(part, gold=dataclasses.replace(part.gold, governors=tuple(governors)))


def test_a_training_ends_where_held_out_sentences_gain_nothing_and_has_the_weights_of_its_best_epoch():
    part = data_of(tiny_model())
    held_out = held_out_sentences(len(part), seed=0)
    part = with_wrong_answers(part, held_out)  # what is learnt soon makes them worse
    scorer, training = trained(part, epochs=60, held_out=held_out)
    losses = {point.epoch: point.held_out_loss for point in training.checkpoints if point.epoch >= 1}
    assert training.converged
    assert max(losses) < 60
    assert training.kept == min(losses, key=lambda epoch: losses[epoch])
    last = list(losses.values())
    assert min(last[-PATIENCE:]) >= (1 - GAIN) * min(last[:-PATIENCE])
    shorter, _ = trained(part, epochs=int(training.kept), held_out=held_out)
    for name, weights in shorter.state_dict().items():
        assert torch.equal(weights, scorer.state_dict()[name]), name


def test_sentences_that_are_held_out_are_not_learnt_from():
    part = data_of(tiny_model())
    held_out = held_out_sentences(len(part), seed=0)
    scorer, _ = trained(part, epochs=1, held_out=held_out)
    other, _ = trained(with_wrong_answers(part, held_out), epochs=1, held_out=held_out)
    for name, weights in scorer.state_dict().items():
        assert torch.equal(weights, other.state_dict()[name]), name


def test_a_training_that_the_limit_ends_is_named_and_progress_reaches_the_end_of_every_step():
    seen: list[Progress] = []
    short = el.probe(tiny_model(), TEST, train=TRAIN, seeds=1, epochs=2, progress=seen.append)
    assert set(short.table("probes")["converged"][1:].astype(float)) == {0.0}
    assert any(notice.startswith("Not converged after 2 epochs") for notice in training_notes(short))
    shares = [progress.share for progress in seen]
    assert shares == sorted(shares)
    assert {progress.step for progress in seen if progress.done == progress.of} == {progress.step for progress in seen}


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_what_must_be_known_of_a_training_is_told_in_the_language_of_the_page(run, language):
    notes = training_notes(run, Words(language))
    assert len(notes) == len(training_notes(run)) >= 3
    kept = re.compile(r"train|ROOT")  # the name of the treebank, and of the root
    assert [note for note in notes if re.search(r"[A-Za-z]{3,}", kept.sub("", note))] == []


def test_made_up_sentences_are_known_as_such_and_the_paper_is_not_shown_beside_them(tmp_path):
    el.treebanks.write_sample(tmp_path / "bank.conllu", 12)
    bank = el.treebanks.read_treebank(tmp_path / "bank.conllu")
    assert bank.synthetic
    assert all(half.synthetic for half in bank.halves())
    assert not TEST.synthetic
    for corpus, shown in ((bank, False), (TEST, True)):
        made_up = dataclasses.replace(TEST, synthetic=corpus.synthetic)
        drawing = el.figure(el.probe(tiny_model(), made_up, train=TRAIN, seeds=1, epochs=1), "probes")
        assert any("Clark" in (trace.name or "") for trace in drawing.data) == shown
        assert any("Made-up" in (note.text or "") for note in drawing.layout.annotations) != shown


@pytest.mark.parametrize("name", ["gpt2", "t5", "mpnet"])
def test_a_decoder_an_encoder_decoder_and_a_model_of_weights_alone_can_be_probed(name):
    family = BY_NAME[name]
    model = el.wrap(family.model(), tiny_tokenizer(), name=name)
    run = el.probe(model, TEST, train=TRAIN, seeds=1, epochs=2)
    assert len(run.table("probes")) == 5
    assert not np.isnan(run.table("probes")["uas"].astype(float)).any()


def test_a_model_that_adds_no_special_tokens_gives_root_a_constant_and_says_so():
    tokenizer = tiny_tokenizer()
    tokenizer.backend_tokenizer.post_processor = None
    model = el.wrap(BY_NAME["gpt2"].model(), tokenizer, name="bare")
    gold = read_gold(model, SENTENCES, "test", 128)
    assert gold.n_special == 0
    run = el.probe(model, TEST, train=TRAIN, seeds=1, epochs=2, layers=[1])
    assert any("a learned constant" in notice for notice in training_notes(run))


def test_what_is_left_out_and_what_was_seen_in_training_is_counted():
    long = el.treebanks.Sentence("long", ("the",) * 60, (-1, *range(59)), ("root", *["dep"] * 59))
    run = el.probe(tiny_model(), el.treebanks.Treebank.of([*TEST, long]), train=TRAIN, seeds=1, epochs=2)
    assert (run.facts.counts["given"], run.facts.counts["sentences"], run.facts.counts["too_long"]) == (5, 4, 1)
    assert "Of 4 sentences to test on, 2 also occur in the training, word for word" in training_notes(run)[0]


def test_what_is_no_tree_or_too_long_is_counted_and_named_also_where_one_treebank_is_halved():
    whole = dataclasses.replace(el.treebanks.Treebank.of(SENTENCES * 2, "whole"), skipped={"odd": "two roots, words 1 and 2."})
    outcome = el.probe(tiny_model(), whole, seeds=1, epochs=2, max_tokens=6)
    counts, notes = outcome.facts.counts, outcome.facts.dropped
    assert (counts["given"], counts["no_tree"]) == (7, 1)
    assert notes["no_tree"] == {"odd": "two roots, words 1 and 2."}
    assert len(notes["too_long"]) > 0
    assert all(why.endswith("tokens, more than 6.") for why in notes["too_long"].values())


def test_nothing_to_train_on_the_same_treebank_twice_and_senseless_numbers_are_refused():
    model = tiny_model()
    long = el.treebanks.Treebank.of([el.treebanks.Sentence("long", ("the",) * 60, (-1, *range(59)), ("root", *["dep"] * 59))])
    with pytest.raises(TextError, match="None of the 1 training sentences can be used"):
        el.probe(model, TEST, train=long)
    with pytest.raises(TextError, match="empty treebank"):
        el.probe(model, TEST, train=[])
    with pytest.raises(TextError, match="are the same"):
        el.probe(model, TEST, train=list(TEST))
    for option in ("seeds", "epochs", "limit", "max_tokens"):
        with pytest.raises(TextError, match=f"{option}=0"):
            el.probe(model, TEST, train=TRAIN, **{option: 0})
    with pytest.raises(TextError, match="seed=-1"):
        el.probe(model, TEST, train=TRAIN, seed=-1)


def test_attention_that_is_not_a_number_is_named_by_layer_and_sentence():
    model = new_tiny_model()
    with torch.no_grad():
        model.hf.bert.encoder.layer[1].attention.self.query.bias.fill_(float("nan"))
    with pytest.raises(ModelError, match=r"not finite \(nan\), first in layer 1"):
        el.probe(model, TEST, train=TRAIN)


def test_without_a_treebank_to_train_on_one_half_is_for_training():
    whole = el.treebanks.Treebank.of(SENTENCES * 2, "whole")
    learnt, scored = whole.halves(seed=3)
    options = {"seeds": 1, "epochs": 2, "seed": 3}
    outcome, expected = el.probe(tiny_model(), whole, **options), el.probe(tiny_model(), scored, train=learnt, **options)
    assert outcome.table("probes").to_csv() == expected.table("probes").to_csv()
    assert outcome.facts.train.name == "one half of whole"


def test_heads_and_directions_are_named_as_in_the_table_of_single_heads(run):
    assert set(run.table("probe_weights").columns["direction"]) == set(ARC_DIRECTIONS)


def test_halves_hold_every_sentence_once_and_differ():
    bank = el.treebanks.Treebank.of([dataclasses.replace(SENTENCES[i % 6], id=str(i)) for i in range(9)], "nine")
    first, second = bank.halves(seed=3)
    assert sorted(s.id for half in (first, second) for s in half) == [str(i) for i in range(9)]
    assert (len(first), len(second)) == (4, 5)
    assert [s.id for s in bank.halves(seed=3)[0]] == [s.id for s in first] != [s.id for s in bank.halves(seed=4)[0]]
    with pytest.raises(TextError, match="one sentence"):
        el.treebanks.Treebank.of(SENTENCES[:1]).halves()
