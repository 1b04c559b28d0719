"""An engine from its name."""

from __future__ import annotations

from typing import get_args

from eyeline.analyses.engines.engine import Engine, EngineName, Processes
from eyeline.analyses.engines.ray import Ray
from eyeline.errors import EyelineError, nearest


def as_engine(given: Engine | str | None) -> Engine | None:
    """The engine that is given, or the one of this name; None: the local one, which folds in this process."""
    if given is None or given == "local":
        return None
    if isinstance(given, Engine):
        return given
    if given == Processes.name:
        return Processes()
    if given == Ray.name:
        return Ray()
    raise EyelineError(f"An engine {given!r}.", nearest(str(given), get_args(EngineName)))


def check_engine(given: Engine | str | None) -> None:
    """Refuse an engine that cannot work, before anything is computed or written."""
    engine = as_engine(given)
    if engine is not None:
        engine.check()
