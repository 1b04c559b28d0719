"""Corpus statistics on a GPU: absolute numbers for docs/results.md, JSON out.

    python benchmarks/gpu.py [--tokens 131072] [--documents 64] [-o gpu.json]

long        one text, 12 heads x 64 dims, bf16: one fused attention forward (the model's own work), then all of average attention + entropy
            from the same queries and keys. Ratio at most 1.6; peak memory at half the length must be about half (linear, no map).
check       the same statistics at 1,024 tokens against dense float32 maps.
distances   head distances of 512-token documents, 144 heads: documents a second, at least 100.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
HEADS, DIMS, SETS = 12, 64, 6


def milliseconds(run: Callable[[], Any], repeats: int = 10) -> float:
    """Best of several, by the device's own clock, after three rounds of warming up."""
    for _ in range(3):
        run()
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return min(times)


def layer(tokens: int, causal: bool) -> Any:
    from sightline.capture.layer import LayerScores

    torch.manual_seed(0)
    queries, keys = (torch.randn(1, HEADS, tokens, DIMS, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    return LayerScores("decoder" if causal else "encoder", 0, queries, keys, None, None, DIMS**-0.5, causal, (tokens,), (tokens,))


def all_statistics(scores: Any, columns: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """What average attention and entropy ask of one layer."""
    from sightline.analyses.fused_rows import fused_rows

    rows = fused_rows(scores)
    return (rows.mass(columns).sum(2), *(rows.at_offset(offset).sum(2) for offset in (-1, 0, 1)), rows.entropy().sum(2))


def long_text(tokens: int, causal: bool) -> dict[str, float]:
    scores = layer(tokens, causal)
    values = torch.randn_like(scores.keys)
    columns = (torch.rand(1, tokens, SETS, device="cuda") > 0.9).float()
    attention = torch.nn.functional.scaled_dot_product_attention
    forward = milliseconds(lambda: attention(scores.queries, scores.keys, values, is_causal=causal))
    statistics = milliseconds(lambda: all_statistics(scores, columns))
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    all_statistics(scores, columns)
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated() - before
    return {"tokens": tokens, "forward_ms": forward, "statistics_ms": statistics, "ratio": statistics / forward, "peak_bytes": peak}


def check(causal: bool) -> dict[str, float]:
    """Largest differences from the dense map in float32 of the same bf16 queries and keys."""
    tokens = 1024
    scores = layer(tokens, causal)
    columns = (torch.rand(1, tokens, SETS, device="cuda") > 0.9).float()
    dense = scores.queries.float() @ scores.keys.float().transpose(2, 3) * scores.scale
    if causal:
        dense = dense.masked_fill(torch.ones_like(dense, dtype=torch.bool).triu(1), float("-inf"))
    weights = dense.softmax(-1)
    entropy = -(weights * weights.clamp_min(1e-38).log()).sum(-1)
    mass, before, own, after, entropies = all_statistics(scores, columns)
    found = {
        "mean_mass": (mass / tokens - (weights @ columns[:, None]).mean(2)).abs().max(),
        "mean_entropy": (entropies / tokens - entropy.mean(2)).abs().max(),
        "mean_self": (own / tokens - weights.diagonal(0, 2, 3).sum(-1) / tokens).abs().max(),
        "mean_previous": (before / tokens - weights.diagonal(-1, 2, 3).sum(-1) / tokens).abs().max(),
        "mean_next": (after / tokens - weights.diagonal(1, 2, 3).sum(-1) / tokens).abs().max(),
    }
    return {name: float(value) for name, value in found.items()}


def distances(documents: int) -> dict[str, float]:
    from tests.reference.distances import js_between_heads as loop

    from sightline.measures.similarity import js_between_heads

    weights = torch.randn(144, 512, 512, device="cuda").mul(2).softmax(-1)

    def run() -> None:
        for _ in range(documents):
            js_between_heads(weights)

    taken = milliseconds(run, repeats=2)
    few = weights[:12, :64]
    difference = abs(js_between_heads(few).cpu().numpy() - loop(few.cpu().numpy())).max() / few.shape[1]
    return {"documents_per_second": documents / taken * 1000, "largest_difference_to_the_loop": float(difference)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=131072)
    parser.add_argument("--documents", type=int, default=64)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.exit(2, "benchmarks/gpu.py needs a CUDA device, and torch sees none here.\n")
    results: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    with torch.inference_mode():
        for causal in (False, True):
            name = "causal" if causal else "full"
            results[f"check_{name}"] = check(causal)
            results[f"long_{name}"] = [long_text(tokens, causal) for tokens in (arguments.tokens // 2, arguments.tokens)]
        results["distances"] = distances(arguments.documents)
    text = json.dumps(results, indent=1)
    print(text)
    if arguments.output:
        arguments.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
