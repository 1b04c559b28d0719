"""The numbers of the lesson that come from whole corpora: measured once by scripts/lesson_data.py, stored beside this file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from eyeline.results.head_roles import HeadRole, LayerFigures


@dataclass(frozen=True)
class Measured:
    """command: what wrote the file. sentences: of the built-in treebank."""

    command: str
    model: str
    sentences: int
    roles: tuple[HeadRole, ...]
    layers: tuple[LayerFigures, ...]


@lru_cache(maxsize=1)
def measured() -> Measured:
    data = json.loads(files("eyeline.hosts.app.learn").joinpath("measured.json").read_text(encoding="utf-8"))
    roles, layers = (HeadRole(**role) for role in data.pop("roles")), (LayerFigures(**layer) for layer in data.pop("layers"))
    return Measured(**data, roles=tuple(roles), layers=tuple(layers))
