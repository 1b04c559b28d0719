"""What the files of a model ask for, checked before anything is built: code from elsewhere, and sizes that its weights do not have.

The app asks this before any model is open, so torch and transformers are imported only where they are needed.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyeline.errors import Advice, ModelError
from eyeline.messages import Message

if TYPE_CHECKING:
    from torch import Tensor, nn


def check_claims(source: str, model_name: str, options: Mapping[str, Any]) -> WeightFiles:
    """Refuse a configuration that asks for code of the hub, or for more layers than the weights can be; what the weights hold.

    options   as for from_pretrained: trust_remote_code, local_files_only, revision, gguf_file
    """
    from huggingface_hub import constants
    from transformers import PretrainedConfig

    config, _ = PretrainedConfig.get_config_dict(source, **options)
    files = weight_files(source, options.get("gguf_file"), is_quantised=bool(config.get("quantization_config")))
    for name, value in _entries(config):
        if _is_code(name, value) and not (options["trust_remote_code"] and not constants.HF_HUB_OFFLINE):
            trusted = "trust_remote_code=True, with the hub in reach"
            raise ModelError(
                Message("refusal.code_from_hub", model=model_name, entry=f"{name.rstrip('.')}: {str(value)[:80]!r}"),
                Message("refusal.needs_no_code"),
                Advice(f"Or, if you trust it: {trusted}.", f"Or, if you trust it, in Python: {trusted}."),
            )
        if COUNTS.search(name.rpartition(".")[2]) and isinstance(value, int) and value > files.most_layers:
            raise ModelError(
                Message("refusal.config_and_weights", model=model_name, name=name, value=f"{value:,}", n=f"{files.tensors:,}"),
                Message("refusal.other_config"),
            )
    for part in _parts(config):
        for name, value in part.items():
            least = 1 if part is config and AT_LEAST_ONE.fullmatch(name) else 0
            if type(value) is int and value < least and NEVER_NEGATIVE.fullmatch(name):
                raise ModelError(
                    Message("refusal.config_value", model=model_name, name=name, value=f"{value:,}", least=str(least)),
                    Message("refusal.other_config"),
                )
        if (numbers := _input_numbers(part)) > ALLOWED_NUMBERS:
            raise ModelError(
                Message(
                    "refusal.large_pictures",
                    model=model_name,
                    n=f"{numbers:,}",
                    size=str(part.get("image_size")),
                    most=f"{ALLOWED_NUMBERS:,}",
                ),
                Message("refusal.other_config"),
            )
    return files


def _parts(value: Any) -> Iterator[Mapping[str, Any]]:
    """A configuration and those within it."""
    if isinstance(value, Mapping):
        yield value
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _parts(item)


def _input_numbers(config: Mapping[str, Any]) -> int:
    """How many numbers one picture or video has, of the size that the model says it takes."""
    size = config.get("image_size")
    side = max([number for number in (size if isinstance(size, list) else [size]) if isinstance(number, int)], default=0)
    frames, channels = (config.get(name) for name in ("num_frames", "num_channels"))
    return side * side * (frames if isinstance(frames, int) else 1) * (channels if isinstance(channels, int) else 1)


# ---- Code from elsewhere. Python files beside the weights (auto_map) are a matter of trust_remote_code, which transformers asks for itself


#: Entries that choose code by its name, at any depth, for the model or for its parts: `_attn_implementation`, `experts_implementation` …
IMPLEMENTATION = re.compile(r"_implementation(_internal)?(\.|$)")

#: What makes timm fetch a model from the hub, as the name of an architecture.
TIMM_HUB = re.compile(r"hf[-_]hub:", re.IGNORECASE)


def _is_code(name: str, value: object) -> bool:
    """Whether an entry names code that transformers or timm would fetch. Names of their own code have no slash."""
    if not isinstance(value, str):
        return False
    return TIMM_HUB.match(value) is not None or (IMPLEMENTATION.search(name) is not None and "/" in value)


def _entries(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every entry of a configuration, those of its parts too, by its path: `text_config.num_hidden_layers`."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _entries(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _entries(item, name)
    else:
        yield name, value


# ---- Sizes: a configuration of a few bytes can describe a model that no machine holds


#: Entries that make Python repeat something, and not only an axis longer: layers, experts, labels.
COUNTS = re.compile(r"layer|block|depth|stage|expert|label", re.IGNORECASE)

#: The counts of layers and heads, and the sizes, that every model of their name has; a part of a model may have none of them.
AT_LEAST_ONE = re.compile(r"num_hidden_layers|num_attention_heads|hidden_size|n_layers?|n_heads?|n_embd|d_model")

#: These and others that may be 0. Elsewhere -1 has a meaning: `vision_feature_layer`, `max_relative_positions`, `pad_token_id` …
NEVER_NEGATIVE = re.compile(
    AT_LEAST_ONE.pattern + r"|num_layers|num_heads|(num_)?(en|de)coder_layers|(en|de)coder_attention_heads|num_key_value_heads"
    r"|intermediate_size|vocab_size|d_ff|d_kv"
)

#: So many layers or labels need no weights to be believed.
ALLOWED_LAYERS = 10_000

#: So many tensors, and numbers, a model may have beyond twice those in its files: masks, positions, a pooler that was not kept.
ALLOWED_TENSORS, ALLOWED_NUMBERS = 1_000, 1 << 28


@dataclass(frozen=True)
class WeightFiles:
    """What the weights of a model are.

    tensors, numbers   how many; longest: the longest axis
    """

    tensors: int
    numbers: int
    longest: int

    @property
    def most_layers(self) -> int:
        """No layer is without a tensor, no label without a row."""
        return max(ALLOWED_LAYERS, self.tensors, self.longest)


#: Of weights that are not on this machine yet: more than any model has.
UNKNOWN = WeightFiles(200_000, 1 << 44, 1_000_000)


def weight_files(source: str, gguf: str | None = None, *, is_quantised: bool = False) -> WeightFiles:
    """What the weights in a folder are, from the headers of their files; nothing else of them is read.

    is_quantised   several numbers may be packed into one
    """
    folder = Path(source)
    if gguf is not None:
        return _in_gguf(folder / gguf)
    if not folder.is_dir():
        return UNKNOWN
    shards = (folder / name for index in folder.glob("*.safetensors.index.json") for name in _shards(index))
    paths = {path for path in (*folder.glob("*.safetensors"), *shards) if path.is_file()}
    files = [_in_safetensors(path) for path in paths] or [_in_pickle(path) for path in folder.glob("*.bin")]
    if not files:
        return UNKNOWN
    numbers = sum(item.numbers for item in files) * (8 if is_quantised else 1)
    return WeightFiles(sum(item.tensors for item in files), numbers, max(item.longest for item in files))


def _shards(index: Path) -> set[str]:
    names = json.loads(index.read_text(encoding="utf-8")).get("weight_map", {}).values()
    return {name for name in names if isinstance(name, str)}


def _in_safetensors(path: Path) -> WeightFiles:
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        shapes = [file.get_slice(name).get_shape() for name in file.keys()]  # noqa: SIM118 - not a mapping
    return WeightFiles(len(shapes), sum(_product(shape) for shape in shapes), max((max(shape, default=1) for shape in shapes), default=0))


def _in_pickle(path: Path) -> WeightFiles:
    """A file of torch says little without being read: it holds at most a number in each byte."""
    size = path.stat().st_size
    if not zipfile.is_zipfile(path):
        return WeightFiles(UNKNOWN.tensors, size, UNKNOWN.longest)
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > size:
        raise ModelError(
            f"{path} would grow from {size:,} to {unpacked:,} bytes when it is read.", "torch packs no weights: it is damaged."
        )
    return WeightFiles(sum("/data/" in entry.filename for entry in entries), size, UNKNOWN.longest)


def _in_gguf(path: Path) -> WeightFiles:
    """The header counts the tensors; each is described by at least 33 bytes, and each number takes at least a bit."""
    with path.open("rb") as file:
        tensors = int.from_bytes(file.read(16)[8:], "little")
    size = path.stat().st_size
    return WeightFiles(min(tensors, size // 33), 8 * size, UNKNOWN.longest)


def _product(shape: list[int]) -> int:
    product = 1
    for size in shape:
        product *= size
    return product


@dataclass
class _Count:
    """What has been built of a model; names: the tensors seen, by module and name, since loading sets them once more."""

    files: WeightFiles
    model_name: str
    names: set[tuple[int, str]]
    numbers: int = 0

    def add(self, module: nn.Module, name: str, tensor: Tensor) -> None:
        if (id(module), name) in self.names:
            return
        self.names.add((id(module), name))
        self.numbers += tensor.numel()
        most, most_numbers = 2 * self.files.tensors + ALLOWED_TENSORS, 2 * self.files.numbers + ALLOWED_NUMBERS
        if len(self.names) > most or self.numbers > most_numbers:
            model, many = self.model_name, self.numbers > most_numbers
            raise ModelError(
                Message("refusal.many_numbers", model=model, n=f"{self.numbers:,}")
                if many
                else Message("refusal.many_tensors", model=model, n=f"{len(self.names):,}"),
                Message("refusal.its_weights", tensors=f"{self.files.tensors:,}", numbers=f"{self.files.numbers:,}"),
                Message("refusal.other_config"),
            )


#: What is being built in this context.
_building: ContextVar[_Count | None] = ContextVar("_building", default=None)


@contextmanager
def built_from(files: WeightFiles, model_name: str) -> Iterator[None]:
    """Refuse, while a model is built, more than its weights can fill."""
    _watch()
    token = _building.set(_Count(files, model_name, set()))
    try:
        yield
    finally:
        _building.reset(token)


def _registered(module: nn.Module, name: str, tensor: Tensor | None) -> None:
    if (count := _building.get()) is not None and tensor is not None:
        count.add(module, name, tensor)


@cache
def _watch() -> None:
    """Once for the whole process: torch goes through its hooks without a lock, so they cannot come and go with each model."""
    from torch.nn.modules.module import register_module_buffer_registration_hook, register_module_parameter_registration_hook

    register_module_parameter_registration_hook(_registered)
    register_module_buffer_registration_hook(_registered)
