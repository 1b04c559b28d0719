"""The same network with its trained embeddings and random weights everywhere else: what a probe finds there does not come from training."""

from __future__ import annotations

import copy

import torch
from torch import nn
from transformers import PreTrainedModel

from eyeline.errors import ModelError
from eyeline.models.model import Model


def reinitialised(model: Model, seed: int = 0) -> Model:
    """A copy of a model in which everything but its embeddings is random again, initialised as transformers does it.

    Embeddings are every part of the network outside its layers that holds an embedding table: of BERT the word, position and type
    tables and their layer norm, of GPT-2 the two tables. The same seed gives the same weights. The model itself is left as it is.
    """
    device = model._hf.device
    hf = copy.deepcopy(model._hf).cpu()  # the same weights on every device
    kept = {parameter for part in embedding_parts(hf) for parameter in part.parameters()}
    kept_buffers = {buffer for part in embedding_parts(hf) for buffer in part.buffers()}
    if not kept:
        raise ModelError(f"{model.name} has no embedding tables outside its layers.", "Nothing would be the same in a fresh network.")
    for module in hf.modules():
        module._is_hf_initialized = False
        for tensor in (*module.parameters(recurse=False), *module.buffers(recurse=False)):
            tensor._is_hf_initialized = tensor in kept or tensor in kept_buffers  # transformers skips tensors with this mark
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        hf.initialize_weights()
    with torch.no_grad():
        for parameter, trained in zip(hf.parameters(), model._hf.parameters(), strict=True):
            if parameter in kept:  # the code of some families ignores the mark
                parameter.copy_(trained)
    return Model(hf.to(device), copy.deepcopy(model._tokenizer), name=f"{model.name}, untrained")


def embedding_parts(hf: PreTrainedModel) -> list[nn.Module]:
    """The largest parts of a network that hold an embedding table and no list of layers."""
    parts: list[nn.Module] = []

    def walk(module: nn.Module) -> None:
        for child in module.children():
            if isinstance(child, nn.ModuleList):
                continue
            if any(isinstance(part, nn.ModuleList) for part in child.modules()):
                walk(child)
            elif any(isinstance(part, nn.Embedding) for part in child.modules()):
                parts.append(child)

    walk(hf)
    return parts
