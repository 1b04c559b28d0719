"""GGUF files, unpacked once: reading one takes half a minute, reading what it was unpacked into takes a second."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import filelock
import platformdirs
from safetensors.torch import save_file
from transformers import PreTrainedModel, PreTrainedTokenizerBase

log = logging.getLogger("eyeline")

DONE = "config.json"


def unpacked_folder(gguf: Path) -> Path:
    """Where a file is unpacked to: named by its path, size and time of change, so that another file never takes its place."""
    facts = gguf.stat()
    name = hashlib.sha256(f"{gguf.resolve()} {facts.st_size} {facts.st_mtime_ns}".encode()).hexdigest()[:24]
    return platformdirs.user_cache_path("eyeline") / "unpacked" / f"{gguf.stem}-{name}"


def unpack_once(gguf: Path, unpack: Callable[[Path], None]) -> Path | None:
    """The folder that holds the unpacked model; `unpack` fills it the first time. None where the disk has no room for it."""
    folder = unpacked_folder(gguf)
    if (folder / DONE).is_file():
        return folder
    part = folder.with_name(f".{uuid.uuid4().hex}.part")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(folder.with_name(f".{folder.name}.lock")):
            for leftover in folder.parent.glob(".*.part"):
                if leftover.stat().st_mtime < time.time() - 3600:  # a process was killed while it unpacked
                    shutil.rmtree(leftover, ignore_errors=True)
            if (folder / DONE).is_file():
                return folder
            unpack(part)
            part.rename(folder)
        return folder
    except OSError as error:
        log.warning("%s was not unpacked for next time: %s", gguf.name, error)
        return None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def save_plain(hf: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None, folder: Path) -> None:
    """Write a dequantised model as an ordinary one. (save_pretrained refuses: the configuration still says that it is quantised.)"""
    folder.mkdir(parents=True)
    save_file({name: tensor.contiguous() for name, tensor in hf.state_dict().items()}, folder / "model.safetensors", {"format": "pt"})
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    config = {name: value for name, value in hf.config.to_dict().items() if name != "quantization_config"}
    (folder / DONE).write_text(json.dumps(config, default=str), encoding="utf-8")
