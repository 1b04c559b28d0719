"""What does recording cost? Ratios in one run, JSON out.

    python benchmarks/capture.py [--tokens 128 512] [--layers 12] [-o capture.json]

Against: the same model's own `output_attentions=True` with its eager attention, on the same input. Each candidate runs in processes of
its own: one for time (best of many repeats), one for memory (the peak above what the loaded model uses, with an allocator that gives
every freed block back at once; Linux).
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPEATS = 15
SIZE = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 1024}


def resident(field: str) -> int:
    """VmRSS or VmHWM of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


def measure(run: Callable[[], Any], what: str) -> float:
    """Best time in seconds, or peak memory in bytes above the start."""
    for _ in range(3):
        run()
    if what == "time":
        times = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            kept = run()
            times.append(time.perf_counter() - start)
            del kept
        return min(times)
    gc.collect()
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew from here
    kept = run()
    peak = resident("VmHWM") - before
    del kept
    return float(peak)


def candidate(name: str, tokens: int, layers: int, what: str) -> float:
    """One way to get the attention of one text of so many tokens."""
    import torch
    import transformers

    import sightline as sl

    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=1000, num_hidden_layers=layers, **SIZE)
    hf = transformers.BertModel(config, add_pooling_layer=False).eval()
    hf.set_attn_implementation("eager")
    ids = torch.randint(5, 1000, (1, tokens))
    if name == "own":

        def run() -> Any:
            with torch.inference_mode():
                return hf(input_ids=ids, output_attentions=True).attentions

        return measure(run, what)
    model = sl.wrap(hf)
    if name == "dropped":
        seen: list[int] = []
        return measure(lambda: model._forward({"input_ids": ids}, None, lambda layer: seen.append(layer.layer)), what)
    keep = {"weights": {"weights"}, "everything": {"weights", "queries", "keys", "values"}}[name]
    return measure(lambda: model.trace_inputs({"input_ids": ids}, keep=keep), what)


def in_process(name: str, tokens: int, layers: int) -> dict[str, float]:
    found = {}
    for what in ("time", "memory"):
        if what == "memory":
            os.environ["MALLOC_MMAP_THRESHOLD_"] = "262144"  # read by the child's allocator when it starts
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found[what] = pool.apply(candidate, (name, tokens, layers, what))
        os.environ.pop("MALLOC_MMAP_THRESHOLD_", None)
    return found


def cache_ratio(tokens: int) -> dict[str, float]:
    """The forward pass of a 12-layer model against the second, cached, trace."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_cache_ratio, (tokens,))


def _cache_ratio(tokens: int) -> dict[str, float]:
    import tempfile

    import torch
    import transformers

    import sightline as sl

    hf = transformers.BertModel(transformers.BertConfig(vocab_size=30522, num_hidden_layers=12, **SIZE), add_pooling_layer=False).eval()
    tokenizer = sl.load("minilm").tokenizer
    with tempfile.TemporaryDirectory() as folder:
        model = sl.wrap(hf, tokenizer, cache=sl.TraceCache(folder))
        text = " ".join(["cat"] * (tokens - 2))
        model.trace(text)
        ids = torch.tensor([model.trace(text).text.ids])
        forward, cached = [], []
        for _ in range(REPEATS):
            start = time.perf_counter()
            with torch.inference_mode():
                hf(input_ids=ids)
            forward.append(time.perf_counter() - start)
            start = time.perf_counter()
            model.trace(text)
            cached.append(time.perf_counter() - start)
    return {"forward_s": min(forward), "cached_s": min(cached), "times_faster": min(forward) / min(cached)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="+", default=[128, 512])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    results: dict[str, Any] = {"machine": {"system": platform.platform(), "cpu_count": multiprocessing.cpu_count()}, "runs": []}
    for tokens in arguments.tokens:
        runs = {name: in_process(name, tokens, arguments.layers) for name in ("own", "weights", "everything", "dropped")}
        runs["dropped_half_the_layers"] = in_process("dropped", tokens, arguments.layers // 2)
        own = runs["own"]
        ratios = {
            f"{name}_{what}": runs[name][what] / own[what] for name in ("weights", "everything", "dropped") for what in ("time", "memory")
        }
        ratios["dropped_memory_all_layers_to_half"] = runs["dropped"]["memory"] / runs["dropped_half_the_layers"]["memory"]
        results["runs"].append({"tokens": tokens, "layers": arguments.layers, "against_own": ratios, "raw": runs})
    results["cache"] = cache_ratio(128)
    text = json.dumps(results, indent=1)
    print(text)
    if arguments.output:
        arguments.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
