"""Small runs of every kind, as the pages and the command line write them: made once, shared by the tests that look at them."""

from __future__ import annotations

import copy
from pathlib import Path

from torch import nn

import eyeline as el
from eyeline.measure.space.result import FILE
from tests.measure.space.short_fits import short_fits

TEXTS = el.corpora.sample_text().split("\n\n")[:3]


def grammar_run(model: el.Model, folder: Path) -> el.Run:
    """Tables 1, 2 and 3 of a few made-up sentences, in one folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    file = folder.parent / "small.conllu"
    el.treebanks.write_sample(file, 40)
    bank = el.treebanks.read_treebank(file)
    runs = [el.syntax(model, bank, min_count=10), el.coreference(model, file), el.probe(model, bank, seeds=1, epochs=3)]
    run = runs[0].join(*runs[1:])
    el.runs.write_report(run.save(folder))
    file.unlink()
    return run


def save_shallow(model: el.Model, folder: Path) -> Path:
    """A model with the first two layers of another."""
    cut = copy.deepcopy(model.hf)
    layers = next(part for part in cut.modules() if isinstance(part, nn.ModuleList))
    for _ in range(len(layers) - 2):
        del layers[-1]
    cut.config.num_hidden_layers = 2
    cut.save_pretrained(folder)
    assert model.tokenizer is not None
    model.tokenizer.save_pretrained(folder)
    return folder


def space_run(model: el.Model, folder: Path) -> el.Space:
    """A space of three paragraphs."""
    with short_fits():
        space = el.space(model, TEXTS)
    el.runs.write_report(space.run().save(folder))
    space.save(folder / FILE)
    return space


def compare_run(model: el.Model, folder: Path) -> None:
    """A model beside itself."""
    with short_fits():
        compared = el.compare(model, model, TEXTS)
    el.runs.write_report(compared.save(folder))
