"""The statistics of a corpus as the paper's formulas say them: NumPy, one text and one head at a time, from dense maps."""

from __future__ import annotations

import math

import numpy as np

import eyeline as el


def average_attention(traces: list[el.Trace], sep: int | None, *, causal: bool = False) -> dict[tuple[int, int, str], float]:
    """(layer, head, target) → mean over texts of Σ_ij A[i, j] · S[i, j] / D. causal: the first position is only `first`."""
    results: dict[tuple[int, int, str], list[float]] = {}
    for trace in traces:
        (stack,) = trace.stacks.values()
        text = stack.query_text
        n = len(text)
        for layer, weights in zip(stack.layers, stack.weights_by_layer, strict=True):
            for head, map_ in enumerate(weights):
                seps = [i for i in range(n) if text.special[i] and text.ids[i] == sep]
                others = [i for i in range(n) if i not in seps]
                words = [i for i in range(n) if not text.special[i] and not (causal and i == 0)]
                dots = [i for i in words if text.tokens[i].strip(" Ġ▁") in (".", ",")]
                shares = {
                    "first": sum(map_[i, 0] for i in range(n)) / n,
                    "self": sum(map_[i, i] for i in range(n)) / n,
                    "previous": sum(map_[i, i - 1] for i in range(1, n)) / n,
                    "next": sum(map_[i, i + 1] for i in range(n - 1)) / n,
                    "punctuation": sum(map_[i, j] for i in range(n) for j in dots) / n,
                    "other": sum(map_[i, j] for i in range(n) for j in words if j not in dots) / n,
                }
                if sep is not None:
                    shares["sep"] = sum(map_[i, j] for i in range(n) for j in seps) / n
                    shares["sep_from_sep"] = sum(map_[i, j] for i in seps for j in seps) / len(seps)
                    shares["sep_from_other"] = sum(map_[i, j] for i in others for j in seps) / (n - len(seps))
                for target, share in shares.items():
                    results.setdefault((layer, head, target), []).append(float(share))
    return {key: sum(values) / len(values) for key, values in results.items()}


def entropy(traces: list[el.Trace], *, smoothing: float = 0.0, causal: bool = False) -> dict[tuple[int, int], tuple[float, float, float]]:
    """(layer, head) → mean entropy of all rows, of the first (causal: the last) row, and of even attention."""
    numbers: dict[tuple[int, int], list[tuple[float, float, float]]] = {}
    for trace in traces:
        (stack,) = trace.stacks.values()
        for layer, weights in zip(stack.layers, stack.weights_by_layer, strict=True):
            for head, map_ in enumerate(weights.astype(np.float64)):
                n = len(map_)
                smooth = (1 - smoothing) * map_ + smoothing / n
                rows = [-sum(a * math.log(a) for a in row if a > 0) for row in smooth]
                even = [math.log(i + 1) if causal else math.log(n) for i in range(n)]
                numbers.setdefault((layer, head), []).append((sum(rows) / n, rows[-1 if causal else 0], sum(even) / n))
    return {key: tuple(float(x) for x in np.mean(values, axis=0)) for key, values in numbers.items()}
