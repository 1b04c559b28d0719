"""A decoder of today on a processor: what can be measured without a GPU, and which rows wait for one. JSON out.

    python -m benchmarks.cost.today [-o benchmarks/cost/today.json]
    python -m benchmarks.cost.today --write benchmarks/cost/today.json     the section of docs/results.md, from what was measured

runs        average attention + entropy from text to tables beside the plain pass (SDPA) over the same tokens: a Llama of 8 layers, 8 heads
            of 64 that share 2 keys, random weights, in bf16 and float32. Processor time, in turn, medians of five
trace       a trace with all layers, weights, queries, keys and values, beside the plain pass
precision   the largest difference of a quantity in bf16 from that of the same weights in float32, as a part of its largest number
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import eyeline as el
from benchmarks.cost.gpu import TODAY
from benchmarks.cost.gpu_runs import decoder_of_today
from benchmarks.output import give, markdown_table, put_section

SHAPE = {
    "hidden_size": 512, "intermediate_size": 1408, "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 2,
    "max_position_embeddings": 1 << 13, "initializer_range": 0.1,
}  # fmt: skip
RUNS = ((1, 2048), (16, 256))
QUANTITIES = ("norms", "n-resout", "globenc", "alti", "value-zeroing", "logits", "rollout")


def in_turn(calls: dict[str, Callable[[], Any]], repeats: int = 5) -> dict[str, float]:
    """Processor time of each, one after the other, again and again: medians, after one round that warms up."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats + 1):
        for name, call in calls.items():
            start = time.process_time()
            call()
            times[name].append(time.process_time() - start)
    return {name: statistics.median(each[1:]) for name, each in times.items()}


def texts_of(n_texts: int, n_tokens: int) -> list[str]:
    rng = np.random.default_rng(0)
    return [" ".join(f"w{i}" for i in rng.integers(0, 100, n_tokens)) for _ in range(n_texts)]


def against_plain_pass(model: el.Model, plain: el.Model, n_texts: int, n_tokens: int) -> dict[str, Any]:
    """plain: the same weights, with transformers' own attention."""
    texts = texts_of(n_texts, n_tokens)
    ids = torch.tensor([model.read(text).source.ids for text in texts])
    asked = [el.statistics.AverageAttention(), el.statistics.Entropy()]
    runs: list[Any] = []

    def plain_pass() -> None:
        with torch.inference_mode():
            plain.hf.model(ids, use_cache=False)

    times = in_turn({"plain_s": plain_pass, "analyse_s": lambda: runs.append(el.analyse(model, texts, asked))})
    return {
        "texts": n_texts,
        "tokens": n_tokens,
        **times,
        "ratio": times["analyse_s"] / times["plain_s"],
        "streamed": runs[-1].facts.streamed,
    }


def of_trace(model: el.Model, plain: el.Model, n_tokens: int = 1024) -> dict[str, Any]:
    (text,) = texts_of(1, n_tokens)
    ids = torch.tensor([model.read(text).source.ids])

    def plain_pass() -> None:
        with torch.inference_mode():
            plain.hf.model(ids, use_cache=False)

    times = in_turn({"plain_s": plain_pass, "trace_s": lambda: model.trace(text)}, 3)
    return {"tokens": n_tokens, **times, "ratio": times["trace_s"] / times["plain_s"]}


def precision() -> dict[str, float]:
    """bf16 against the same weights in float32, 40 tokens."""
    half, single = decoder_of_today(SHAPE, "cpu"), decoder_of_today(SHAPE, "cpu")
    single.hf.float()
    (text,) = texts_of(1, 40)
    apart = {}
    for method in QUANTITIES:
        answer = {"answer": 5} if method == "logits" else {}
        ours, exact = (el.attribute(model, text, method=method, **answer).weights for model in (half, single))
        apart[method] = float(np.abs(ours - exact).max() / np.abs(exact).max())
    return apart


def measure() -> dict[str, Any]:
    runs, traces = [], []
    for dtype in (torch.bfloat16, torch.float32):
        model, plain = (decoder_of_today(SHAPE, "cpu") for _ in range(2))
        for each in (model, plain):
            each.hf.to(dtype)
        plain.hf.set_attn_implementation("sdpa")
        name = {"dtype": str(dtype).removeprefix("torch.")}
        runs += [{**name, **against_plain_pass(model, plain, *size)} for size in RUNS]
        traces.append({**name, **of_trace(model, plain)})
    return {"runs": runs, "trace": traces, "precision": precision()}


def section(results: dict[str, Any]) -> str:
    rows = [
        [f"{run['texts']} × {run['tokens']:,}", run["dtype"], f"{run['plain_s']:.2f} s", f"{run['analyse_s']:.2f} s", f"{run['ratio']:.2f}"]
        for run in results["runs"]
    ]
    table = markdown_table(["texts × tokens", "type", "plain pass", "`el.analyse`", "ratio"], rows)
    traces = "; ".join(f"{trace['dtype']} {trace['ratio']:.1f} times the plain pass" for trace in results["trace"])
    apart = ", ".join(f"{name} {value:.1g}" for name, value in results["precision"].items())
    waiting = ", ".join(f"{n_texts} × {n_tokens:,}" for n_texts, n_tokens in TODAY)
    return f"""## A model of today

`python -m benchmarks.cost.today -o benchmarks/cost/today.json`, then `python -m benchmarks.cost.today --write benchmarks/cost/today.json`.
On a processor: a Llama of 8 layers, 8 heads of 64 that share 2 keys, random weights; average attention and entropy from text to
tables, beside the plain pass over the same tokens. Processor time, in turn, medians of five; other programs ran at the same time:

{table}

A trace of {results["trace"][0]["tokens"]:,} tokens with all layers, weights, queries, keys and values: {traces}.
Largest difference of a quantity in bf16 from that of the same weights in float32, as a part of its largest number: {apart}.
(Rollout is of the maps of the half-precision pass; the others are computed in single precision, a layer at a time.)

**Not measured yet, for want of a GPU:** the shape of Llama-3-8B in bf16 on one H200 (texts × tokens: {waiting}; the trace of
2,048 tokens; the memory above the plain pass), several GPUs, and torchao on a GPU. `python -m benchmarks.cost.gpu` measures the first."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--write", type=Path, metavar="JSON", help="write docs/results.md from what was measured")
    options = parser.parse_args()
    if options.write:
        measured = json.loads(options.write.read_text())
        put_section("today", section(measured), origin=measured.get("made_with"))
        return
    give(measure(), options.output)


if __name__ == "__main__":
    main()
