"""Activation patching: run the corrupt text with head outputs from the clean one, and measure how much of the answer is restored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from eyeline.analyses.causes.circuits.contrast import Contrast
from eyeline.analyses.progress import ReportStep
from eyeline.capture.interventions.check import full_name
from eyeline.capture.interventions.records import Head, Intervention, Patch
from eyeline.capture.layout import Slot
from eyeline.errors import TraceError
from eyeline.heads import HeadRef

#: How many patched copies of a text go through the model together.
COPIES = 24

HeadOutputs = dict[HeadRef, np.ndarray]


@dataclass(frozen=True)
class Patched:
    """The share of the answer that each patch restores.

    heads       [head of the model, in order]: the whole head, at every position
    positions   [head, token]: the head at one position alone; None where it was not requested
    """

    names: tuple[HeadRef, ...]
    heads: np.ndarray
    positions: np.ndarray | None


def head_outputs(contrast: Contrast) -> tuple[HeadOutputs, HeadOutputs]:
    """What every head writes on the clean and on the corrupt text: [token, dim]."""
    return _written(contrast, 0), _written(contrast, 1)


def _written(contrast: Contrast, which: int) -> HeadOutputs:
    text = (contrast.clean_text, contrast.corrupt_text)[which]
    written: HeadOutputs = {}

    def receive(slot: Slot, output: torch.Tensor) -> None:
        for head in range(slot.n_heads):
            written[HeadRef(slot.stack, slot.layer, head)] = output[0, :, head].detach().cpu().numpy()

    contrast.model.passes.output([text.sides], inputs=text.inputs, receive=receive)
    return written


def patch_heads(contrast: Contrast, *, positions: bool = True, report: ReportStep | None = None) -> Patched:
    """Patch every head, and with `positions` every head at every token, from the clean text into the corrupt one."""
    clean = _written(contrast, 0)
    names = tuple(clean)
    patches: list[list[Intervention]] = [[Patch({name: clean[name]}, heads=[name])] for name in names]
    n_tokens = len(contrast.corrupt_text.text)
    if positions:
        patches += [[Patch({name: clean[name]}, heads=[name], positions=[token])] for name in names for token in range(n_tokens)]
    values = run_patched(contrast, patches, report)
    shares = contrast.restored(torch.tensor(values)).numpy()
    return Patched(names, shares[: len(names)], shares[len(names) :].reshape(len(names), n_tokens) if positions else None)


def run_patched(contrast: Contrast, patches: Sequence[Sequence[Intervention]], report: ReportStep | None = None) -> np.ndarray:
    """The metric of the corrupt text under each list of interventions. Layers below the patched one are computed once."""
    passes, text = contrast.model.passes, contrast.corrupt_text
    _, stored = passes.store([text.sides], inputs=text.inputs)
    order = sorted(range(len(patches)), key=lambda i: _first_layer(patches[i]))  # so that the patches of a batch start at similar layers
    values = np.zeros(len(patches))
    for start in range(0, len(order), COPIES):
        part = order[start : start + COPIES]
        copies = {name: tensor.expand(len(part), *tensor.shape[1:]) for name, tensor in text.inputs.items()}
        logits = passes.output([text.sides] * len(part), [patches[i] for i in part], inputs=copies, stored=stored).logits
        values[part] = contrast.metric(logits.float()).double().cpu().numpy()
        if report is not None:
            report(start + len(part), len(order))
    return values


def _first_layer(patches: Sequence[Intervention]) -> int:
    return min(head[-2] for patch in patches for head in (patch.heads or [(0, 0)]))


def patch_path(contrast: Contrast, sender: Head, receiver: Head) -> float:
    """Path patching (Wang et al. 2022): how much of the answer is lost if only `receiver` reads the corrupt output of `sender`.

    The clean text is run; `sender` writes what it wrote on the corrupt text, and every other head writes what it wrote on the clean one, so
    that the change reaches `receiver` without passing through another head. What `receiver` then writes is patched into a clean run.
    The share of the answer that is lost: 0, the path carries nothing; 1, everything.
    """
    layout, name = contrast.model.layout, contrast.model.name
    sender, receiver = full_name(sender, layout, name), full_name(receiver, layout, name)
    if sender.layer >= receiver.layer:
        raise TraceError(f"{sender} does not feed {receiver}.", "A head feeds heads of higher layers: name the sender first.")
    clean, corrupt = head_outputs(contrast)
    text, passes = contrast.clean_text, contrast.model.passes
    frozen: dict[Head, np.ndarray] = {**{name: z for name, z in clean.items() if name != receiver}, sender: corrupt[sender]}
    received: list[np.ndarray] = []

    def receive(slot: Slot, output: torch.Tensor) -> None:
        if (slot.stack, slot.layer) == (receiver.stack, receiver.layer):
            received.append(output[0, :, receiver.head].detach().cpu().numpy())

    passes.output([text.sides], [[Patch(frozen, heads=list(frozen))]], inputs=text.inputs, receive=receive)
    logits = passes.output([text.sides], [[Patch({receiver: received[0]}, heads=[receiver])]], inputs=text.inputs).logits
    return 1 - float(contrast.restored(contrast.metric(logits.float()))[0])
