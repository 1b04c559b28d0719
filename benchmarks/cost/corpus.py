"""What do corpus statistics cost? Ratios in one run, JSON out.

    python -m benchmarks.cost.corpus [--only segments distances long] [--tokens 32768] [--layers 2] [-o corpus.json]

segments   average attention + entropy over 200 segments of 128 tokens with the embedded model, against its plain forward pass (SDPA, no
           maps) on the same batches; time, and peak memory of the process. `statistics` is the same on texts tokenised as for
           the plain pass; `analyse` the whole call: tokenising, the check against dense maps, the hash of the weights.
distances  144 heads x 128 tokens against the plain NumPy loop of tests/reference, and at 64 and 256 tokens: linear in tokens².
long       average attention + entropy of one long text with smollm2-like shapes (random weights): peak memory. Layers pass one by
           one, so the peak does not depend on how many there are; the time does.
"""

from __future__ import annotations

import argparse
import multiprocessing
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import eyeline as el
from benchmarks.output import give
from benchmarks.process import in_process, plain_pass, resident
from eyeline.models.tracing import in_batches

SEGMENTS, LENGTH = 200, 128


def best(run: Callable[[], Any], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def _segments() -> tuple[Any, list[str]]:
    model = el.load("minilm")
    words = "the cat sat on the mat , and it saw a dog that ran a very long way home . then they slept by the fire".split()  # noqa: SIM905
    texts = [" ".join(words[(i * 7 + j * (i % 5 + 1)) % len(words)] for j in range(LENGTH - 2)) for i in range(SEGMENTS)]
    return model, texts


def with_statistics(model: Any, examples: list[Any]) -> None:
    from eyeline.measure.statistics.loop import update_statistics
    from eyeline.measure.statistics.statistic import roles_of
    from eyeline.models.layout import check_layers
    from eyeline.statistics import AverageAttention, Batch, Entropy

    statistics, layers, roles = [AverageAttention(), Entropy()], check_layers(model.layout, None), roles_of(model.tokenizer)
    for batch in in_batches(model.layout, examples):
        update_statistics(model, Batch(tuple(examples[i] for i in batch), roles), statistics, layers, streamed=True, one_pass=True)


def segments_time(repeats: int) -> dict[str, float]:
    """Both in one process, turn by turn, so that a busy machine slows both."""
    from eyeline.models.attention import IMPLEMENTATION

    model, texts = _segments()
    examples = [model.read(text) for text in texts]
    assert all(len(example.source) == LENGTH for example in examples)
    times: dict[str, list[float]] = {"plain": [], "statistics": [], "analyse": []}
    for _ in range(repeats + 1):
        model.hf.set_attn_implementation("sdpa")
        times["plain"].append(best(lambda: plain_pass(model, examples), 1))
        model.hf.set_attn_implementation(IMPLEMENTATION)
        times["statistics"].append(best(lambda: with_statistics(model, examples), 1))
        times["analyse"].append(best(lambda: el.analyse(model, texts, [el.statistics.AverageAttention(), el.statistics.Entropy()]), 1))
    results = {f"{name}_s": min(values[1:]) for name, values in times.items()}
    results["statistics_to_plain"] = results["statistics_s"] / results["plain_s"]
    results["analyse_to_plain"] = results["analyse_s"] / results["plain_s"]
    return results


def segments_memory(which: str) -> int:
    """Peak of the whole process, model included."""
    model, texts = _segments()
    examples = [model.read(text) for text in texts]
    if which == "plain":
        model.hf.set_attn_implementation("sdpa")
        plain_pass(model, examples)
    else:
        with_statistics(model, examples)
    return resident("VmHWM")


def distances(repeats: int) -> dict[str, float]:
    import numpy as np
    import torch
    from tests.reference.distances import js_between_heads as loop

    from eyeline.measure.corpus.distances import js_between_heads

    torch.manual_seed(0)
    numbers: dict[str, float] = {}
    for tokens in (64, 128, 256):
        weights = torch.randn(144, tokens, tokens).mul(2).softmax(-1)
        js_between_heads(weights)
        numbers[f"blocks_{tokens}_s"] = best(lambda weights=weights: js_between_heads(weights), repeats)
        if tokens == 128:
            start = time.perf_counter()
            expected = loop(weights.numpy())
            numbers["loop_128_s"] = time.perf_counter() - start
            numbers["largest_difference"] = float(np.abs(js_between_heads(weights).numpy() - expected).max() / tokens)
    numbers["times_faster"] = numbers["loop_128_s"] / numbers["blocks_128_s"]
    numbers["twice_the_tokens_costs"] = numbers["blocks_256_s"] / numbers["blocks_128_s"]
    return numbers


def long_text(tokens: int, layers: int) -> dict[str, float]:
    import torch
    import transformers

    from eyeline.measure.statistics.loop import update_statistics
    from eyeline.models.inputs import Example

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=layers, num_attention_heads=9, num_key_value_heads=3,
        max_position_embeddings=tokens,
    )  # fmt: skip
    model = el.wrap(transformers.LlamaModel._from_config(config, attn_implementation="eager").eval(), name="smollm2-like")
    words = tuple("." if i % 20 == 19 else "word" for i in range(tokens))
    text = el.traces.TokenizedText(
        words, tuple(range(tokens)), words, (0,) * tokens, (False,) * tokens, ids=tuple(i % 49000 for i in range(tokens))
    )
    statistics = [el.statistics.AverageAttention(), el.statistics.Entropy()]
    before = resident("VmRSS")
    start = time.perf_counter()
    update_statistics(model, el.statistics.Batch((Example(text),), {}), statistics, {"decoder": tuple(range(layers))}, streamed=True)
    seconds = time.perf_counter() - start
    peak = resident("VmHWM")
    return {"tokens": tokens, "layers": layers, "seconds": seconds, "loaded_bytes": before, "peak_bytes": peak, "below_4_GB": peak < 4e9}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=["segments", "distances", "long"], default=["segments", "distances", "long"])
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=32768)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    results: dict[str, Any] = {"machine": {"system": platform.platform(), "cpu_count": multiprocessing.cpu_count()}}
    if "segments" in arguments.only:
        result = in_process(segments_time, arguments.repeats)
        memory = {which: in_process(segments_memory, which) for which in ("plain", "statistics")}
        results["segments"] = {**result, "peak_bytes": memory, "memory_to_plain": memory["statistics"] / memory["plain"]}
    if "distances" in arguments.only:
        results["distances"] = in_process(distances, 2 * arguments.repeats)
    if "long" in arguments.only:
        results["long"] = in_process(long_text, arguments.tokens, arguments.layers)
    give(results, arguments.output)


if __name__ == "__main__":
    main()
