"""What a worker does with the description of its work: check the versions, open the model, fold shards."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Callable, Mapping
from typing import Any

import torch
import transformers

from eyeline.analyses.engines.packed_model import PackedModel
from eyeline.analyses.engines.pool import EventKind
from eyeline.errors import EyelineError
from eyeline.version import __version__


def versions() -> dict[str, str]:
    """The versions that must be the same in every worker. torch without its build: those for CPUs and for GPUs work together."""
    return {"eyeline": __version__, "torch": torch.__version__.partition("+")[0], "transformers": transformers.__version__}


class Worker:
    """What runs inside a worker, the same for every engine.

    expected    the versions where the run was started
    assignment  the pickled work; it is read only where the versions agree
    threads     of torch
    packed      the model, where it is not opened by name
    """

    def __init__(self, expected: Mapping[str, str], assignment: bytes, threads: int, packed: PackedModel | None = None) -> None:
        for name, version in versions().items():
            if expected.get(name) != version:
                raise EyelineError(
                    f"The worker on {socket.gethostname()} has {name} {version}; the run was started with {expected.get(name)}.",
                    "Install the same version on every machine.",
                )
        torch.set_num_threads(threads)
        try:
            description = pickle.loads(assignment)  # noqa: S301 - written by the process that started this worker
        except (AttributeError, ImportError) as error:
            raise EyelineError(
                f"The worker on {socket.gethostname()} does not know the classes of this run ({error}).",
                "A statistic of your own must be in a module that every worker can import.",
            ) from error
        try:
            self._fold: Callable[[Any], Any] = description.open(packed)
        except EyelineError as error:
            raise EyelineError(f"The worker on {socket.gethostname()} cannot begin.", *str(error).splitlines()) from error

    def answer(self, shard: Any) -> tuple[EventKind, Any]:
        """Fold a shard; returns the kind and the value of an event."""
        try:
            return "done", self._fold(shard)
        except EyelineError as error:
            return "refused", error
        except Exception as error:  # noqa: BLE001 - a document that breaks the fold is found and named by the run
            return "broke", reason(error)


def begin(
    expected: Mapping[str, str], assignment: bytes, threads: int, packed: PackedModel | None = None
) -> tuple[Worker | None, tuple[EventKind, Any]]:
    """A worker, and the kind and the value of its first event."""
    try:
        return Worker(expected, assignment, threads, packed), ("ready", None)
    except EyelineError as error:
        return None, ("refused", error)
    except Exception as error:  # noqa: BLE001 - whatever it is, the run must report it
        return None, ("refused", EyelineError(f"The worker on {socket.gethostname()} cannot begin.", reason(error)))


def reason(error: BaseException) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__
