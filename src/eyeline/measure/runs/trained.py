"""Trained probes in the folder of their run: parameters and word vectors, as arrays. Read without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from eyeline.errors import TraceError, nearest
from eyeline.storage.files import as_path, latest
from eyeline.storage.records import from_json
from eyeline.storage.sealed import FileKind, read_sealed, write_sealed

PROBES = FileKind(
    "probes",
    format=1,
    written_by="Trained probes are written by: eyeline probe TREEBANK -o FOLDER",
    otherwise="el.open opens traces, spaces and probes.",
)
#: The file of the trained probes in the folder of their run.
FILE = "probes.safetensors"


@dataclass(frozen=True)
class ProbeWords:
    """The word vectors that a probe was trained with.

    name      GloVe, or model embeddings
    scale     of model embeddings: the factor that all of them are multiplied by
    rows      of GloVe: word → row of `table`; a word without a row has zeros
    table     of GloVe: [row, dim]
    """

    name: str
    scale: float = 1.0
    rows: Mapping[str, int] = field(default_factory=dict, repr=False)
    table: np.ndarray | None = field(default=None, repr=False)


@dataclass(frozen=True)
class TrainedProbes:
    """The probes of a run that read attention, by the names of its table, as the first seed left them.

    model       the name of the model whose attention they read; sha256: its identity
    layers, heads    of each feature [feature]
    n_special   how many special tokens the model adds to a sentence: they stand for ROOT
    parameters  probe → name of the parameter → array
    """

    model: str
    sha256: str
    layers: tuple[int, ...]
    heads: tuple[int, ...]
    n_special: int
    words: ProbeWords
    parameters: Mapping[str, Mapping[str, np.ndarray]] = field(repr=False)

    @property
    def best(self) -> str:
        """The probe that is used unless another is named: the last, which reads words as well as attention."""
        return list(self.parameters)[-1]

    def check(self, name: str | None) -> str:
        """The name of a probe; an unknown one is refused."""
        name = name or self.best
        if not isinstance(name, str) or name not in self.parameters:
            raise TraceError(f"No trained probe is named {name!r}.", nearest(str(name), self.parameters))
        return name

    def save(self, path: str | Path) -> None:
        arrays = {f"probe.{name}.{key}": array for name, values in self.parameters.items() for key, array in values.items()}
        if self.words.table is not None:
            arrays["words"] = self.words.table
        header = {
            "model": self.model, "sha256": self.sha256, "layers": list(self.layers), "heads": list(self.heads), "n_special": self.n_special,
            "words": {"name": self.words.name, "scale": self.words.scale, "rows": dict(self.words.rows)},
            "probes": {name: list(values) for name, values in self.parameters.items()},
        }  # fmt: skip
        write_sealed(path, PROBES, header, arrays)


def open_trained_probes(path: str | Path) -> TrainedProbes:
    """Read trained probes: their file, or the folder of the run that holds it."""
    path = as_path(path)
    path = latest(path, path / FILE) if _is_folder(path) else path
    sealed = read_sealed(path, PROBES)
    try:
        return _restore(sealed.header, sealed.arrays)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise PROBES.damaged(path, f"{type(error).__name__}: {error}") from error


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # a name that is too long for the file system, or holds NUL
        return False


def _restore(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> TrainedProbes:
    words = header["words"]
    rows = {str(word): from_json(int, row, "rows") for word, row in words["rows"].items()}
    layers, heads = (tuple(from_json(int, value, name) for value in header[name]) for name in ("layers", "heads"))
    n_special = from_json(int, header["n_special"], "n_special")
    parameters = {str(name): {key: arrays[f"probe.{name}.{key}"] for key in keys} for name, keys in header["probes"].items()}
    if not parameters or len(layers) != len(heads) or n_special < 0:
        raise ValueError("its parts do not fit together")
    vectors = ProbeWords(str(words["name"]), float(words["scale"]), rows, arrays.get("words"))
    return TrainedProbes(str(header["model"]), str(header["sha256"]), layers, heads, n_special, vectors, parameters)
