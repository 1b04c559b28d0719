"""What a head does in a model without answers: how far the vector of a text turns when the head is switched off."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from eyeline.analyses.progress import ReportStep
from eyeline.capture.interventions.records import Ablate
from eyeline.heads import HeadRef
from eyeline.models.model import Model
from eyeline.results.table import Table

NAME = "embedding_change"


def embedding_changes(model: Model, texts: Sequence[str], report: ReportStep) -> dict[str, Table]:
    """For each head the mean over texts of 1 − cos(v, v without the head), v the mean of the last layer's vectors; with its standard error.

    The table `embedding_change` has columns layer, head, change and error.
    """
    changes: dict[tuple[int, int], list[float]] = {}
    for number, text in enumerate(texts):
        side = model.read(text, truncate=True)
        whole, stored = model.passes.store([side])
        vector = whole.last_hidden_state.double().mean(1)  # [1, dim]
        for slot in model.layout.slots:
            each = [[Ablate([HeadRef(slot.stack, slot.layer, head)])] for head in range(slot.n_heads)]
            changed = model.passes.output([side] * slot.n_heads, each, stored=stored).last_hidden_state.double().mean(1)  # [head, dim]
            turned = 1 - torch.nn.functional.cosine_similarity(changed, vector)
            for head, change in enumerate(turned.cpu().tolist()):
                changes.setdefault((slot.layer, head), []).append(change)
        report(number + 1, len(texts))
    rows = [
        {"layer": layer, "head": head, "change": float(np.mean(values)), "error": float(np.std(values, ddof=1) / len(values) ** 0.5)}
        for (layer, head), values in sorted(changes.items())
    ]
    return {NAME: Table.from_rows(rows)}
