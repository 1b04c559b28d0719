"""What a run's numbers come from: which model, which corpus, which options, which versions."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import transformers

from eyeline.models.model import Model
from eyeline.version import __version__


def provenance(kind: str, model: Model, corpus: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """What every run says of itself. corpus: its name and sha256, and how much it holds; the counts of what was used come later."""
    return {
        "kind": kind,
        "model": {
            "name": model.name,
            "revision": model.revision,
            "class": type(model.hf).__name__,
            "dtype": str(model.hf.dtype).removeprefix("torch."),
            "sha256": str(model.fingerprint),
            "stacks": {stack: list(sizes) for stack, sizes in model.gives.stacks.items()},
        },
        "corpus": dict(corpus),
        "options": dict(options),
        "versions": {
            "eyeline": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "numpy": np.__version__,
        },
    }
