"""Trained probes are kept, and answer for sentences of one's own as the slow version of the scorer does."""

from __future__ import annotations

import numpy as np
import pytest

import eyeline as el
from eyeline.errors import ModelError, StorageError, TextError, TraceError
from eyeline.measure.probes.parse import arc_attention, arc_weights
from eyeline.measure.runs.figure import DARK, LIGHT, Style
from eyeline.measure.runs.trained import FILE, TrainedProbes
from tests.laws.statistics import new_tiny_model, tiny_model
from tests.measure.probes.test_run import TEST, TRAIN
from tests.reference import probes as reference

NAMES = ["attention-only", "attention + model embeddings"]


@pytest.fixture(scope="module")
def run() -> el.Run:
    return el.probe(tiny_model(), TEST, train=TRAIN, seeds=2, epochs=2)


def test_the_run_keeps_the_probes_with_attention_but_not_that_of_the_random_network(run, tmp_path):
    assert list(run.probes.parameters) == NAMES
    folder = run.save(tmp_path / "run")
    opened = el.open(folder).probes
    for name in NAMES:
        for key, array in run.probes.parameters[name].items():
            np.testing.assert_array_equal(opened.parameters[name][key], array)
    assert isinstance(el.open(folder / FILE), TrainedProbes)


def test_a_folder_keeps_its_probes_when_a_run_of_another_kind_joins_it(run, tmp_path):
    folder = run.save(tmp_path / "run")
    el.syntax(tiny_model(), TEST, min_count=1).save(folder)
    assert el.open(folder).probes.parameters.keys() == run.probes.parameters.keys()


def test_a_damaged_file_of_probes_is_refused_by_name(run, tmp_path):
    folder = run.save(tmp_path / "run")
    data = bytearray((folder / FILE).read_bytes())
    data[-3] ^= 1
    (folder / FILE).write_bytes(bytes(data))
    with pytest.raises(StorageError, match=FILE):
        el.probes.open_probe(folder, model=tiny_model())


@pytest.mark.parametrize("n_special", [2, 0])
def test_scores_are_those_of_the_slow_version(n_special):
    random = np.random.default_rng(0)
    n, n_heads, n_dims = 4, 3, 5
    maps = random.random((n + n_special, n + n_special, n_heads))
    vectors, root = random.normal(size=(n, n_dims)), random.normal(size=max(1, n_special))
    weights = random.normal(size=(2, n_heads))
    attention = arc_attention(maps, n, root)
    scores = (attention * arc_weights({"weights": weights}, None, n)).sum((2, 3))
    np.testing.assert_allclose(scores, reference.attention_only(maps, n, weights[0], weights[1], root))
    of_candidate, of_dependent = (random.normal(size=(n_dims, 2 * n_heads)) for _ in range(2))
    bias = random.normal(size=2 * n_heads)
    parameters = {"of_candidate": of_candidate, "of_dependent": of_dependent, "bias": bias}
    scores = (attention * arc_weights(parameters, vectors, n)).sum((2, 3))
    u, w = (np.concatenate([of_candidate[:, part].T, of_dependent[:, part].T], 1) for part in (slice(0, n_heads), slice(n_heads, None)))
    slow = reference.attention_and_words(maps, vectors, u, w, bias[:n_heads], bias[n_heads:], root)
    np.testing.assert_allclose(scores, slow)


@pytest.mark.parametrize("name", NAMES)
def test_a_parse_has_a_distribution_a_tree_and_the_weight_of_every_head(run, name):
    probe = el.probes.open_probe(run, name, model=tiny_model())
    parse = probe.parse("the cat sat .")
    assert parse.words == ("the", "cat", "sat", ".")
    np.testing.assert_allclose(parse.probabilities.sum(1), 1)
    assert parse.governors.count(-1) == 1
    weights = parse.pair("the", "cat")
    assert len(weights) == 2 * len(parse.heads)
    assert isinstance(weights[0].head, el.HeadRef)
    np.testing.assert_allclose(sum(item.contribution for item in weights), parse.scores[0, 2], rtol=1e-5, atol=1e-6)
    shares = parse.distribution("the")
    assert list(shares["probability"]) == sorted(shares["probability"], reverse=True)
    assert {"ROOT", "cat"} <= set(shares.columns["governor"])
    best = parse.contributors("cat", 1)[0]
    assert best.contribution == max(item.contribution for item in parse.pair("cat", parse.governors[1]))


