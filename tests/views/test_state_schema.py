"""One schema of a view's state: Python's checks read it; the front end's types, the docs and the typed options agree with it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from eyeline.views import options
from eyeline.views.state import SCHEMA

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
state_schema = pytest.importorskip("state_schema", reason="scripts/ is not here")

OPTIONS = {
    "head": options.HeadViewOptions,
    "model": options.ModelViewOptions,
    "neuron": options.NeuronViewOptions,
    "space": options.SpaceViewOptions,
}
#: Parameters of their own in the functions that create views.
PARAMETERS = {"stack", "layer", "heads"}


def test_the_front_ends_types_are_those_of_the_schema() -> None:
    assert state_schema.TYPESCRIPT.read_text(encoding="utf-8") == state_schema.typescript(), "python scripts/state_schema.py"


def test_the_documented_table_is_that_of_the_schema() -> None:
    assert state_schema.DOCUMENT.read_text(encoding="utf-8") == state_schema.document(), "python scripts/state_schema.py"


@pytest.mark.parametrize("kind", OPTIONS)
def test_a_views_options_are_the_keys_that_the_schema_gives_it(kind: str) -> None:
    keys = {row["key"] for row in SCHEMA if kind in row["views"]} - PARAMETERS
    assert set(get_type_hints(OPTIONS[kind])) == keys


def test_every_key_is_an_option_of_starting_and_update() -> None:
    assert set(get_type_hints(options.StateOptions)) == {row["key"] for row in SCHEMA}


def choices_of(hint: Any) -> tuple[str, ...] | None:
    return get_args(hint) if get_origin(hint) is Literal else None


def test_the_options_have_the_choices_of_the_schema() -> None:
    hints = get_type_hints(options.StateOptions)
    for row in SCHEMA:
        assert choices_of(hints[row["key"]]) == (tuple(row["choices"]) if row["type"] == "choice" else None), row["key"]
