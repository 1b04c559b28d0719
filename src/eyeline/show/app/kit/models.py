"""The models that visitors share: opened once, and run a few at a time."""

from __future__ import annotations

import importlib
import os
import re
import threading
import time
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyeline.errors import EyelineError, ModelError
from eyeline.look.answer import LayerEffects
from eyeline.look.embedded import EMBEDDED, embedded
from eyeline.look.ready import ReadySentence, ready_sentence
from eyeline.look.stack import as_kept
from eyeline.look.trace import Trace
from eyeline.look.trace_cache import TraceCache, files_of
from eyeline.models.declared import Declared, declared
from eyeline.show.app.kit.settings import Settings, current
from eyeline.show.app.kit.sharing import TURNS, Cache, Slots
from eyeline.show.app.kit.workspace import MODELS, Workspace, modified

if TYPE_CHECKING:
    from eyeline.models.model import Model

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
#: Opened models kept, forward passes at a time, bytes of traces and of drawn views kept.
OPEN, AT_ONCE, TRACES, VIEWS = 3, max(1, min(4, os.cpu_count() or 1)), 128_000_000, 64_000_000
#: Characters of the texts that go through a model in one pass, where several visitors wait for it.
IN_ONE_PASS = 2_000
_MODELS, _TRACES, _VIEWS, _SLOTS = Cache(OPEN), Cache(TRACES), Cache(VIEWS), Slots(AT_ONCE, IN_ONE_PASS)
#: Seconds after which the app looks again for models: someone may install one while it runs.
LOOK_AGAIN = 10
#: Modules that draw the picture of the first page: importing them takes longer than a forward pass.
DRAWING = ("igraph", "matplotlib.backends.backend_agg", "matplotlib.figure", "matplotlib.font_manager")
#: The folder of the workspace that keeps traces from one start of the app to the next, and how large it may become.
KEPT, KEPT_BYTES = ".traces", 500_000_000
#: Answers of models with parts switched off; the cache keeps 1,000 of them.
_ANSWERS = Cache(1000)
#: One model is opened at a time: transformers imports its parts when they are first used, and two threads that do this disturb each other.
_OPENING = threading.RLock()
#: Set when the first page has been made; for how many seconds after the start the app waits for it, and then for the browser to draw it.
FIRST_PAGE, FIRST_WAIT, WHILE_DRAWN = threading.Event(), 20.0, 2.0
#: Texts whose heads are being measured, or were: a measurement that goes on holds the results of a pass.
_MEASURING = Cache(24)


