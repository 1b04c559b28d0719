"""What the lesson says of whole corpora is what the product measures: a part of it, measured again."""

from __future__ import annotations

import numpy as np
import pytest

import eyeline as el
from eyeline.hosts.app.learn.measured import measured
from eyeline.results.head_roles import RELATIONS
from eyeline.sample.text import sample_text
from eyeline.sample.treebank import sample_treebank


def role(name):
    return next(role for role in measured().roles if role.role == name)


@pytest.mark.slow
def test_the_grammar_of_one_layer_measured_again(e5_small):
    layer = role("determiner").layer
    run = el.syntax(e5_small, sample_treebank(measured().sentences), min_count=20, layers=[layer])
    for name, relation in RELATIONS.items():
        if role(name).layer == layer:
            again = run.table("syntax").where(relation=relation)
            assert (int(again["head"][0]), float(again["accuracy"][0])) == (role(name).head, pytest.approx(role(name).value, abs=0.5))


def test_the_shares_of_some_paragraphs_are_near_those_of_all(e5_small):
    run = el.analyse(e5_small, sample_text().split("\n\n")[:6], [el.statistics.AverageAttention()])
    for name, target in (("previous", "previous"), ("next", "next"), ("sink", "special")):
        part = run.table("average_attention").where(target=target)
        best = int(np.nanargmax(part["mean"].astype(float)))
        assert (int(part["layer"][best]), int(part["head"][best])) == (role(name).layer, role(name).head)
        assert float(part["mean"][best]) == pytest.approx(role(name).value, abs=0.05)


def test_every_role_of_the_lesson_is_there():
    roles = "previous next self sink sep punctuation broad determiner object subject possessive antecedent"
    assert [role.role for role in measured().roles] == roles.split()
