"""Ways to change a model that torch does not count, ways around a pass, and the small model that they are tried on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tokenizers import normalizers
from transformers.models.bert import modeling_bert

import eyeline as el
from eyeline.measure.engines.work import Part, ShardResult, Work
from tests.models.families import TINY

TEXT = "the cat sat on the mat"


def bert() -> transformers.BertModel:
    torch.manual_seed(0)
    return transformers.BertModel(transformers.BertConfig(**TINY)).eval()


class Adapter(torch.nn.Module):
    """A linear layer with a change of low rank beside it, as LoRA adds it."""

    def __init__(self, layer: torch.nn.Linear) -> None:
        super().__init__()
        self.layer, self.active = layer, True
        self.down = torch.nn.Parameter(torch.randn(2, layer.in_features))
        self.up = torch.nn.Parameter(torch.randn(layer.out_features, 2))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.layer(hidden) + (hidden @ self.down.T @ self.up.T if self.active else 0)


def with_adapter() -> transformers.BertModel:
    hf = bert()
    attention: Any = hf.encoder.layer[1].attention.self
    attention.query = Adapter(attention.query)
    return hf


# ---- Changes of one tensor, through .data or through NumPy


def words(tensor: torch.Tensor) -> np.ndarray:
    """The memory of a tensor in words of 64 bits, through NumPy: no counter of torch sees what is written there."""
    return tensor.detach().numpy().reshape(-1).view(np.int64)


def one_bit(tensor: torch.Tensor) -> None:
    tensor.detach().numpy().reshape(-1).view(np.uint8)[-1] ^= 1


def two_rows_exchanged(tensor: torch.Tensor) -> None:
    rows = tensor.data if len(tensor) > 1 and tensor.ndim > 1 else tensor.data.reshape(-1, 1)
    rows[[0, 1]] = rows[[1, 0]] if not torch.equal(rows[0], rows[1]) else rows[[0, 1]] + torch.tensor([[1], [0]], dtype=rows.dtype)


def plus_minus_plus(tensor: torch.Tensor) -> None:
    words(tensor)[:3] += np.array([2, -4, 2])


def two_signs(tensor: torch.Tensor) -> None:
    """The highest bits of two words: a sum of products modulo 2⁶⁴ does not see this."""
    words(tensor)[1:3] ^= np.int64(-(2**63))


CHANGES: list[Callable[[torch.Tensor], None]] = [one_bit, two_rows_exchanged, plus_minus_plus, two_signs]


# ---- Changes of a model through what it hands out


def model_of(model: el.Model) -> Any:
    return model.hf


def tokenizer_of(model: el.Model) -> Any:
    return model.tokenizer


def today(model: el.Model) -> np.ndarray:
    """What the model computes as it is now, without any cache."""
    return el.wrap(model.hf, model.tokenizer).trace(TEXT).weights


def query_rows(model: el.Model) -> None:
    model_of(model).encoder.layer[0].attention.self.query.weight.data[:8] = 0


def one_embedding_row(model: el.Model) -> None:
    model_of(model).embeddings.word_embeddings.weight.data.numpy()[tokenizer_of(model).convert_tokens_to_ids("cat")] = 0


def position_ids(model: el.Model) -> None:
    model_of(model).embeddings.position_ids.data.zero_()


def is_decoder(model: el.Model) -> None:
    model_of(model).config.is_decoder = True


def normaliser(model: el.Model) -> None:
    tokenizer_of(model).backend_tokenizer.normalizer = normalizers.Replace("cat", "dog")


def steering_vector(model: el.Model) -> None:
    steer(model_of(model).encoder.layer[0])


def function_attribute(model: el.Model) -> None:
    layer = model_of(model).encoder.layer[0]
    layer.steer = lambda hidden: hidden * 3
    layer.forward = lambda hidden, *a, **k: type(layer).forward(layer, layer.steer(hidden), *a, **k)


def steer(layer: Any) -> None:
    layer.vector = torch.ones(32)
    layer.forward = lambda hidden, *a, **k: type(layer).forward(layer, hidden + layer.vector, *a, **k)


HANDED_OUT: list[Callable[[el.Model], None]] = [
    query_rows, one_embedding_row, position_ids, is_decoder, normaliser, steering_vector, function_attribute,
]  # fmt: skip


# ---- What is around a pass


@contextmanager
def autocast(_: pytest.MonkeyPatch) -> Iterator[None]:
    with torch.autocast("cpu", torch.bfloat16):
        yield


@contextmanager
def global_hook(_: pytest.MonkeyPatch) -> Iterator[None]:
    def change(module: torch.nn.Module, _inputs: Any, output: Any) -> Any:
        return output * 1.5 if isinstance(module, torch.nn.Linear) else None

    handle = torch.nn.modules.module.register_module_forward_hook(change)
    yield
    handle.remove()


@contextmanager
def patched_attention(patch: pytest.MonkeyPatch) -> Iterator[None]:
    original = modeling_bert.eager_attention_forward

    def uniform(module: Any, query: Any, key: Any, value: Any, mask: Any, scaling: Any = None, **options: Any) -> Any:
        return original(module, query * 0, key, value, mask, scaling=scaling, **options)

    patch.setattr(modeling_bert, "eager_attention_forward", uniform)
    yield
    patch.undo()


@contextmanager
def other_precision(_: pytest.MonkeyPatch) -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


#: What is around a pass: how it is switched on, and its name in the facts of a trace.
AROUND = [(autocast, "autocast"), (global_hook, "hooks"), (patched_attention, "replaced"), (other_precision, "default_dtype")]


class NoWork(Work[Part[str], None]):
    """Work for a worker that only opens its model."""

    def open(self, model: el.Model) -> Callable[[Part[str]], ShardResult[None]]:
        return lambda part: ShardResult(None, 0)
