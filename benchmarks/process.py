"""What several benchmarks measure with: a process of its own, its memory, and a plain forward pass."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eyeline.models.tracing import in_batches


def resident(field: str) -> int:
    """VmRSS or VmHWM of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


def in_process(function: Callable[..., Any], *arguments: Any, give_back: bool = False) -> Any:
    """Run in a new process; with `give_back`, its allocator gives every freed block back at once."""
    if give_back:
        os.environ["MALLOC_MMAP_THRESHOLD_"] = "262144"  # read by the child's allocator when it starts
    try:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            return pool.apply(function, arguments)
    finally:
        os.environ.pop("MALLOC_MMAP_THRESHOLD_", None)


def plain_pass(model: Any, examples: Any) -> None:
    """The texts through the model in eyeline's own batches, and nothing is recorded."""
    import torch

    from eyeline.models.inputs import batch_inputs

    for batch in in_batches(model.layout, examples):
        with torch.inference_mode():
            model.hf(**batch_inputs(model.hf, [examples[i] for i in batch], 0))
