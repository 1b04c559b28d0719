"""From a token's last vector to the logits: the linear modules, norms and activations of a model's head, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from eyeline.analyses.causes.quantities.steps import ModulePass, bias_of, frozen_norm, is_linear, linear_parts, same
from eyeline.errors import ModelError
from eyeline.measures.causes.contributions import FrozenNorm, share_bias, through_activation


@dataclass(frozen=True)
class Link:
    """One part of the head: a linear module, a norm with its deviation held, or an elementwise activation."""

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
    for link in before:
        parts = link.of_parts(parts, biases=False)
    if last.kind != "linear":
        return last.of_parts(parts, biases=False)[0, :, index]
    with torch.enable_grad():
        entered = last.step.entered.detach().requires_grad_()
        (column,) = torch.autograd.grad(last.step.module(entered)[0, index], entered)  # [1, dim]
    return parts[0] @ column[0]


def find_chain(last: torch.Tensor, behind: Sequence[ModulePass], logits: torch.Tensor, position: int, name: str) -> tuple[Link, ...]:
    """The links from the last layer's output at a position to the logits.

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
    raise ModelError(
        f"The head of {name} is not a chain of linear modules, norms and activations.", "Its logits cannot be divided among the tokens."
    )


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
