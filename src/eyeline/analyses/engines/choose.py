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


def engine_of_options(name: str, workers: int | None, address: str | None, gpus_per_worker: float | None) -> Engine | None:
    """The engine that the options of a command describe; an option that it has no use for is refused."""
    engine = as_engine(name)
    if engine is None and workers is not None:
        raise EyelineError(f"--workers {workers} with --engine {name}.", "Give --engine processes, or --engine ray.")
    for option, value in (("--address", address), ("--gpus-per-worker", gpus_per_worker)):
        if value is not None and not isinstance(engine, Ray):
            raise EyelineError(f"{option} {value} with --engine {name}.", "Give --engine ray.")
    if isinstance(engine, Ray):
        return Ray(workers, address, gpus_per_worker or 0)
    return Processes(workers) if isinstance(engine, Processes) else None
