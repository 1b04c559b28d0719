"""Every edge of a GPT-2 patched exactly, with plain hooks: nothing of eyeline's own passes, gradients or cuts takes part.

For an edge, the corrupt text is run with every head held at what it wrote there; only the sender writes what it wrote on the clean text.
What the receiver's queries, keys or values have become by this is then put into a free run of the corrupt text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from eyeline.analyses.causes.circuits.edges import ANSWER, EMBEDDINGS, INPUTS
from eyeline.heads import HeadRef

#: What of the fused projection is replaced: the columns → their values [token, column].
Columns = tuple[slice, torch.Tensor]


@dataclass(frozen=True)
class Pass:
    """logits [token, vocabulary]; written: layer → [token, hidden], before the output projection; read: layer → [token, 3 · hidden]"""

    logits: torch.Tensor
    written: dict[int, torch.Tensor]
    read: dict[int, torch.Tensor]


def run(
    hf: Any, embeddings: torch.Tensor, held: Mapping[int, torch.Tensor] | None = None, replaced: Mapping[int, Columns] | None = None
) -> Pass:
    """One text. held: what the heads of each layer write, whatever they read; replaced: by layer, columns of queries, keys and values"""
    written: dict[int, torch.Tensor] = {}
    read: dict[int, torch.Tensor] = {}

    def reading(layer: int) -> Callable[..., torch.Tensor]:
        def hook(_module: Any, _given: Any, output: torch.Tensor) -> torch.Tensor:
            output = output.clone()
            if replaced and layer in replaced:
                columns, values = replaced[layer]
                output[0, :, columns] = values
            read[layer] = output[0]
            return output

        return hook

    def writing(layer: int) -> Callable[..., Any]:
        def hook(_module: Any, given: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
            output = held[layer][None] if held else given[0]
            written[layer] = output[0].clone()
            return (output,)

        return hook

    with ExitStack() as stack, torch.no_grad():
        for layer, block in enumerate(hf.transformer.h):
            stack.enter_context(hooked(block.attn.c_attn.register_forward_hook(reading(layer))))
            stack.enter_context(hooked(block.attn.c_proj.register_forward_pre_hook(writing(layer))))
        logits = hf(inputs_embeds=embeddings).logits[0]
    return Pass(logits, written, read)


@contextmanager
def hooked(handle: Any) -> Iterator[None]:
    try:
        yield
    finally:
        handle.remove()


def exact_edges(hf: Any, clean_ids: list[int], corrupt_ids: list[int], right: int, wrong: int) -> dict[tuple[Any, Any, str], float]:
    """(sender, receiver, what it reads) → the share of the answer that comes back through this edge alone."""
    layers, heads = hf.config.n_layer, hf.config.n_head
    width, size = hf.config.n_embd, hf.config.n_embd // hf.config.n_head
    embed = hf.transformer.wte
    clean_start, corrupt_start = (embed(torch.tensor([ids])).detach() for ids in (clean_ids, corrupt_ids))
    clean, corrupt = run(hf, clean_start), run(hf, corrupt_start)

    def metric(outcome: Pass) -> float:
        return float(outcome.logits[-1, right] - outcome.logits[-1, wrong])

    whole = metric(clean) - metric(corrupt)
    senders: list[Any] = [EMBEDDINGS, *(HeadRef("decoder", layer, head) for layer in range(layers) for head in range(heads))]
    edges: dict[tuple[Any, Any, str], float] = {}
    for sender in senders:
        held = {layer: z.clone() for layer, z in corrupt.written.items()}
        if sender != EMBEDDINGS:
            part = slice(sender.head * size, (sender.head + 1) * size)
            held[sender.layer][:, part] = clean.written[sender.layer][:, part]
        heard = run(hf, clean_start if sender == EMBEDDINGS else corrupt_start, held=held)
        edges[sender, ANSWER, "logits"] = (metric(heard) - metric(corrupt)) / whole
        for layer in range(0 if sender == EMBEDDINGS else sender.layer + 1, layers):
            for number, reads in enumerate(INPUTS):
                for head in range(heads):
                    columns = slice(number * width + head * size, number * width + (head + 1) * size)
                    outcome = run(hf, corrupt_start, replaced={layer: (columns, heard.read[layer][:, columns])})
                    edges[sender, HeadRef("decoder", layer, head), reads] = (metric(outcome) - metric(corrupt)) / whole
    return edges
