"""Figures of the effects of heads, and what else is made of them: cards, the command's print."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers as t
from typer.testing import CliRunner

import eyeline as el
from eyeline.figures import available
from eyeline.measure.causes.result import correlation
from eyeline.measure.heads.profile import effects, profile_of
from eyeline.measure.runs.figure import Style
from eyeline.show.cli.main import app
from eyeline.words import Words
from tests.models.families import VOCAB, tiny_tokenizer

TEXTS = ["the cat sat on the mat .", "she opened the door", "a dog ran ."]


def decoder(folder=None) -> el.Model:
    torch.manual_seed(0)
    config = t.LlamaConfig(
        vocab_size=VOCAB, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, max_position_embeddings=64,
    )  # fmt: skip
    hf = t.LlamaForCausalLM._from_config(config, attn_implementation="eager").eval()
    if folder is not None:
        hf.save_pretrained(folder)
        tiny_tokenizer().save_pretrained(folder)
    return el.wrap(hf, tiny_tokenizer(), name="decoder")


@pytest.fixture(scope="module")
def run():
    return el.causes(decoder(), TEXTS)


def test_the_grid_shows_the_numbers_of_the_table_on_a_two_sided_scale(run):
    loss = el.figure(run, "causes").data[0]
    np.testing.assert_allclose(loss.z.ravel(), run.table("causes")["loss_change"].astype(float), atol=1e-4)
    assert loss.zmin == -loss.zmax < 0


def test_a_point_for_each_head_stands_at_its_entropy_and_its_effect(run):
    points = el.figure(run, "causes_sharpness").data[0]
    np.testing.assert_allclose(np.array(points.x, float), run.table("entropy")["all"].astype(float))
    np.testing.assert_allclose(np.array(points.y, float), run.table("causes")["loss_change"].astype(float))
    assert list(points.text) == ["L0·H0", "L0·H1", "L1·H0", "L1·H1"]
    value = correlation(run, "|loss_change|", "entropy")
    assert f"{value:+.2f}" in el.figure(run, "causes_sharpness").layout.title.text


def test_the_pruning_curve_has_a_line_for_each_order_in_both_panels(run):
    lines = el.figure(run, "pruning").data
    assert len(lines) == 6
    assert all(line.x[0] == 0 and line.x[-1] == 100 for line in lines)
    assert lines[1].y[0] == 100


@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_every_figure_is_drawn_in_every_language(run, language):
    for name in available(run):
        assert el.figure(run, name, Style(Words(language), dark=True)).data


def test_the_card_of_a_head_says_what_its_ablation_does(run):
    card = profile_of(run, el.HeadRef("", 1, 0))
    row = run.table("causes").where(layer=1, head=0)
    assert card.effect is not None
    assert card.effect.head == el.HeadRef("", 1, 0)
    assert card.effect.loss_change == pytest.approx(float(row["loss_change"][0]))


def test_effects_are_ordered_by_how_much_the_loss_rises(run):
    changes = [effect.loss_change for effect in effects(run)]
    assert changes == sorted(changes, reverse=True)
    assert len(changes) == 4


def test_the_command_writes_the_tables_and_prints_the_strongest_heads(tmp_path):
    decoder(tmp_path / "model")
    (tmp_path / "corpus.txt").write_text("\n".join(TEXTS))
    arguments = ["causes", str(tmp_path / "corpus.txt"), "--model", str(tmp_path / "model"), "-o", str(tmp_path / "run")]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "of 4 heads" in done.output
    header = (tmp_path / "run" / "tables" / "causes.csv").read_text().splitlines()[0]
    assert header == "layer,head,loss_change,answer_change,gradient,attribution,loss_change_error"
    opened = el.open(tmp_path / "run")
    assert len(opened.table("pruning")) > 3
    assert "What each head does" in (tmp_path / "run" / "report.html").read_text()


def test_a_model_without_a_head_is_refused_before_anything_is_written(tmp_path):
    torch.manual_seed(0)
    config = t.BertConfig(vocab_size=VOCAB, hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2)
    t.BertModel._from_config(config).save_pretrained(tmp_path / "model")
    tiny_tokenizer().save_pretrained(tmp_path / "model")
    (tmp_path / "corpus.txt").write_text("\n".join(TEXTS))
    arguments = ["causes", str(tmp_path / "corpus.txt"), "--model", str(tmp_path / "model"), "-o", str(tmp_path / "run")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code != 0
    assert not (tmp_path / "run").exists()
