"""`eyeline space` and `eyeline compare` as a user meets them."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest

import eyeline as el
from eyeline.measure.space.result import summarise_fidelity
from eyeline.runs import Table
from eyeline.show.cli.space import _summary
from tests.tiers import slow_but

pytestmark = pytest.mark.usefixtures("quick_pictures")

PARAGRAPHS = [
    "The cat sat on the mat because it was tired. It purred all day.",
    "Marie Curie won the prize in 1903. She shared it with her husband Pierre.",
    "The lawyer questioned the witness because he was unsure.",
    "Rain fell on the roof, and nobody in the house slept well.",
]
COLUMNS = (
    "layer,head,scale,shift,correlation_before,correlation_after,top1_full,top5_full,top1_projected,top5_projected,rank_correlation,entropy,kl,"
    "top1_held_out,top5_held_out,rank_held_out"
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "some.txt"
    path.write_text("\n".join(PARAGRAPHS) + "\n", encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_corpus_gives_a_table_figures_a_report_and_pictures(eyeline, corpus, tmp_path, browser):
    run = tmp_path / "run"
    done = eyeline("space", corpus, "--model", "minilm", "-o", run)
    assert done.returncode == 0, done.stderr
    assert re.search(r"the most attended key is the nearest for \d+\.\d % of queries on unseen text", done.stdout)
    assert "together with 40 built-in paragraphs" in " ".join(done.stdout.split())
    with (run / "tables" / "space.csv").open(encoding="utf-8") as file:
        assert file.readline().strip() == COLUMNS
        rows = list(csv.reader(file))
    assert len(rows) == 6 * 12
    page = (run / "report.html").read_text(encoding="utf-8")
    assert 'href="space.html"' in page
    for name in ("space", "space_pairs"):
        assert f"figure-{name}" in page
        assert (run / "figures" / f"{name}.html").is_file()
    space = el.runs.open_space(run)
    placed = space.transform(el.load("minilm").trace("A new sentence about a cat."))
    assert np.isfinite(placed.queries).all()
    assert space.search(2, "key", layer=2, head=3, text=0)
    opened = browser.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.goto((run / "space.html").as_uri())
    opened.wait_for_selector("#view[data-drawn]", state="attached")
    assert len(opened.evaluate("document.getElementById('view').eyeline.scene().thumbnails")) == 72
    opened.close()
    assert errors == []
    again = eyeline("space", corpus, "-o", run)
    assert again.returncode == 2
    assert "--overwrite" in again.stderr


OPTIONS = {
    "freed": ("--project", "freed", "--dims", "3"),
    "theirs": ("--project", "pca", "--gauge", "attentionviz", "--shared-scale"),
    "lifted": ("--project", "pca", "--gauge", "lifted"),
    "umap": ("--project", "umap", "--gauge", "none", "--heads", "0,3"),
    "tsne": ("--project", "tsne", "--heads", "0,3"),
    "values": ("--of", "values"),
}


@pytest.mark.parametrize("name", slow_but(["values"], OPTIONS))
def test_every_option_makes_its_space(eyeline, corpus, tmp_path, name):
    done = eyeline("space", corpus, "--layers", "1", *OPTIONS[name], "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    space = el.runs.open_space(tmp_path)
    assert space.dims == (3 if name == "freed" else 2)
    assert space.only.keys.shape[-1] == space.dims
    assert space.of == ("values" if name == "values" else "queries-keys")
    assert (tmp_path / "space.html").stat().st_size > 100_000
    if name == "theirs":
        assert len(np.unique(space.only.facts["scale"])) == 1
    if name == "lifted":
        assert space.only.facts["top1_full"].min() > 0.99


@pytest.mark.slow
def test_a_treebank_brings_parts_of_speech(eyeline, tmp_path):
    el.treebanks.write_sample(tmp_path / "sample.conllu", 8, seed=2)
    done = eyeline("space", tmp_path / "sample.conllu", "--layers", "0", "--no-vectors", "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    space = el.runs.open_space(tmp_path / "run")
    assert "NOUN" in space.only.key_tokens.tag
    assert space.only.vectors is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--project", "tnse"), "Did you mean tsne"),
        (("--dims", "4"), "Choices: 2, 3"),
        (("--project", "tsne", "--limit", "1"), "too few for tsne"),
        (("--model", "nowhere/at-all"), "nowhere/at-all"),
        (("--layers", "9", "--model", "minilm"), "0…5"),
        (("--seed", "-1"), "A seed of -1"),
        (("--shared-scale",), "Give --gauge attentionviz"),
        (("--of", "values", "--gauge", "lifted"), "leave it out"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_written(eyeline, corpus, tmp_path, given, words):
    done = eyeline("space", corpus, *given, "-o", tmp_path / "run")
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_two_models_are_compared_and_shown_side_by_side(eyeline, corpus, tmp_path, browser):
    run = tmp_path / "run"
    done = eyeline("compare", corpus, "--model", "minilm", "--with", "minilm", "--layers", "0,5", "-o", run)
    assert done.returncode == 0, done.stderr
    assert "mean 0.0000" in done.stdout
    with (run / "tables" / "compare.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {float(row["js"]) for row in rows} == {0.0}
    assert 'href="compare.html"' in (run / "report.html").read_text(encoding="utf-8")
    opened = browser.new_page()
    opened.goto((run / "compare.html").as_uri())
    opened.wait_for_selector("#view[data-drawn]", state="attached")
    assert len(opened.evaluate("document.getElementById('view').eyeline.scene().thumbnails")) == 2 * 24
    opened.close()
    without = eyeline("compare", corpus, "--model", "minilm", "--with", "minilm", "--layers", "0", "--no-spaces", "--overwrite", "-o", run)
    assert without.returncode == 0, without.stderr
    assert not (run / "compare.html").exists()
    assert 'href="compare.html"' not in (run / "report.html").read_text(encoding="utf-8")


def test_models_that_have_nothing_in_common_are_refused(eyeline, corpus, tmp_path):
    done = eyeline("compare", corpus, "--with", "smollm2", "-o", tmp_path / "run")
    assert done.returncode == 2
    assert "none in common" in done.stderr


def test_the_help_names_the_defaults(eyeline):
    message = " ".join(eyeline("space", "--help").stdout.replace("│", " ").split())
    assert "fitted; for values and shared pca" in message
    assert "lifted for fitted and freed, ring for shared" in message


def test_a_space_of_dead_heads_is_summarised_in_words():
    assert "every head attends to all keys alike" in _summary(summarise_fidelity(Table({"top1_held_out": [float("nan")] * 4})), "texts")


def test_one_space_for_all_heads_and_layers(eyeline, corpus, tmp_path):
    done = eyeline("space", str(corpus), "--model", "minilm", "--shared", "--layers", "1,4", "--heads", "0,3", "-o", str(tmp_path / "run"))
    assert "It is exact" in " ".join(done.stdout.split())
    space = el.open(tmp_path / "run")
    assert (space.of, space.gauge) == ("shared", "ring")
    table = el.runs.open_run(tmp_path / "run").table("space_shared")
    assert table["score_error"].astype(float).max() < 1e-4
    refused = eyeline("space", corpus, "--shared", "--of", "values", "-o", tmp_path / "other")
    assert refused.returncode == 2


@pytest.mark.slow
def test_pictures_of_a_space_have_html_sheets_too(eyeline, corpus, tmp_path):
    options = ("--project", "pca", "--layers", "2", "--heads", "0", "--pictures", str(tmp_path / "pictures"), "--red", "it → cat")
    done = eyeline("space", str(corpus), "--model", "minilm", *options, "-o", str(tmp_path / "run"))
    assert "worse than none" in done.stdout
    assert (tmp_path / "pictures" / "layer-2.html").is_file()
    assert (tmp_path / "pictures" / "L2-H0.pdf").is_file()


def test_a_red_pair_that_no_text_holds_is_named_before_anything_is_computed(eyeline, corpus, tmp_path):
    for command, options in (("space", ()), ("compare", ("--untrained",))):
        done = eyeline(command, corpus, "--model", "minilm", *options, "--layers", "2", "--red", "it:zebra", "-o", tmp_path / command)
        assert done.returncode == 2
        assert "No text holds the pair 'it → zebra'" in done.stderr
        assert not (tmp_path / command).exists()
    wrong = eyeline("space", corpus, "--model", "minilm", "--red", "zebra", "-o", tmp_path / "run")
    assert "Write word → word" in " ".join(wrong.stderr.split())