def choices(settings: Settings) -> dict[str, str]:
    """The models to choose from: the name that visitors see → what load takes. The app's own first, then embedded, then local ones."""
    own = Path(settings.model).name if Path(settings.model).is_dir() else settings.model
    names = {own: settings.model}
    names |= {name: name for name in _embedded_names(int(time.monotonic() // LOOK_AGAIN)) if name not in names}
    local = _local_models(settings.workspace, modified(settings.workspace / MODELS), int(time.monotonic() // LOOK_AGAIN))
    return names | {name: path for name, path in local.items() if name not in names}


@lru_cache(maxsize=1)
def _local_models(workspace: Path, changed: float, tick: int) -> Mapping[str, str]:
    """The models of the workspace. A new folder is seen at once, since it changes the time of its parent; files in it, a bit later."""
    return {name: str(path) for name, path in Workspace(workspace).models().items()}


@lru_cache(maxsize=1)
def _embedded_names(tick: int) -> tuple[str, ...]:
    """The embedded models that are installed. Looking for them takes milliseconds, and each page wants them several times."""
    return tuple(model.name for model in EMBEDDED if model.find() is not None)


def model_source(name: str, settings: Settings) -> str:
    """What `load` takes for a name from a visitor: one of the choices, or a hub id where the app allows them. Never a visitor's path."""
    known = choices(settings)
    if name in known:
        return known[name]
    if not HUB_ID.fullmatch(name) or ".." in name:
        raise ModelError(f"No model here is named {name[:80]!r}.", f"Choices: {', '.join(known)}.")
    if not settings.allow_hub:
        raise ModelError(f"{name} is not here, and this app does not download models from the hub.", "Start it with --allow-hub.")
    if Path(name).exists():
        raise ModelError(f"{name} is also a folder beside the app.", "Put it into the workspace's models folder.")
    return name


def recipe_source(name: str) -> str:
    """What a recipe writes for a model: its name, or its folder in the workspace, without the path of the workspace on this machine."""
    settings = current()
    if choices(settings).get(name) != name and name in Workspace(settings.workspace).models():
        return f"{settings.workspace.name}/{MODELS}/{name}"
    return name


def open_model(source: str) -> Model:
    """The model of a source, opened once for all visitors."""
    kept = TraceCache(current().workspace / KEPT, KEPT_BYTES)

    def opened() -> Model:
        with _OPENING:
            from eyeline.models.load import load

            return load(source, cache=kept)

    return _MODELS.get(_as_it_is(source), opened, lambda _: 1)


def _as_it_is(source: str) -> Hashable:
    """A model with the facts of its files: where they change, it is opened again, and nothing that it gave before is shown."""
    files = files_of(source)
    return source, None if files is None else tuple(sorted(files.facts.items()))


def is_open(name: str) -> bool:
    """Whether the model of that name is open, so that no visitor waits for it."""
    return _MODELS.holds(model_key(name))


def model_key(name: str) -> Hashable:
    """What tells a model, as its files are now, from every other: for the keys of what it gives. Taken before the model is."""
    return _as_it_is(model_source(name, current()))


def opened_model(model: Model | str) -> Model:
    """A model as it is, or the shared one of a source."""
    return open_model(model) if isinstance(model, str) else model


def warm_up(source: str) -> None:
    """Import what pages need, and open the app's own model: in a thread of its own, once the first page has been drawn.

    That page holds a sentence that is ready without a model; it would wait for the imports.
    """

    def work() -> None:
        FIRST_PAGE.wait(FIRST_WAIT)
        time.sleep(WHILE_DRAWN)
        with _OPENING:
            for name in ("eyeline.measure.corpus.run", "eyeline.measure.causes.quantities"):
                importlib.import_module(name)
            for name in DRAWING:
                with suppress(ImportError):  # an extra; the page says so where it is needed
                    importlib.import_module(name)
        with suppress(EyelineError):  # the page says why the model cannot be opened
            _ = open_model(source).gives  # a model that keeps traces is opened when something is wanted of it

    threading.Thread(target=work, name="warm-up", daemon=True).start()


def model_named(name: str) -> Model:
    """The shared model of that name; the first visitor waits for it to open."""
    return open_model(model_source(name, current()))


def declared_by(name: str) -> Declared | None:
    """What the config of a model declares, without opening the model; None where that is not known."""
    return declared(model_source(name, current()))


def view_cache() -> Cache:
    """Views as bytes, ready to be sent."""
    return _VIEWS


@contextmanager
def compute_slot() -> Iterator[None]:
    """Wait until a core is free: no more forward passes run at once than there are cores. Pages of others are drawn meanwhile."""
    with TURNS.while_others_draw(), _SLOTS.slot():
        yield


def ready_of(name: str, text: str, pair: str | None) -> ReadySentence | None:
    """A sentence that comes with the package, recorded from this very model: it is drawn before the model is open."""
    try:
        known = embedded(name) if model_source(name, current()) == name else None
    except ModelError:
        return None
    return None if known is None or known.find() is None else ready_sentence(name, text, pair or "")


def trace_of(name: str, text: str, pair: str | None) -> Trace:
    """The attention of a model on a text, recorded now or taken from the cache. Texts that wait for the model share a pass."""
    key, model = model_key(name), model_named(name)

    def record() -> Trace:
        with TURNS.while_others_draw():
            return _SLOTS.together(model, text if pair is None else (text, pair), len(text) + len(pair or ""), model.traces)

    return _TRACES.get((key, text, pair), record, trace_bytes)


def quantity_of(name: str, text: str, pair: str | None, method: str) -> Trace:
    """A quantity beside attention, computed now or taken from the cache."""
    key, model = model_key(name), model_named(name)

    def compute() -> Trace:
        from eyeline.measure.causes.attribute import attribute

        with compute_slot():
            return attribute(model, text, pair, method=method)

    return _TRACES.get((key, text, pair, method), compute, trace_bytes)


def answer_of(name: str, trace: Trace, off: str) -> dict[str, Any]:
    """What a model answers to the text of a trace while parts of it are switched off, or the reason why it cannot."""
    from eyeline.look.views.live import answer_without

    if not off and trace.prediction is not None:
        return {"off": off, "prediction": trace.prediction.to_json()}
    key, model = model_key(name), model_named(name)

    def compute() -> dict[str, Any]:
        with compute_slot():
            return answer_without(model, trace, off)

    return _ANSWERS.get((key, trace.about.get("model"), sides_key(trace), off), compute, lambda _: 1)


def effects_of(name: str, trace: Trace) -> list[LayerEffects]:
    """The answer to the text of a trace when each head alone is switched off."""
    key, model = model_key(name), model_named(name)

    def compute() -> list[LayerEffects]:
        with compute_slot():
            return model.head_effects(trace)

    return _ANSWERS.get((key, sides_key(trace), "effects"), compute, lambda _: 1)


class Measuring:
    """What each head does to an answer: estimated for all heads at first, then measured layer by layer, as long as somebody asks."""

    def __init__(self, model: Model, trace: Trace) -> None:
        self.effects = model.estimated_effects(trace)
        self.measured = 0  # layers
        self._rest: Iterator[LayerEffects] | None = model.head_effects_by_layer(trace)
        self._lock = threading.Lock()

    def go_on(self, seconds: float) -> None:
        """Measure layers until the time is up."""
        end = time.monotonic() + seconds
        with TURNS.while_others_draw(), self._lock:
            while self._rest is not None and time.monotonic() < end:
                with _SLOTS.slot():
                    layer = next(self._rest)
                self.effects[self.measured] = layer
                self.measured += 1
                if self.measured == len(self.effects):
                    self._rest = None  # with the results of layers that it holds


def measuring(name: str, trace: Trace) -> Measuring:
    """The measurement of one text, shared by those who look at it."""
    key, model = model_key(name), model_named(name)

    def estimate() -> Measuring:
        with compute_slot():
            return Measuring(model, trace)

    return _MEASURING.get((key, sides_key(trace)), estimate, lambda _: 1)


def sides_key(trace: Trace) -> tuple[tuple[int, ...], ...]:
    """The tokens of a trace, as a key."""
    return tuple(stack.query_text.ids for stack in trace.stacks.values())


def token_count(name: str, text: str, pair: str | None) -> int:
    """How many tokens a model reads in a text, before its attention is recorded."""
    return len(model_named(name).read(text if pair is None else (text, pair)).source)


def trace_bytes(trace: Trace) -> int:
    """Bytes of a trace's arrays."""
    kinds = ("weights", "queries", "keys", "values")
    return sum(array.nbytes for stack in trace.stacks.values() for kind in kinds for array in as_kept(getattr(stack, f"{kind}_by_layer")))
