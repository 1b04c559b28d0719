"""A model as bytes and arrays: the same model again, in the memory of the arrays."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import eyeline as el
from eyeline.analyses.engines.packed_model import pack, unpack
from tests.capture.families import BY_NAME, FAMILIES, tiny_tokenizer
from tests.laws.statistics import new_tiny_model, tiny_model


@pytest.mark.parametrize("name", ["bert", "albert", "gpt2", "llama", "t5", "modernbert"])
def test_a_packed_model_is_the_same_model_again(name: str):
    family = BY_NAME[name]
    model = el.wrap(family.model(), tiny_tokenizer(), name=name)
    packed = pack(model)
    assert packed is not None
    again = unpack(pickle.loads(pickle.dumps(packed)))
    assert str(again.fingerprint) == str(model.fingerprint)
    assert (again.name, again.gives) == (model.name, model.gives)
    texts = ("the cat sat", "a dog ran") if model.hf.config.is_encoder_decoder else ("the cat sat", None)
    for stack, other in zip(model.trace(*texts).stacks.values(), again.trace(*texts).stacks.values(), strict=True):
        assert all((first == second).all() for first, second in zip(stack.weights_by_layer, other.weights_by_layer, strict=True))


def test_the_weights_stay_in_the_arrays():
    packed = pack(tiny_model())
    assert packed is not None
    at = {array.__array_interface__["data"][0] for array in packed.arrays}
    assert all(parameter.data_ptr() in at for parameter in unpack(packed).hf.parameters())
    assert packed.n_bytes > sum(parameter.nbytes for parameter in tiny_model().hf.parameters())


def test_weights_in_half_precision_and_arrays_that_cannot_be_written_are_read():
    packed = pack(new_tiny_model(torch.bfloat16))
    assert packed is not None
    for array in packed.arrays:
        array.flags.writeable = False
    again = unpack(packed)
    assert again.hf.dtype == torch.bfloat16
    assert np.isfinite(again.trace("the cat sat").weights).all()


def test_a_model_with_hooks_of_the_user_is_not_packed():
    model = new_tiny_model()
    model.hf.bert.encoder.layer[0].register_forward_hook(lambda module, given, result: None)
    assert pack(model) is None


@pytest.mark.slow
def test_a_new_process_unpacks_models_of_several_families(tmp_path: Path):
    models = [el.wrap(family.model(), tiny_tokenizer(), name=family.name) for family in FAMILIES if family.name in ("bert", "llama", "t5")]
    (tmp_path / "packed").write_bytes(pickle.dumps([pack(model) for model in models]))
    code = (
        "import pickle, sys; from pathlib import Path; from eyeline.analyses.engines.packed_model import unpack\n"
        "print(*[str(unpack(packed).fingerprint) for packed in pickle.loads(Path(sys.argv[1]).read_bytes())])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "packed")], capture_output=True, text=True, check=False)
    assert done.stdout.split() == [str(model.fingerprint) for model in models], done.stderr
