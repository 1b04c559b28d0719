"""The front end's code: files built from frontend/, which are joined end to end (frontend/build.mjs says how)."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from eyeline.errors import StorageError

#: The code that each kind of view needs beside the core.
FURTHER = {"head": (), "model": ("model",), "neuron": ("neuron",), "space": ("space",)}


def code_of(kind: str, host: str) -> str:
    """Everything that one view needs in a host of its own: the core, the view and the host."""
    return joined("core", *FURTHER[kind], host)


def joined(*names: str) -> str:
    """Built files in this order, as one script."""
    return "\n".join(built(name) for name in names)


@lru_cache(maxsize=16)
def built(name: str) -> str:
    """The code of a built file of the front end."""
    try:
        return files("eyeline.views").joinpath("static", f"{name}.js").read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise StorageError(f"The front end is missing: eyeline/views/static/{name}.js.", "Run `make frontend`, or reinstall.") from error
