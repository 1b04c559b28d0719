"""The roles that come with the package are those that the analyses find."""

from __future__ import annotations

import numpy as np
import pytest

import eyeline as el
from eyeline.heads import HeadRef
from eyeline.measure.heads.profile import profiles
from eyeline.measure.heads.sample import sample_models, sample_roles
from eyeline.words import Words


@pytest.mark.parametrize("name", sample_models())
def test_every_head_has_a_role_and_a_cell(name: str) -> None:
    measured = sample_roles(name)
    assert measured is not None
    grid = measured.grid(Words())
    assert np.isfinite(grid.values).sum() == len(measured.heads)
    for head, roles in measured.heads.items():
        shown = grid.names[int(grid.values[list(grid.layers or ()).index(head.layer), head.head])]
        assert shown == (Words()(f"role.name.{roles[0].name}"), roles[0].name)


def test_the_neighbours_and_sinks_of_the_default_model_measured_again_on_a_part_of_the_texts(e5_small_mlm: el.Model) -> None:
    """The other roles need the whole treebank: test_measured.py measures the grammar of a layer again."""
    measured = sample_roles("e5-small-mlm")
    assert measured is not None
    run = el.analyse(e5_small_mlm, el.corpora.sample_text().split("\n\n")[:6], [el.statistics.AverageAttention(), el.statistics.Entropy()])
    again = {profile.head: {role.name: role.value for role in profile.roles} for profile in profiles(run)}
    kept = {head: {role.name: role.value for role in roles} for head, roles in measured.heads.items()}
    clear = [(head, name) for head, roles in kept.items() for name, value in roles.items() if name in ("previous", "next") and value > 0.5]
    assert HeadRef("", 2, 2) in [head for head, _ in clear]
    for head, name in clear:
        assert again[head][name] == pytest.approx(kept[head][name], abs=0.07)


def test_a_model_that_was_not_measured_has_no_sample() -> None:
    assert sample_roles("somebody/else") is None
