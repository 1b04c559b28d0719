"""DecompX: every vector of every layer as a sum over the input tokens, feed-forward parts included, down to an answer's logit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from eyeline.errors import ModelError
from eyeline.measure.causes.blocks import (
    WITHIN,
    Block,
    FrozenNorm,
    ModulePass,
    bias_of,
    frozen_norm,
    is_linear,
    linear_parts,
    same,
    share_bias,
    through_activation,
)
from eyeline.models.attention import following_gradients


def decomposed_layers(blocks: Sequence[Block]) -> Iterator[torch.Tensor]:
    """The parts of each layer's output, layer after layer: [token, input token, hidden]; their sum over input tokens is the output.

    Norms keep their deviations, activations are lines through the origin, biases are shared out by |b · z|.
    Source: Modarressi et al. 2023.
    """
    first = blocks[0].layer.entered
    parts = first.new_zeros(len(first), *first.shape)
    tokens = torch.arange(len(first))
    parts[tokens, tokens] = first  # [token, input token, hidden]
    for block in blocks:
        parts = _through_block(block, parts)
        if not same(parts.sum(1), block.layer.left, 1e-2):
            raise ModelError(
                f"DecompX does not add up in layer {block.slot.layer} of {block.name}.",
                "Its block does more than attention and feed-forward.",
            )
        yield parts


def to_logit(parts: torch.Tensor, position: int, links: Sequence[Link], index: int) -> torch.Tensor:
    """The parts of the last layer, at the position of the answer, through the head: [input token], which sums to the logit."""
    current = parts[position : position + 1]  # [1, input token, hidden]
    for link in links:
        current = link.of_parts(current, biases=True)
    return current[0, :, index]


def _through_block(block: Block, parts: torch.Tensor) -> torch.Tensor:
    norms = block.residual
    if norms.branch or (norms.form == "pre" and norms.second is None) or norms.scale != 1:
        raise ModelError(
            f"DecompX is not exact for {block.name}: its layers are neither norm(x + attention) nor x + attention(norm(x)).",
            "Use globenc, alti, integrated-gradients or value-zeroing.",
        )
    if block.gates is not None:
        raise ModelError(
            f"DecompX is not exact for {block.name}: what its heads write passes gates (two projections are multiplied).",
            "Use globenc, alti, integrated-gradients or value-zeroing.",
        )
    entered = parts
    if norms.form == "pre":
        entered = _through_first_norm(block, parts)
    attended = _through_attention(block, entered)
    middle = share_bias(parts + norms.factor * attended, norms.factor * bias_of(block.output))
    if norms.first is not None:
        middle = share_bias(norms.first.of_parts(middle), norms.first.bias)
        out = middle + _through_forward(block, middle)
        return out if norms.second is None else share_bias(norms.second.of_parts(out), norms.second.bias)
    normed = middle if norms.second is None else share_bias(norms.second.of_parts(middle), norms.second.bias)
    return middle + _through_forward(block, normed)


def _through_first_norm(block: Block, parts: torch.Tensor) -> torch.Tensor:
    if block.value is not None and same(block.value.entered, block.layer.entered):
        return parts
    step = next(
        (s for s in block.steps if same(s.entered, block.layer.entered) and block.value and same(s.left, block.value.entered)), None
    )
    norm = None if step is None else frozen_norm(step)
    if norm is None:
        raise ModelError(f"The norm before the attention of layer {block.slot.layer} of {block.name} is not a layer norm or an RMS norm.")
    return share_bias(norm.of_parts(parts), norm.bias)


def _through_attention(block: Block, parts: torch.Tensor) -> torch.Tensor:
    """[token, input token, hidden] → what the heads write of each input token: the same shape, without the output's bias."""
    if block.value is None:
        raise ModelError(f"The value projection of layer {block.slot.layer} of {block.name} is not a linear module of its own.")
    heads, n, dim = block.values.shape
    moved = linear_parts(block.value, parts)
    width = moved.shape[-1]
    key_heads = block.slot.n_key_heads
    values = share_bias(moved, bias_of(block.value))[..., width - key_heads * dim :]  # [token, input token, key head · dim]
    by_head = values.reshape(n, n, key_heads, dim).repeat_interleave(heads // key_heads, dim=2)  # [key, input token, head, dim]
    mixed = torch.einsum("hqk,kthd->qthd", block.weights, by_head)  # [query, input token, head, dim]
    return linear_parts(block.output, mixed.reshape(n, n, heads * dim))


def _through_forward(block: Block, parts: torch.Tensor) -> torch.Tensor:
    """[token, input token, hidden] → the parts of what the feed-forward block adds."""
    first, second = forward_modules(block)
    inner = share_bias(linear_parts(first, parts), bias_of(first))
    activated = through_activation(inner, first.left, second.entered)
    return share_bias(linear_parts(second, activated), bias_of(second))


def forward_modules(block: Block) -> tuple[ModulePass, ModulePass]:
    """The two linear modules of the feed-forward part. A gated one has three, and is refused: a product of two sums is no sum of parts."""
    norms = block.residual
    linear = [step for step in block.steps if is_linear(step)]
    into = [step for step in linear if same(step.entered, norms.forward_input) and step is not block.value and step.left.shape[-1] > 1]
    after = [step for step in into if _index(block, step) > _index(block, block.output)]
    last = [step for step in linear if same(step.left, norms.forward, 1e-3) and _index(block, step) > _index(block, block.output)]
    if len(after) > 1:
        raise ModelError(
            f"DecompX is not exact for {block.name}: its feed-forward part is gated (two projections are multiplied).",
            "Use globenc, alti, integrated-gradients or value-zeroing.",
        )
    if len(after) != 1 or not last or after[0].left.shape != last[-1].entered.shape:
        raise ModelError(
            f"DecompX is not exact for {block.name}: its feed-forward part is not linear, activation, linear.",
            "Use globenc, alti, integrated-gradients or value-zeroing.",
        )
    return after[0], last[-1]


def _index(block: Block, step: ModulePass) -> int:
    return next(i for i, other in enumerate(block.steps) if other is step)


# ---- From a token's last vector to the logits: the linear modules, norms and activations of a model's head


@dataclass(frozen=True)
class Link:
    """One part of the head.

    kind   linear; norm, with its deviation held; activation, number by number; factor: what a model does to its logits in the end, which
           keeps their order (division by a number, a softcap): each logit is multiplied with what it was in the pass
    """

    kind: str
    step: ModulePass
    norm: FrozenNorm | None = None

    def of_parts(self, parts: torch.Tensor, *, biases: bool) -> torch.Tensor:
        """Parts [1, part, dim] through this link; with biases they are shared out, so that the sum stays whole."""
        if self.kind == "linear":
            moved, bias = linear_parts(self.step, parts), bias_of(self.step)
        elif self.norm is not None:
            moved, bias = self.norm.of_parts(parts), self.norm.bias
        else:
            return through_activation(parts, self.step.entered, self.step.left)
        return share_bias(moved, bias) if biases else moved


def onto_answer(links: Sequence[Link], parts: torch.Tensor, index: int) -> torch.Tensor:
    """Parts [1, part, dim] through a linear head (norms and linear modules, no biases) onto one logit: [part]

    The last module is not run for every token of the vocabulary: the gradient of one logit is its column.
    """
    *before, last = links
    factor = torch.ones(())
    if last.kind == "factor":
        factor = last.step.left[0, index] / last.step.entered[0, index]
        *before, last = before
    for link in before:
        parts = link.of_parts(parts, biases=False)
    if last.kind != "linear":
        return factor * last.of_parts(parts, biases=False)[0, :, index]
    with following_gradients(last.step.module):
        entered = last.step.entered.detach().requires_grad_()
        (column,) = torch.autograd.grad(last.step.module(entered)[0, index], entered)  # [1, dim]
    return factor * (parts[0] @ column[0])


def find_chain(last: torch.Tensor, behind: Sequence[ModulePass], logits: torch.Tensor, position: int, name: str) -> tuple[Link, ...]:
    """The links from the last layer's output at a position to the logits, in order.

    last: [token, hidden]; behind: the steps after the last layer; logits: [vocabulary or label] at that position
    """
    current = last[position : position + 1]  # [1, dim]
    links: list[Link] = []
    for index, whole in enumerate(behind):
        step = _at(whole, current, position)
        if step is None:
            step = _behind_function(whole, current, position, behind[index + 1 :])
            if step is None or not is_linear(step):
                continue
            links.append(Link("activation", ModulePass(step.module, current, step.entered)))
        if step.left.shape == step.entered.shape and torch.equal(step.left, step.entered):
            continue  # dropout, identity
        if is_linear(step):
            links.append(Link("linear", step))
        elif (norm := frozen_norm(step)) is not None:
            links.append(Link("norm", step, norm))
        elif step.left.shape == step.entered.shape and not list(whole.module.parameters()):
            links.append(Link("activation", step))
        else:
            continue
        current = step.left
        if same(current[0], logits):
            return tuple(links)
        if current.shape[-1] == len(logits) and is_linear(step) and _grow_together(current[0], logits):
            return (*links, Link("factor", ModulePass(step.module, current, logits[None])))
    raise ModelError(
        f"The head of {name} is not a chain of linear modules, norms and activations.", "Its logits cannot be divided among the tokens."
    )


def _grow_together(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Whether the second numbers are a growing function of the first, number by number: a factor (Granite), a softcap (Gemma 2)."""
    rounding = WITHIN * float(second.abs().max())
    return bool((second[first.argsort()].diff() > -rounding).all())


def _at(step: ModulePass, current: torch.Tensor, position: int) -> ModulePass | None:
    """The step at this position alone, if the current vector entered it there."""
    if step.entered.shape[-1] != current.shape[-1]:
        return None
    for row in (position, 0):
        if row < len(step.entered) and same(step.entered[row : row + 1], current) and row < len(step.left):
            return ModulePass(step.module, step.entered[row : row + 1], step.left[row : row + 1])
    return None


def _behind_function(step: ModulePass, current: torch.Tensor, position: int, later: Sequence[ModulePass]) -> ModulePass | None:
    """A step of the same width after a plain function (tanh): only where the vector enters no later step itself."""
    if any(_at(other, current, position) is not None for other in later) or step.entered.shape[-1] != current.shape[-1]:
        return None
    row = position if position < len(step.entered) else 0
    return ModulePass(step.module, step.entered[row : row + 1], step.left[row : row + 1])
