"""What the lesson says of whole corpora is what the product measures: a part of it, measured again."""

from __future__ import annotations

import numpy as np
import pytest

import eyeline as el
from eyeline.heads import HeadRef
from eyeline.measure.heads.profile import profiles
from eyeline.measure.heads.roles import has
from eyeline.show.app.learn.lesson import measured


def role(name):
    return next(entry for entry in measured().roles if entry.role.name == name)


@pytest.mark.slow
def test_the_grammar_of_one_layer_measured_again(e5_small_mlm):
    layer = HeadRef.parse(role("subject").head).layer
    run = el.syntax(e5_small_mlm, el.treebanks.sample_treebank(measured().sentences), min_count=20, layers=[layer])
    again = {str(head): profile for head, profile in ((profile.head, profile) for profile in profiles(run))}
    for entry in measured().roles:
        if entry.role.family == "grammar" and entry.head in again:
            relation = next(each for each in again[entry.head].relations if each.relation == entry.role.detail)
            assert relation.accuracy == pytest.approx(entry.role.value, abs=0.5)


def test_the_shares_of_some_paragraphs_are_near_those_of_all(e5_small_mlm):
    run = el.analyse(e5_small_mlm, el.corpora.sample_text().split("\n\n")[:6], [el.statistics.AverageAttention()])
    for name in ("previous", "next", "cls"):
        part = run.table("average_attention").where(target=name)
        best = int(np.nanargmax(part["mean"].astype(float)))
        assert str(HeadRef("", int(part["layer"][best]), int(part["head"][best]))) == role(name).head
        assert float(part["mean"][best]) == pytest.approx(role(name).role.value, abs=0.05)


def test_every_role_of_the_lesson_is_there():
    roles = "previous next cls sep noun_phrase subject object dependency antecedent"
    assert [entry.role.name for entry in measured().roles] == roles.split()


def test_the_lesson_names_a_head_for_a_role_only_above_the_threshold_of_every_page():
    for entry in measured().roles:
        assert has(entry.role.name, entry.role.strength)
