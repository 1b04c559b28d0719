"""What is around a pass is seen however it was put there, and code that only imports from elsewhere is not taken for it."""

from __future__ import annotations

import functools
import sys
import types

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import transformers.activations
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import eyeline as el
from eyeline.models.context import context


class Doubling:
    """A callable object."""

    def __call__(self, *args, **kwargs):
        return 2 * args[0]


def double(*args, **kwargs):
    return 2 * args[0]


REPLACED = {
    "a function of torch": (torch, "matmul", double),
    "a method of tensors": (torch.Tensor, "softmax", double),
    "a callable object": (F, "linear", Doubling()),
    "a partial function": (F, "gelu", functools.partial(double)),
    "a partial method": (nn.Linear, "forward", functools.partialmethod(double)),
    "a layer of torch": (nn.LayerNorm, "forward", double),
    "an activation of transformers": (transformers.activations.GELUActivation, "forward", double),
}


@pytest.mark.parametrize(("holder", "name", "new"), REPLACED.values(), ids=REPLACED)
def test_a_replaced_function_is_seen_before_and_after_a_model_is_open(minilm, monkeypatch, holder, name, new):
    assert context(None) == context(minilm._hf) == {}
    with monkeypatch.context() as patch:
        patch.setattr(holder, name, new)
        assert name in context(None)["replaced"]
        assert name in context(minilm._hf)["replaced"]
    assert context(None) == context(minilm._hf) == {}


def test_a_dispatch_mode_is_seen():
    class Passing(TorchDispatchMode):
        def __torch_dispatch__(self, function, kinds, args=(), kwargs=None):
            return function(*args, **(kwargs or {}))

    with Passing():
        assert context(None) == {"modes": "Passing"}


@pytest.mark.parametrize("name", ["cuda.matmul", "mkldnn.matmul", ""])
def test_a_precision_that_is_set_in_torchs_new_way_is_named_and_stops_nothing(minilm, name):
    settings = functools.reduce(getattr, filter(None, name.split(".")), torch.backends)
    if not hasattr(settings, "fp32_precision"):
        pytest.skip("this torch has no torch.backends.fp32_precision")
    before = settings.fp32_precision
    try:
        settings.fp32_precision = "tf32"
        assert "tf32" in context(minilm._hf)["matmul_precision"]
        assert any("tf32" in notice for notice in minilm.trace("A cat.").notices)
    finally:
        settings.fp32_precision = before
    assert context(None) == {}


def test_code_that_imports_a_helper_is_as_its_author_wrote_it(minilm, tmp_path, monkeypatch):
    (tmp_path / "helper_of_a_model.py").write_text("def rearrange(x): return x\n")
    (tmp_path / "model_with_a_helper.py").write_text(
        "from helper_of_a_model import rearrange\nfrom transformers import BertModel\nclass OwnBert(BertModel): pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    own = __import__("model_with_a_helper")
    model = el.wrap(own.OwnBert(minilm._hf.config).eval(), minilm._tokenizer, name="own")
    assert context(model._hf) == {}
    assert model.identity() == model.identity()
    monkeypatch.setattr(own.OwnBert, "forward", double)
    assert "OwnBert.forward" in context(model._hf)["replaced"]
    for name in ("model_with_a_helper", "helper_of_a_model"):
        del sys.modules[name]


@pytest.mark.parametrize(
    ("value", "change"),
    [
        (np.ones(3), lambda value: value.__setitem__(1, 2.0)),
        (types.SimpleNamespace(steering=torch.ones(3)), lambda value: value.steering.__setitem__(1, 2.0)),
        (functools.partial(double, torch.ones(2)), lambda value: value.args[0].__setitem__(1, 2.0)),
    ],
    ids=["an array", "a namespace with a tensor", "a partial function with a tensor"],
)
def test_what_an_attribute_holds_is_part_of_the_identity(minilm, value, change):
    model = el.wrap(type(minilm._hf)(minilm._hf.config).eval(), minilm._tokenizer, name="random")
    model._hf.embeddings.own = value
    before = model.identity()
    assert model.identity() == before
    change(value)
    assert model.identity() != before
