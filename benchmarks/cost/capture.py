"""What does recording cost? Ratios in one run, JSON out.

    python -m benchmarks.cost.capture [--tokens 128 512] [--layers 12] [-o capture.json]

Against: the same model's own `output_attentions=True` with its eager attention, on the same input. Time: the ways take turns in one
process, the best of each counts. Memory: each way in a process of its own, the peak above what the loaded model uses, with an
allocator that gives every freed block back at once (Linux).
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.output import give
from benchmarks.process import in_process, resident

REPEATS = 15
SIZE = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 1024}


@dataclass(frozen=True)
class Way:
    """One way to get attention: how to make the model ready for it (not timed), and the run itself."""

    prepare: Callable[[], None]
    run: Callable[[], Any]


def candidates(tokens: int, layers: int) -> dict[str, Way]:
    """Ways to get the attention of one text of `tokens` tokens, on one model, with the attention function that each of them uses."""
    import torch
    import transformers

    import eyeline as el

    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=1000, num_hidden_layers=layers, **SIZE)
    model = el.wrap(transformers.BertModel(config, add_pooling_layer=False))
    ids = {"input_ids": torch.randint(5, 1000, (1, tokens))}

    def run_own() -> Any:
        with torch.inference_mode():
            return model.hf(**ids, output_attentions=True).attentions

    seen: list[int] = []
    ways = {
        "own": ("eager", run_own),
        "weights": ("eyeline", lambda: model.trace_inputs(ids, keep={"weights"})),
        "everything": ("eyeline", lambda: model.trace_inputs(ids)),
        "dropped": ("eyeline", lambda: model.passes.layers(None, lambda layer: seen.append(layer.layer), inputs=ids)),
    }
    return {name: Way(partial(model.hf.set_attn_implementation, function), run) for name, (function, run) in ways.items()}


def times(tokens: int, layers: int) -> dict[str, float]:
    """Best time of each, in seconds; they take turns, so that a busy machine slows all of them alike."""
    ways = candidates(tokens, layers)
    results: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(REPEATS + 2):
        for name, way in ways.items():
            way.prepare()
            start = time.perf_counter()
            kept = way.run()
            if turn > 1:
                results[name].append(time.perf_counter() - start)
            del kept
    return {name: min(taken) for name, taken in results.items()}


def peak(name: str, tokens: int, layers: int) -> int:
    """Peak memory in bytes above what the loaded models use."""
    way = candidates(tokens, layers)[name]
    way.prepare()
    for _ in range(2):
        way.run()
    gc.collect()
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    kept = way.run()
    result = resident("VmHWM") - before
    del kept
    return result


def cache_ratio(tokens: int) -> dict[str, float]:
    """The forward pass of a 12-layer model against the second, cached, trace."""
    import tempfile

    import torch
    import transformers

    import eyeline as el

    hf = transformers.BertModel(transformers.BertConfig(vocab_size=30522, num_hidden_layers=12, **SIZE), add_pooling_layer=False).eval()
    tokenizer = el.load("minilm").tokenizer
    with tempfile.TemporaryDirectory() as folder:
        hf.save_pretrained(f"{folder}/model")
        tokenizer.save_pretrained(f"{folder}/model")
        model = el.load(f"{folder}/model", cache=f"{folder}/traces")
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
        seconds = in_process(times, tokens, arguments.layers)
        names = ("own", "weights", "everything", "dropped")
        memory = {name: in_process(peak, name, tokens, arguments.layers, give_back=True) for name in names}
        memory["dropped_half_the_layers"] = in_process(peak, "dropped", tokens, arguments.layers // 2, give_back=True)
        ratios = {f"{name}_time": seconds[name] / seconds["own"] for name in names[1:]}
        ratios |= {f"{name}_memory": memory[name] / memory["own"] for name in names[1:]}
        ratios["dropped_memory_all_layers_to_half"] = memory["dropped"] / memory["dropped_half_the_layers"]
        run = {"tokens": tokens, "layers": arguments.layers, "against_own": ratios, "seconds": seconds, "peak_bytes": memory}
        results["runs"].append(run)
    results["cache"] = in_process(cache_ratio, 128)
    give(results, arguments.output)


if __name__ == "__main__":
    main()
