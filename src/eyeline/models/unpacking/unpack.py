"""GGUF files and archives, unpacked once: reading a GGUF file takes half a minute, reading the unpacked folder takes a second."""

from __future__ import annotations

import hashlib
import json
import logging
import uuid
from collections.abc import Callable
from pathlib import Path

import filelock
import platformdirs
import torch
from safetensors.torch import save_file
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from eyeline.storage.files import flush, remove, sweep
from eyeline.storage.sealed_json import digest_of, read_json, write_sealed_json

log = logging.getLogger("eyeline")

CONFIG = "config.json"
#: The list of the files of an unpacked model with their checksums. A folder without it is not complete.
CONTENTS = "eyeline-contents.json"


def unpacked_folder(gguf: Path) -> Path:
    """Where a file is unpacked to: named by its path, size and time of change, so that another file is never taken for it."""
    return platformdirs.user_cache_path("eyeline") / "unpacked" / _name(gguf)


def unpack_once(gguf: Path, unpack: Callable[[Path], None]) -> Path | None:
    """The folder that holds the unpacked model; `unpack` fills it the first time. None where the disk has no room for it.

    The files are checked by their hashes: a damaged folder is removed and made again.
    """
    folder = unpacked_folder(gguf)
    part = folder.with_name(f".{uuid.uuid4().hex}.part")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        sweep(folder.parent)
        with filelock.FileLock(folder.with_name(f".{folder.name}.lock")):
            if is_whole(folder):
                return folder
            if folder.exists():
                # The name holds the path, size and time of the file, so no other file is unpacked here; the lock keeps other processes
                # of eyeline out; and one that has the damaged files open keeps them until it closes them.
                log.warning("The unpacked %s is damaged and is made again.", gguf.name)
                remove(folder)
            unpack(part)
            _seal(part)
            part.rename(folder)
            flush(folder.parent)
        return folder
    except OSError as error:
        log.warning("The unpacked %s was not kept: %s", gguf.name, error)
        return None
    finally:
        remove(part)


def is_whole(folder: Path) -> bool:
    """Whether a folder holds all the files of an unpacked model, unchanged."""
    try:
        files = read_json(folder / CONTENTS)["files"]
        present = {name: path for name, path in _files(folder).items() if name != CONTENTS}
        return present.keys() == files.keys() and all(digest_of(path) == files[name] for name, path in present.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def save_plain(hf: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None, folder: Path) -> None:
    """Write a dequantised model as an ordinary one. (save_pretrained refuses: the configuration still says that it is quantised.)"""
    folder.mkdir(parents=True)
    tensors: dict[int, tuple[str, torch.Tensor]] = {}
    for name, tensor in hf.state_dict().items():
        tensors.setdefault(tensor.data_ptr(), (name, tensor))  # output embeddings that are the input embeddings are written once
    save_file({name: tensor.contiguous() for name, tensor in tensors.values()}, folder / "model.safetensors", {"format": "pt"})
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    config = {name: value for name, value in hf.config.to_dict().items() if name != "quantization_config"}
    config["architectures"] = [type(hf).__name__]
    (folder / CONFIG).write_text(json.dumps(config, default=str), encoding="utf-8")


def _name(gguf: Path) -> str:
    facts = gguf.stat()
    digest = hashlib.sha256(f"{gguf.resolve()} {facts.st_size} {facts.st_mtime_ns}".encode()).hexdigest()
    return f"{gguf.stem}-{digest[:24]}"


def _files(folder: Path) -> dict[str, Path]:
    """Every file of a folder and its subfolders, by its name from there."""
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


def _seal(folder: Path) -> None:
    files = _files(folder)
    for path in files.values():
        flush(path)
    write_sealed_json(folder / CONTENTS, {"format": 1, "files": {name: digest_of(path) for name, path in files.items()}})
