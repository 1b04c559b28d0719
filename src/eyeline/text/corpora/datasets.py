"""Datasets of Hugging Face: folders that the library `datasets` saved, and datasets of the hub, which are streamed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyeline.errors import Advice, EyelineError, TextError, install_hint, nearest
from eyeline.text.corpora.columns import TextColumns, as_item, choose
from eyeline.text.corpora.corpus import Corpus, Document
from eyeline.text.corpora.tables import ROWS

#: Files that `save_to_disk` writes: of a dataset with splits, and of one dataset. By them a folder is recognised.
SPLITS, STATE = SAVED = ("dataset_dict.json", "state.json")


@dataclass(frozen=True)
class _Opened:
    rows: Any
    identity: str
    split: str


def is_saved_dataset(path: Path) -> bool:
    """Whether `Dataset.save_to_disk` or `DatasetDict.save_to_disk` wrote this folder."""
    try:
        return any((path / name).is_file() for name in SAVED)
    except (OSError, ValueError):  # not a possible name of a folder: opening it reports that
        return False


def read_dataset(given: str | Path, chosen: TextColumns, split: str | None) -> Corpus:
    """A saved folder, a folder of data files with a dataset card, or an id of the hub: `owner/name` or `owner/name:config`."""
    try:
        import datasets
    except ImportError as error:
        raise EyelineError(f"The dataset {given} needs the library datasets.", install_hint("datasets")) from error
    try:
        if Path(given).is_dir() and is_saved_dataset(Path(given)):
            opened = _saved(datasets, Path(given), split)
        else:
            opened = _streamed(datasets, str(given), split)
        rows = opened.rows
        features = dict(rows.features or {})
        if not features:  # the hub does not say: the first row does
            first: dict[str, Any] = next(iter(rows), {})
            features = {name: type(value).__name__ for name, value in first.items()}
        texts = [name for name in features if _holds_text(datasets, features[name])]
        columns = choose(f"{given} ({opened.split})", features, texts, chosen)
    except EyelineError:
        raise
    except Exception as error:  # the library raises what its parts and the network raise
        raise TextError(
            f"{given}: no dataset that can be opened ({type(error).__name__}: {' '.join(str(error).split())[:300]}).",
            "Give a folder, or the id of a dataset of the hub. A dataset that is not cached needs the network.",
        ) from error
    n_rows = _length(rows, opened.split)
    if n_rows == 0:
        raise _empty(given)
    name = Path(given).name if Path(given).exists() else str(given)
    read = _reader(f"{given} ({opened.split})", rows.select_columns(columns.names), columns)
    return Corpus(f"{name} ({opened.split})", opened.identity, n_rows, read)


def _empty(given: object) -> TextError:
    return TextError(f"{given}: an empty dataset.", "It has no rows.")


def _saved(datasets: Any, folder: Path, split: str | None) -> _Opened:
    if (folder / SPLITS).is_file():
        split = _chosen_split(folder, json.loads((folder / SPLITS).read_text(encoding="utf-8"))["splits"], split)
        folder = folder / split
    elif split is not None:
        raise TextError(f"{folder} holds one dataset without splits.", Advice("Leave out split=….", "Leave out --split."))
    if not json.loads((folder / STATE).read_text(encoding="utf-8"))["_data_files"]:  # the library opens no dataset without rows
        raise _empty(folder)
    loaded = datasets.load_from_disk(str(folder))
    files = sorted(str(file["filename"]) for file in loaded.cache_files)
    facts = [str(loaded._fingerprint), str(loaded.num_rows), *(f"{Path(file).name} {Path(file).stat().st_size}" for file in files)]
    return _Opened(loaded, hashlib.sha256(" ".join(facts).encode()).hexdigest(), split or "all")


def _streamed(datasets: Any, given: str, split: str | None) -> _Opened:
    name, _, config = given.partition(":") if not Path(given).exists() else (given, "", "")
    splits = datasets.get_dataset_split_names(name, config or None)
    split = _chosen_split(given, splits, split)
    rows = datasets.load_dataset(name, config or None, split=split, streaming=True)
    facts = [given, split, str(rows.info.version), str(rows.info.dataset_size), *map(str, _revision(name))]
    return _Opened(rows, hashlib.sha256(" ".join(facts).encode()).hexdigest(), split)


def _revision(name: str) -> Sequence[object]:
    """What identifies one version of a dataset: the hub's commit, or the names and sizes of the files of a folder."""
    folder = Path(name)
    if folder.is_dir():
        return sorted((str(path.relative_to(folder)), path.stat().st_size) for path in folder.rglob("*") if path.is_file())
    from huggingface_hub import HfApi

    return [HfApi().dataset_info(name).sha]


def _chosen_split(given: object, splits: list[str], split: str | None) -> str:
    if split is None:
        if len(splits) == 1 or "train" in splits:
            return splits[0] if len(splits) == 1 else "train"
        choices = ", ".join(splits)
        raise TextError(f"{given}: which of its splits?", Advice(f"Choose with split=…: {choices}.", f"Choose with --split: {choices}."))
    if split not in splits:
        raise TextError(f"{given}: no split {split!r}.", nearest(split, splits))
    return split


def _length(rows: Any, split: str) -> int | None:
    if hasattr(rows, "num_rows"):
        return int(rows.num_rows)
    known = (rows.info.splits or {}).get(split)
    return int(known.num_examples) if known is not None and known.num_examples else None


def _holds_text(datasets: Any, feature: Any) -> bool:
    if isinstance(feature, str):
        return feature == "str"
    inner = getattr(feature, "feature", feature[0] if isinstance(feature, list) and feature else feature)
    return isinstance(inner, datasets.Value) and inner.dtype in ("string", "large_string")


def _reader(name: str, rows: Any, columns: TextColumns) -> Callable[[], Iterator[Document]]:
    def read() -> Iterator[Document]:
        number = 0
        for batch in rows.iter(batch_size=ROWS):
            texts = batch[columns.text]
            for text, pair in zip(texts, batch[columns.pair] if columns.pair else [None] * len(texts), strict=True):
                number += 1
                item = as_item(text, pair)
                if item is None:
                    raise TextError(f"{name}, row {number}: {type(text).__name__} where a text should be.", f"Look at {columns}.")
                yield Document(item, number)

    return read
