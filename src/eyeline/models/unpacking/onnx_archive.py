"""A BERT encoder inside an ONNX archive, rewritten as a folder that transformers opens. Data is read; no code of the archive runs."""

from __future__ import annotations

import gzip
import json
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from eyeline.errors import ModelError

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
        except (OSError, MemoryError):
            raise
        except Exception as error:  # protobuf and onnx raise nearly everything for a damaged graph
            raise _damaged(archive, error) from error
    _check_complete(weights, config, archive)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    for name in TOKENIZER_FILES:
        shutil.copy(tokenizer / name, folder)
    (folder / "config.json").write_text(json.dumps(dict(config), indent=1), encoding="utf-8")


def _damaged(archive: Path, error: Exception) -> ModelError:
    reason = " ".join(str(error).split())[:200]
    return ModelError(f"{archive} is damaged ({type(error).__name__}: {reason}).", "Install the package again: eyeline models get NAME")


def read_weights(graph_file: Path) -> dict[str, np.ndarray]:
    """The encoder's weights by transformers' names.

    Biases, norms and embeddings keep their names in the graph. The matrix of a linear layer has none: it takes the name of the bias
    that is added to its product, and is transposed, since ONNX multiplies from the right.
    """
    import onnx

    graph = onnx.load(graph_file).graph
    arrays = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights = {name: values for name, values in arrays.items() if name.startswith(PARTS) and not name.endswith("position_ids")}
    bias_of: dict[str, str] = {}  # product → the bias that is added to it
    for node in graph.node:
        if node.op_type == "Add":
            first, second = node.input
            bias_of |= {first: second} if second in weights else {second: first} if first in weights else {}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in arrays and node.output[0] in bias_of:
            weights[bias_of[node.output[0]].removesuffix("bias") + "weight"] = arrays[node.input[1]].T
    return {name: np.ascontiguousarray(values) for name, values in weights.items()}


def _check_complete(weights: Mapping[str, np.ndarray], config: Mapping[str, Any], archive: Path) -> None:
    """Refuse weights that are not, name for name and shape for shape, those of the configuration."""
    import torch
    from transformers import BertConfig, BertModel

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
