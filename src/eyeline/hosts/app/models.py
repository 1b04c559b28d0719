"""The models that visitors share: opened once, run a few at a time."""

from __future__ import annotations

import importlib
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from eyeline.capture.trace import Trace
from eyeline.errors import ModelError
from eyeline.hosts.app.runs.workspace import Workspace
from eyeline.hosts.app.settings import Settings, current
from eyeline.hosts.app.shelf import Shelf
from eyeline.models.embedded import EMBEDDED

if TYPE_CHECKING:
    from eyeline.models.model import Model

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
#: Opened models kept, forward passes at a time, bytes of traces and of drawn views kept.
OPEN, AT_ONCE, TRACES, VIEWS = 3, max(1, min(4, os.cpu_count() or 1)), 128_000_000, 64_000_000
_MODELS, _TRACES, _VIEWS, _TURNS = Shelf(OPEN), Shelf(TRACES), Shelf(VIEWS), threading.BoundedSemaphore(AT_ONCE)


def choices(settings: Settings) -> dict[str, str]:
    """The models to choose from: the name that visitors see → what load takes. The app's own first, then embedded, then local ones."""
    own = Path(settings.model).name if Path(settings.model).is_dir() else settings.model
    found = {own: settings.model}
    found |= {model.name: model.name for model in EMBEDDED if model.find() is not None and model.name not in found}
    return found | {name: str(path) for name, path in Workspace(settings.workspace).models().items() if name not in found}


def place_of(name: str, settings: Settings) -> str:
    """What a name from a visitor stands for: one of the choices, or a hub id where the app allows them. Never a path."""
    known = choices(settings)
    if name in known:
        return known[name]
    if not HUB_ID.fullmatch(name) or ".." in name:
        raise ModelError(f"No model here is named {name[:80]!r}.", f"Choices: {', '.join(known)}.")
    if not settings.allow_hub:
        raise ModelError(f"{name} would come from the hub, which this app does not ask.", "Start it with --allow-hub.")
    if Path(name).exists():
        raise ModelError(f"{name} is also a folder beside the app.", "Put it into the workspace's models folder.")
    return name


def opened(place: str) -> Model:
    """The model of a place, opened once for all."""
    from eyeline.models.load import load

    return _MODELS.get(place, lambda: load(place), lambda _: 1)


def warm_up(place: str) -> None:
    """Open the app's own model, and import what pages need, before the first visitor comes.

    Here in one thread: transformers imports its parts when they are first used, and two threads that do so at once get in each other's way.
    """
    importlib.import_module("eyeline.analyses.corpus.run")
    opened(place)


def model_named(name: str) -> Model:
    """The shared model of that name; the first visitor waits for it to open."""
    return opened(place_of(name, current()))


def views_kept() -> Shelf:
    """Views as bytes, ready to be sent."""
    return _VIEWS


@contextmanager
def turn() -> Iterator[None]:
    """Wait for one's turn at the processor."""
    with _TURNS:
        yield


def trace_of(name: str, text: str, pair: str | None) -> Trace:
    """The attention of a model on a text, recorded now or taken from the shelf."""
    model = model_named(name)

    def record() -> Trace:
        with turn():
            return model.trace(text, pair)

    return _TRACES.get((place_of(name, current()), text, pair), record, held_by)


def token_count(name: str, text: str, pair: str | None) -> int:
    """How many tokens a model reads in a text, before its attention is asked for."""
    return len(model_named(name).read(text if pair is None else (text, pair)).source)


def held_by(trace: Trace) -> int:
    """Bytes of a trace's arrays."""
    kinds = ("weights", "queries", "keys", "values")
    return sum(array.nbytes for stack in trace.stacks.values() for kind in kinds for array in getattr(stack, f"{kind}_by_layer"))
