"""Edge attribution: which head feeds which, estimated for all of them at once (EAP, Syed et al. 2023; EAP-IG, Hanna et al. 2024).

An edge goes from what a sender writes (the token embeddings, or a head) into what a receiver reads (a head's queries, keys or values, or
the answer's logits), directly: not through another head. Feed-forward blocks and norms belong to the connection. Its score is

    (z_sender on the clean text − z_sender on the corrupt one) · ∂m/∂(what the receiver reads), along the direct connection,

as a share of the metric's difference between the two texts. EAP takes the gradient on the corrupt text; EAP-IG averages it over inputs
between the two texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from eyeline.analyses.causes.circuits.contrast import Contrast
from eyeline.analyses.progress import ReportStep
from eyeline.capture.interventions.change import changing
from eyeline.capture.interventions.cut import HeadsOfPass
from eyeline.capture.opening.tiny_pass import no_cache
from eyeline.errors import EyelineError, ModelError
from eyeline.heads import HeadRef
from eyeline.results.table import Table

Input = Literal["queries", "keys", "values", "logits"]
INPUTS: tuple[Input, ...] = ("queries", "keys", "values")
#: Sender, receiver, what the receiver reads → score.
EdgeScores = dict[tuple[HeadRef | str, HeadRef | str, Input], float]
#: The name of the token embeddings as a sender, and of the answer as a receiver.
EMBEDDINGS, ANSWER = "embeddings", "answer"
#: Inputs between the two texts at which EAP-IG takes gradients.
STEPS = 5


@dataclass(frozen=True)
class Edge:
    """One connection and the share of the answer that it carries, by estimate.

    sender     a head, or "embeddings"
    receiver   a head, or "answer"; where heads share keys and values, the first head of those that share them
    reads      what of the receiver: its queries, keys or values; "logits" for the answer
    """

    sender: HeadRef | str
    receiver: HeadRef | str
    reads: Input
    score: float


def edge_scores(
    contrast: Contrast, method: Literal["eap", "eap-ig"] = "eap-ig", steps: int = STEPS, report: ReportStep | None = None
) -> list[Edge]:
    """Every edge of the model, strongest first (by size). report: called after each input at which gradients were taken."""
    if method not in ("eap", "eap-ig"):
        raise EyelineError(f"method={method!r}.", 'Use "eap" or "eap-ig".')
    if steps < 1:
        raise EyelineError(f"steps={steps}.", "Use at least one step.")
    ends = [_embeddings(contrast, text.inputs["input_ids"]) for text in (contrast.clean_text, contrast.corrupt_text)]
    differences = _differences(contrast, ends)
    shares = [0.0] if method == "eap" else [(i + 0.5) / steps for i in range(steps)]
    total: EdgeScores = {}
    for number, share in enumerate(shares, start=1):
        between = ends[1] + share * (ends[0] - ends[1])
        for key, score in _scores_at(contrast, between, differences).items():
            total[key] = total.get(key, 0.0) + score / len(shares)
        if report is not None:
            report(number, len(shares))
    difference = contrast.clean - contrast.corrupt
    edges = [Edge(*key, score / difference) for key, score in total.items()]
    return sorted(edges, key=lambda edge: -abs(edge.score))


def _embeddings(contrast: Contrast, ids: torch.Tensor) -> torch.Tensor:
    return contrast.model.hf.get_input_embeddings()(ids).detach()  # type: ignore[no-any-return]


def _pass(contrast: Contrast, embeddings: torch.Tensor, *, cut: bool) -> tuple[torch.Tensor, HeadsOfPass]:
    """The metric of a text given by its embeddings, and its heads."""
    model = contrast.model
    heads = HeadsOfPass(model.layout.calls, cut)
    inputs = {name: tensor for name, tensor in contrast.corrupt_text.inputs.items() if name != "input_ids"}
    with model.passes.evaluation.for_a_pass(), torch.enable_grad(), changing(heads):
        logits = model.hf(inputs_embeds=embeddings, **inputs, **no_cache(model.hf)).logits
    return contrast.metric(logits.float())[0], heads


def _differences(contrast: Contrast, ends: list[torch.Tensor]) -> list[torch.Tensor]:
    """Clean minus corrupt, of the embeddings [1, token, hidden] and of what the heads of each layer write [1, token, head, dim]."""
    with torch.no_grad():
        clean, corrupt = (_pass(contrast, end, cut=False)[1].written for end in ends)
    return [ends[0] - ends[1], *((a - b).detach() for a, b in zip(clean, corrupt, strict=True))]


def _scores_at(contrast: Contrast, embeddings: torch.Tensor, differences: list[torch.Tensor]) -> EdgeScores:
    """The scores of all edges with gradients at one input."""
    inputs_embeds = embeddings.clone().requires_grad_()
    metric, heads = _pass(contrast, inputs_embeds, cut=False)
    head_inputs = [tensor for inputs in heads.inputs for tensor in inputs]
    gradients = torch.autograd.grad(metric, head_inputs, allow_unused=True)
    if any(gradient is not None and not bool(torch.isfinite(gradient).all()) for gradient in gradients):
        raise ModelError(f"Gradients of {contrast.model.name} are not finite (nan or infinite).", "Open the model in float32.")
    leaf = embeddings.clone().requires_grad_()
    metric, cut = _pass(contrast, leaf, cut=True)
    senders = [leaf, *cut.written]
    scores: EdgeScores = {
        (sender, ANSWER, "logits"): value[0]
        for sender, value in _along(contrast, [metric], [torch.ones(1, device=metric.device)], senders, differences, cut).items()
    }
    for index, slot in enumerate(cut.slots):
        tensors = cut.inputs[index]
        slopes = [torch.zeros_like(t) if g is None else g for t, g in zip(tensors, gradients[3 * index : 3 * index + 3], strict=True)]
        sizes = [tensor.shape[1] for tensor in tensors]
        batches = _one_head_at_a_time(slopes, sizes)
        for sender, values in _along(contrast, list(tensors), batches, senders[: index + 1], differences, cut).items():
            start = 0
            for reads, size in zip(INPUTS, sizes, strict=True):
                for number in range(size):
                    receiver = HeadRef(slot.stack, slot.layer, number * slot.n_heads // size)
                    scores[sender, receiver, reads] = values[start + number]
                start += size
    return scores


def _one_head_at_a_time(slopes: list[torch.Tensor], sizes: list[int]) -> list[torch.Tensor]:
    """Gradients [1, head, token, dim] of queries, keys and values as a batch in which each row has one head of one of them."""
    batches = []
    total, start = sum(sizes), 0
    for slope, size in zip(slopes, sizes, strict=True):
        batch = slope.new_zeros(total, *slope.shape)
        for number in range(size):
            batch[start + number, :, number] = slope[:, number]
        batches.append(batch)
        start += size
    return batches


def _along(
    contrast: Contrast,
    outputs: list[torch.Tensor],
    slopes: list[torch.Tensor],
    senders: list[torch.Tensor],
    differences: list[torch.Tensor],
    cut: HeadsOfPass,
) -> dict[HeadRef | str, np.ndarray]:
    """(difference of each sender)·(gradient along the direct connection), for every row of `slopes`: sender → [row]."""
    gradients = torch.autograd.grad(outputs, senders, slopes, retain_graph=True, allow_unused=True, is_grads_batched=True)
    scores: dict[HeadRef | str, np.ndarray] = {}
    for index, (gradient, difference) in enumerate(zip(gradients, differences, strict=False)):
        rows = len(slopes[0])
        if index == 0:
            values = torch.zeros(rows, 1) if gradient is None else (gradient * difference).sum((1, 2, 3))[:, None]
            names: list[HeadRef | str] = [EMBEDDINGS]
        else:
            slot = cut.slots[index - 1]
            values = torch.zeros(rows, slot.n_heads) if gradient is None else (gradient * difference).sum((1, 2, 4))
            names = [HeadRef(slot.stack, slot.layer, head) for head in range(slot.n_heads)]
        for number, name in enumerate(names):
            scores[name] = values[:, number].double().cpu().numpy()
    return scores


def edge_table(edges: list[Edge]) -> Table:
    """sender, receiver, reads, score"""
    rows = [{"sender": _label(e.sender), "receiver": _label(e.receiver), "reads": e.reads, "score": e.score} for e in edges]
    return Table.from_rows(rows, ("sender", "receiver", "reads", "score"))


def _label(node: HeadRef | str) -> str:
    return node if isinstance(node, str) else str(node)
