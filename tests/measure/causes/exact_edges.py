"""Every edge of a GPT-2 patched exactly, with plain hooks: nothing of eyeline's own passes, gradients or cuts takes part.

For an edge, the corrupt text is run with every node held at what it wrote there; only the sender writes what it wrote on the clean text.
What the receiver's queries, keys or values, or the input of a feed-forward block, have become by this is then put into a free run of the
corrupt text. With a small share of the sender's change instead of all of it, this is the derivative that edge attribution estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch

from eyeline import HeadRef
from eyeline.measure.causes.result import ANSWER, EMBEDDINGS, FeedForward

#: What of the fused projection is replaced: the columns → their values [token, column].
Columns = tuple[slice, torch.Tensor]


@dataclass(frozen=True)
class Pass:
    """logits [token, vocabulary]; by layer: what heads wrote [token, hidden], before the output projection; what they read
    [token, 3 · hidden]; what the feed-forward block wrote and read [token, hidden]"""

    logits: torch.Tensor
    written: dict[int, torch.Tensor]
    read: dict[int, torch.Tensor]
    block_written: dict[int, torch.Tensor]
    block_read: dict[int, torch.Tensor]


@dataclass(frozen=True)
class Changed:
    """held, blocks_held: what heads and feed-forward blocks of each layer write, whatever they read; replaced: columns of queries, keys and
    values by layer; blocks_replaced: what the block of a layer reads"""

    held: Mapping[int, torch.Tensor] | None = None
    blocks_held: Mapping[int, torch.Tensor] | None = None
    replaced: Mapping[int, Columns] | None = None
    blocks_replaced: Mapping[int, torch.Tensor] | None = None


def run(hf: Any, embeddings: torch.Tensor, changed: Changed | None = None) -> Pass:
    """One text."""
    changed = changed or Changed()
    outcome = Pass(torch.empty(0), {}, {}, {}, {})

    def reading(layer: int) -> Callable[..., torch.Tensor]:
        def hook(_module: Any, _given: Any, output: torch.Tensor) -> torch.Tensor:
            output = output.clone()
            if changed.replaced and layer in changed.replaced:
                columns, values = changed.replaced[layer]
                output[0, :, columns] = values
            outcome.read[layer] = output[0]
            return output

        return hook

    def writing(layer: int) -> Callable[..., Any]:
        def hook(_module: Any, given: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
            output = changed.held[layer][None] if changed.held else given[0]
            outcome.written[layer] = output[0].clone()
            return (output,)

        return hook

    def entering(layer: int) -> Callable[..., Any]:
        def hook(_module: Any, given: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
            replaced = changed.blocks_replaced and layer in changed.blocks_replaced
            entered = changed.blocks_replaced[layer][None] if replaced else given[0]  # type: ignore[index]
            outcome.block_read[layer] = entered[0].clone()
            return (entered,)

        return hook

    def leaving(layer: int) -> Callable[..., Any]:
        def hook(_module: Any, _given: Any, output: torch.Tensor) -> torch.Tensor:
            output = changed.blocks_held[layer][None] if changed.blocks_held else output
            outcome.block_written[layer] = output[0].clone()
            return output

        return hook

    with ExitStack() as stack, torch.no_grad():
        for layer, block in enumerate(hf.transformer.h):
            stack.enter_context(hooked(block.attn.c_attn.register_forward_hook(reading(layer))))
            stack.enter_context(hooked(block.attn.c_proj.register_forward_pre_hook(writing(layer))))
            stack.enter_context(hooked(block.mlp.register_forward_pre_hook(entering(layer))))
            stack.enter_context(hooked(block.mlp.register_forward_hook(leaving(layer))))
        logits = hf(inputs_embeds=embeddings).logits[0]
    return replace(outcome, logits=logits)


@contextmanager
def hooked(handle: Any) -> Iterator[None]:
    try:
        yield
    finally:
        handle.remove()


def exact_edges(
    hf: Any, clean_ids: list[int], corrupt_ids: list[int], right: int, wrong: int, *, blocks: bool = False, share: float = 1.0
) -> dict[tuple[Any, Any, str], float]:
    """(sender, receiver, what it reads) → the share of the answer that comes back through this edge alone.

    blocks   feed-forward blocks are nodes; otherwise they belong to the connections
    share    how much of its change the sender writes: 1, or a little, for the slope at the corrupt text
    """
    layers, heads = hf.config.n_layer, hf.config.n_head
    width, size = hf.config.n_embd, hf.config.n_embd // hf.config.n_head
    clean_start, corrupt_start = (hf.transformer.wte(torch.tensor([ids])).detach() for ids in (clean_ids, corrupt_ids))
    clean, corrupt = run(hf, clean_start), run(hf, corrupt_start)

    def metric(outcome: Pass) -> float:
        return float(outcome.logits[-1, right] - outcome.logits[-1, wrong])

    whole = (metric(clean) - metric(corrupt)) * share
    senders: list[Any] = [EMBEDDINGS, *(HeadRef("decoder", layer, head) for layer in range(layers) for head in range(heads))]
    senders += [FeedForward("decoder", layer) for layer in range(layers)] if blocks else []
    edges: dict[tuple[Any, Any, str], float] = {}
    for sender in senders:
        start = corrupt_start
        held = {layer: z.clone() for layer, z in corrupt.written.items()}
        blocks_held = {layer: z.clone() for layer, z in corrupt.block_written.items()} if blocks else None
        if isinstance(sender, HeadRef):
            part = slice(sender.head * size, (sender.head + 1) * size)
            held[sender.layer][:, part] += share * (clean.written[sender.layer] - corrupt.written[sender.layer])[:, part]
        elif isinstance(sender, FeedForward):
            blocks_held[sender.layer] += share * (clean.block_written[sender.layer] - corrupt.block_written[sender.layer])  # type: ignore[index]
        else:
            start = corrupt_start + share * (clean_start - corrupt_start)
        heard = run(hf, start, Changed(held, blocks_held))
        edges[sender, ANSWER, "logits"] = (metric(heard) - metric(corrupt)) / whole
        above = 0 if sender == EMBEDDINGS else sender.layer + 1
        for layer in range(above, layers):
            for number, reads in enumerate(("queries", "keys", "values")):
                for head in range(heads):
                    columns = slice(number * width + head * size, number * width + (head + 1) * size)
                    outcome = run(hf, corrupt_start, Changed(replaced={layer: (columns, heard.read[layer][:, columns])}))
                    edges[sender, HeadRef("decoder", layer, head), reads] = (metric(outcome) - metric(corrupt)) / whole
        for layer in range(sender.layer if isinstance(sender, HeadRef) else above, layers if blocks else 0):
            outcome = run(hf, corrupt_start, Changed(blocks_replaced={layer: heard.block_read[layer]}))
            edges[sender, FeedForward("decoder", layer), "input"] = (metric(outcome) - metric(corrupt)) / whole
    return edges
