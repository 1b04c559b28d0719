"""What every head of an embedded model does on the built-in texts, measured beforehand: the app shows it at once. Read without torch."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np

from eyeline.heads import HeadRef
from eyeline.look.views.heads_grid import HeadGrid
from eyeline.measure.heads.roles import NONE, RULES, Role
from eyeline.words import Words


@dataclass(frozen=True)
class SampleRoles:
    """The roles of every head, the first the one that it is coloured by. command: what measured them; sentences: of the treebank."""

    command: str
    sentences: int
    heads: dict[HeadRef, tuple[Role, ...]]

    def grid(self, words: Words) -> HeadGrid:
        """Every head in the colour of its first role; the legend counts the heads of each."""
        first = {head: roles[0].name for head, roles in self.heads.items()}
        names = [rule.role for rule in RULES if rule.role in first.values()] + ([NONE] if NONE in first.values() else [])
        layers = sorted({head.layer for head in first})
        counts = [sum(head.layer == layer for head in first) for layer in layers]
        values = np.full((len(layers), max(counts)), np.nan)
        for head, role in first.items():
            values[layers.index(head.layer), head.head] = names.index(role)
        legend = [(words(f"role.name.{name}"), name) for name in names]
        return HeadGrid("role", values, scale="role", layers=layers, n_heads=counts, names=legend)


@lru_cache(maxsize=1)
def _kept() -> dict[str, SampleRoles]:
    data = json.loads(files("eyeline.measure.heads").joinpath("sample.json").read_text(encoding="utf-8"))
    return {
        model: SampleRoles(
            data["command"],
            data["sentences"],
            {HeadRef(*head): tuple(Role(*role) for role in roles) for *head, roles in heads},
        )
        for model, heads in data["models"].items()
    }


def sample_models() -> tuple[str, ...]:
    """The models that were measured."""
    return tuple(_kept())


def sample_roles(model: str) -> SampleRoles | None:
    """The roles of the heads of this model, if it was measured.

    >>> [role.name for role in sample_roles("e5-small-mlm").heads[HeadRef("", 2, 2)]]
    ['previous']
    """
    return _kept().get(model)
