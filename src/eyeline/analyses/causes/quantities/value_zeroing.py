"""Value zeroing: how far each token's output turns, in each layer alone, when another token's value vector is zero."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from eyeline.analyses.causes.quantities.blocks import Block
from eyeline.analyses.causes.quantities.steps import unwatched
from eyeline.measures.causes.contributions import cosine_distances

#: Copies of a layer that are run together: this many tokens at most.
TOGETHER = 4096


def zeroed_distances(block: Block) -> torch.Tensor:
    """[query, key]: cosine distances between the layer's output and its output with the key's value zero; rows sum to 1.

    The layer itself is run on what entered it; only what its heads write is replaced. Source: Mohebbi et al. 2023.
    """
    n = len(block.layer.entered)
    step = max(1, TOGETHER // n)
    changed = [_run_without(block, list(range(first, min(first + step, n)))) for first in range(0, n, step)]
    return cosine_distances(block.layer.left, torch.cat(changed))


def _run_without(block: Block, keys: list[int]) -> torch.Tensor:
    """The layer's output without the values of these keys, one copy for each: [copy, query, hidden]"""
    heads, n, dim = block.values.shape
    copies = block.values[None].repeat(len(keys), 1, 1, 1)  # [copy, head, key, dim]
    copies[torch.arange(len(keys)), :, keys] = 0
    written = torch.einsum("hqk,chkd->cqhd", block.weights.to(copies.dtype), copies).reshape(len(keys), n, heads * dim)
    args = tuple(_repeated(value, block.layer.entered, len(keys)) for value in block.layer.args)
    options = {name: _repeated(value, block.layer.entered, len(keys)) for name, value in block.layer.options.items()}
    with _replaced_input(block, written), unwatched(), torch.no_grad():
        output = block.layer.module(*args, **options)
    result: torch.Tensor = output[0] if isinstance(output, tuple) else output
    return result


@contextmanager
def _replaced_input(block: Block, written: torch.Tensor) -> Iterator[None]:
    """Within this block and thread, the output projection takes `written` instead of what the heads wrote."""
    thread = threading.get_ident()

    def hook(_module: Any, args: tuple[Any, ...]) -> Any:
        if threading.get_ident() != thread:
            return None
        return (written.reshape(args[0].shape), *args[1:])

    handle = block.output.module.register_forward_pre_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def _repeated(value: Any, entered: torch.Tensor, copies: int) -> Any:
    """What enters a layer, once for each copy; what is shared (masks, positions) stays: it has a batch of one, which torch broadcasts."""
    if isinstance(value, torch.Tensor) and value.ndim == 3 and value.shape[1:] == entered.shape:
        return value.expand(copies, -1, -1)
    return value
