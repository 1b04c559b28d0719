"""`eyeline probe` as a user meets it, on made-up sentences."""

from __future__ import annotations

import pytest

import eyeline as el
from eyeline.show.cli.probes import _word


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    path = tmp_path_factory.mktemp("bank") / "sample.conllu"
    el.treebanks.write_sample(path, 60, seed=2)
    return path


@pytest.mark.slow
def test_one_treebank_gives_tables_figures_and_a_report(eyeline, treebank, tmp_path):
    done = eyeline("probe", treebank, "--layers", "2,4", "--seeds", 1, "--epochs", 4, "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "attention + model embeddings" in done.stdout
    assert "Trained on 30 sentences of one half of sample.conllu" in done.stdout
    assert "made up by a program" in done.stdout
    assert f"Report: {tmp_path / 'run' / 'report.html'}\n" in done.stdout  # in one piece, however narrow the window
    run = el.runs.open_run(tmp_path / "run")
    assert set(run.tables) == {"probes", "probes_learning", "probe_weights", "probe_parses"}
    assert sorted({int(layer) for layer in run.table("probe_weights")["layer"]}) == [2, 4]
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    for name in run.tables:
        assert (tmp_path / "run" / "figures" / f"{name}.html").is_file()
        assert f"figure-{name}" in page
    parsed = eyeline("parse", "The cat sat.", "--run", tmp_path / "run", "--pair", "The:cat", "-o", tmp_path / "arcs.html")
    assert parsed.returncode == 0, parsed.stderr
    assert "dependent to" in parsed.stdout
    assert "ROOT" in parsed.stdout
    assert "triangle-down" in (tmp_path / "arcs.html").read_text(encoding="utf-8")
    twice = eyeline("parse", "The cat and the cat.", "--run", tmp_path / "run", "--pair", "cat:the")
    assert twice.returncode == 2
    assert "Give the index of a word" in twice.stderr
    again = eyeline("probe", treebank, "-o", tmp_path / "run")
    assert again.returncode == 2
    assert "--overwrite" in again.stderr


def test_vectors_that_are_not_there_and_a_treebank_trained_on_itself_are_refused_in_words(eyeline, treebank, tmp_path):
    missing = eyeline("probe", treebank, "--glove", tmp_path / "nowhere", "-o", tmp_path / "a")
    assert missing.returncode == 2
    assert "no such folder or file" in missing.stderr
    itself = eyeline("probe", treebank, "--train", treebank, "-o", tmp_path / "b")
    assert itself.returncode == 2
    assert "the same" in itself.stderr
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(("given", "word"), [("cat", "cat"), ("4", 4), ("9" * 5000, "9" * 5000), ("²", "²"), ("", "")])
def test_a_word_of_a_pair_is_an_index_only_where_it_can_be_one(given, word):
    assert _word(given) == word
