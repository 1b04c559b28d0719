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
from eyeline.errors import ModelError
from eyeline.measure.engines.worker import assignment_by_name, assignment_packed, pack, unpack
from tests.laws.statistics import new_tiny_model, tiny_model
from tests.models.changed import NoWork
from tests.models.families import BY_NAME, FAMILIES, tiny_tokenizer


@pytest.mark.parametrize("name", ["bert", "albert", "gpt2", "llama", "t5", "modernbert"])
def test_a_packed_model_is_the_same_model_again(name: str):
    family = BY_NAME[name]
    model = el.wrap(family.model(), tiny_tokenizer(), name=name)
    packed = pack(model)
    assert packed is not None
    again = unpack(pickle.loads(pickle.dumps(packed)))
    assert again.identity() == model.identity()
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


def test_a_worker_refuses_another_model_than_the_one_that_the_run_was_started_with(tmp_path: Path):
    """It computes the identity of what it has opened itself: its files, or what it was sent."""
    tiny_model()._hf.save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    work = NoWork()
    for through_numpy in (False, True):
        model = el.load(tmp_path)
        assert pickle.loads(assignment_by_name(work, model)).open(None)
        weight = model.hf.bert.encoder.layer[0].attention.self.value.weight
        if through_numpy:
            weight.detach().numpy()[3, 4] += 1
        else:
            weight.data[:8] = 0
        assert weight._version == 0, "torch itself has seen the change"
        with pytest.raises(ModelError, match="than the one that was opened first"):
            pickle.loads(assignment_by_name(work, model)).open(None)
    packed = pack(model)
    assignment = pickle.loads(assignment_packed(work, model))
    assert assignment.open(packed)
    with pytest.raises(ModelError, match="than the one that was opened first"):
        assignment.open(pack(el.load(tmp_path)))


@pytest.mark.slow
def test_a_new_process_unpacks_models_of_several_families(tmp_path: Path):
    models = [el.wrap(family.model(), tiny_tokenizer(), name=family.name) for family in FAMILIES if family.name in ("bert", "llama", "t5")]
    (tmp_path / "packed").write_bytes(pickle.dumps([pack(model) for model in models]))
    code = (
        "import pickle, sys; from pathlib import Path; from eyeline.measure.engines.worker import unpack\n"
        "print(*[unpack(packed).identity() for packed in pickle.loads(Path(sys.argv[1]).read_bytes())])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "packed")], capture_output=True, text=True, check=False)
    assert done.stdout.split() == [model.identity() for model in models], done.stderr