def test_a_parse_of_a_test_sentence_finds_what_the_score_of_the_run_counted():
    alone = el.treebanks.Treebank.of(TEST.sentences[:1], "one")
    run = el.probe(tiny_model(), alone, train=TRAIN, seeds=1, epochs=2)
    for name in NAMES:
        parse = el.probes.open_probe(run, name, model=tiny_model()).parse(alone.sentences[0].words)
        right = parse.probabilities.argmax(1) - 1 == np.array(alone.sentences[0].governors)
        row = next(run.table("probes").where(probe=name).rows())
        assert 100 * right.mean() == pytest.approx(float(row["uas_with_punctuation"]))


def test_the_probe_of_another_model_is_refused(run):
    other = new_tiny_model()
    next(other.hf.parameters()).data.add_(1)
    with pytest.raises(ModelError, match="not the model"):
        el.probes.open_probe(run, model=other)


def test_what_is_not_there_is_refused_by_name(run):
    with pytest.raises(TraceError, match="attention-onyl"):
        el.probes.open_probe(run, "attention-onyl", model=tiny_model())
    with pytest.raises(TraceError, match="no trained probes"):
        el.probes.open_probe(el.syntax(tiny_model(), TEST, min_count=1))
    parse = el.probes.open_probe(run, model=tiny_model()).parse("the cat and the dog")
    with pytest.raises(TextError, match="0, 3"):
        parse.pair("the", "dog")
    with pytest.raises(TextError, match="mouse"):
        parse.distribution("mouse")
    with pytest.raises(TextError, match="No word 9"):
        parse.governor(9)


def test_a_parse_is_drawn_with_an_arrowhead_at_every_dependent(run):
    parse = el.probes.open_probe(run, model=tiny_model()).parse("the cat sat .")
    figure = el.probes.draw_parse(parse)
    arrowheads = [trace for trace in figure.data if trace.mode == "markers" and trace.marker.symbol == "triangle-down"]
    assert sum(len(trace.x) for trace in arrowheads) == 4
    assert "·H" in arrowheads[0].text[0]
    assert any(trace.mode == "markers" for trace in el.figure(run, "probe_parses").data)


def test_the_heads_behind_a_pair_stand_under_the_arcs_and_a_menu_has_every_word(run):
    parse = el.probes.open_probe(run, model=tiny_model()).parse("the cat sat .")
    figure = el.probes.draw_parse_heads(parse, ("cat", "sat"))
    grids = [trace for trace in figure.data if trace.type == "heatmap"]
    score = sum(weight.contribution for weight in parse.pair("cat", "sat"))
    assert sum(np.nansum(grid.z) for grid in grids) == pytest.approx(score, abs=0.01)
    labels = [button.label for button in figure.layout.updatemenus[0].buttons]
    assert labels[0] == "sat → cat"
    assert len(set(labels)) == len(labels)
    assert {label.split(" → ")[1] for label in labels} == {"the", "cat", "sat", "."}
    first = next(button for button in figure.layout.updatemenus[0].buttons if button.label.endswith("→ the"))
    assert np.nansum(np.array(first.args[0]["z"], float)) == pytest.approx(parse.scores[0, parse.governors[0] + 1], abs=0.01)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_what_heads_add_has_the_colours_of_all_numbers_of_both_signs(run, theme):
    parse = el.probes.open_probe(run, model=tiny_model()).parse("the cat sat .")
    axis = el.probes.draw_parse_heads(parse, style=Style(dark=theme is DARK)).layout.coloraxis
    assert [tuple(step) for step in axis.colorscale] == list(theme.signed)
    assert axis.cmin == -axis.cmax


@pytest.mark.parametrize("word", [None, 1.5, True, ["cat"]])
def test_a_word_that_is_neither_text_nor_index_is_refused(run, word):
    with pytest.raises(TextError, match="A word given as"):
        el.probes.open_probe(run, model=tiny_model()).parse("the cat sat .").pair(word, 0)


@pytest.mark.parametrize("name", [5, ["x"], "nope"])
def test_a_probe_of_no_such_name_is_refused(run, name):
    with pytest.raises(TraceError, match="No trained probe is named"):
        el.probes.open_probe(run, name, model=tiny_model())
