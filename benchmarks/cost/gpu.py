"""Corpus statistics on a GPU: absolute numbers for docs/results.md, JSON out.

    python -m benchmarks.cost.gpu [--tokens 131072] [--documents 64] [-o benchmarks/cost/gpu.json]
    python -m benchmarks.cost.gpu --write benchmarks/cost/gpu.json     the section of docs/results.md, from what was measured; needs no GPU

long        one text, 12 heads x 64 dims, bf16: one fused attention forward (the model's own work), then all of average attention + entropy
            from the same queries and keys. Ratio at most 1.6; peak memory at half the length must be about half (linear, no map).
check       the same statistics at 1,024 tokens against dense float32 maps.
distances   head distances of 512-token documents, 144 heads: documents a second, at least 100.
one_pass    the kernel that gives a layer's output and its statistics in one pass, against the fused forward alone.
corpus, distances_of_texts, syntax, same, today   whole runs: see gpu_runs.py.
whole       `el.analyse` itself on one text of that length, two layers of smollm2's shape in bf16, beside the model's own pass.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.cost import gpu_runs
from benchmarks.output import give, markdown_table, put_section

HEADS, DIMS, SETS = 12, 64, 6


def milliseconds(run: Callable[[], Any], repeats: int = 10) -> float:
    """The median of several, by the device's own clock, after three rounds of warming up."""
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
    return statistics.median(times)


def layer(tokens: int, causal: bool) -> Any:
    from eyeline.models.attention import AttentionCall, LayerAttention

    torch.manual_seed(0)
    queries, keys = (torch.randn(1, HEADS, tokens, DIMS, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    call = AttentionCall(torch.nn.Module(), queries, keys, keys, None, {}, causal)
    return LayerAttention("decoder" if causal else "encoder", 0, (tokens,), (tokens,), call)


def all_statistics(scores: Any, columns: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """What average attention and entropy ask of one layer."""
    from eyeline.measure.statistics.rows import fused_rows

    rows = fused_rows(scores)
    return (rows.mass(columns).sum(2), *(rows.at_offset(offset).sum(2) for offset in (-1, 0, 1)), rows.entropy().sum(2))


def long_text(tokens: int, causal: bool) -> dict[str, float]:
    scores = layer(tokens, causal)
    values = torch.randn_like(scores.call.keys)
    columns = (torch.rand(1, tokens, SETS, device="cuda") > 0.9).float()
    attention = torch.nn.functional.scaled_dot_product_attention
    forward = milliseconds(lambda: attention(scores.call.queries, scores.call.keys, values, is_causal=causal))
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
    dense = scores.call.queries.float() @ scores.call.keys.float().transpose(2, 3) * scores.call.scale
    if causal:
        dense = dense.masked_fill(torch.ones_like(dense, dtype=torch.bool).triu(1), float("-inf"))
    weights = dense.softmax(-1)
    entropy = -(weights * weights.clamp_min(1e-38).log()).sum(-1)
    mass, before, own, after, entropies = all_statistics(scores, columns)
    results = {
        "mean_mass": (mass / tokens - (weights @ columns[:, None]).mean(2)).abs().max(),
        "mean_entropy": (entropies / tokens - entropy.mean(2)).abs().max(),
        "mean_self": (own / tokens - weights.diagonal(0, 2, 3).sum(-1) / tokens).abs().max(),
        "mean_previous": (before / tokens - weights.diagonal(-1, 2, 3).sum(-1) / tokens).abs().max(),
        "mean_next": (after / tokens - weights.diagonal(1, 2, 3).sum(-1) / tokens).abs().max(),
    }
    return {name: float(value) for name, value in results.items()}


def distances(documents: int) -> dict[str, float]:
    from tests.reference.distances import js_between_heads as loop

    from eyeline.measure.corpus.distances import js_between_heads

    weights = torch.randn(144, 512, 512, device="cuda").mul(2).softmax(-1)

    def run() -> None:
        for _ in range(documents):
            js_between_heads(weights)

    taken = milliseconds(run, repeats=2)
    few = weights[:12, :64]
    difference = abs(js_between_heads(few).cpu().numpy() - loop(few.cpu().numpy())).max() / few.shape[1]
    return {"documents_per_second": documents / taken * 1000, "largest_difference_to_the_loop": float(difference)}


def tiny_decoder(device: str) -> Any:
    """A decoder with smollm2's shapes in two layers and random weights, and a tokeniser that knows a hundred words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    import eyeline as el

    words = Tokenizer(models.WordLevel({f"w{i}": i for i in range(100)} | {"?": 100}, unk_token="?"))  # noqa: S106
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=576, intermediate_size=1536, num_hidden_layers=2, num_attention_heads=9, num_key_value_heads=3,
        vocab_size=128, max_position_embeddings=1 << 18,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval().to(device, torch.bfloat16 if device == "cuda" else torch.float32)
    return el.wrap(model, PreTrainedTokenizerFast(tokenizer_object=words, unk_token="?"), name="two layers of smollm2's shape")  # noqa: S106


def whole_run(tokens: int) -> dict[str, Any]:
    """`el.analyse` itself on one text of `tokens` tokens: its time and memory, and the time of the model's own pass."""
    import eyeline as el

    model = tiny_decoder("cuda")
    words = (f"w{i}" for i in np.random.default_rng(0).integers(0, 100, tokens))
    text = " ".join(words)
    ids = torch.tensor(model.tokenizer(text)["input_ids"], device="cuda")[None]
    model.hf.set_attn_implementation("sdpa")
    with torch.inference_mode():
        forward = milliseconds(lambda: model.hf.model(ids), repeats=3)
    model = tiny_decoder("cuda")
    el.analyse(model, [text], [el.statistics.AverageAttention(), el.statistics.Entropy()])
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run = el.analyse(model, [text], [el.statistics.AverageAttention(), el.statistics.Entropy()])
    peak = torch.cuda.max_memory_allocated() - before
    numbers = {"tokens": tokens, "forward_ms": forward, "run_seconds": run.facts.total_seconds}
    return numbers | {"peak_bytes": peak, "streamed": run.facts.streamed}


def one_pass(tokens: int, dims: int, causal: bool) -> dict[str, float]:
    """The kernel that gives output and statistics, against the fused forward alone."""
    from eyeline.models.kernels import KeySets
    from eyeline.models.kernels import attention as with_numbers

    torch.manual_seed(0)
    queries, keys, values = (torch.randn(1, tokens, HEADS, dims, device="cuda", dtype=torch.bfloat16).transpose(1, 2) for _ in range(3))
    sets = KeySets.of([(torch.rand(1, tokens, SETS, device="cuda") > 0.9).float()], torch.bfloat16)
    attention = torch.nn.functional.scaled_dot_product_attention
    forward = milliseconds(lambda: attention(queries, keys, values, is_causal=causal), 5)
    both = milliseconds(lambda: with_numbers(queries, keys, values, None, dims**-0.5, causal, sets), 5)
    return {"tokens": tokens, "dims": dims, "causal": causal, "forward_ms": forward, "one_pass_ms": both, "ratio": both / forward}


#: Texts and their tokens: what is measured with a model of today's shape.
TODAY = ((1, 8192), (1, 32768), (1, 131072), (64, 2040))


def today() -> dict[str, Any]:
    """A decoder of 8B's shape: whole runs, and a trace."""

    def peak() -> int:
        highest = torch.cuda.max_memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        return highest

    model = gpu_runs.decoder_of_today()
    runs = [gpu_runs.today(model, n_texts, n_tokens, peak=peak) for n_texts, n_tokens in TODAY]
    trace = gpu_runs.trace_of_today(model)
    return {"runs": [*runs, gpu_runs.today(gpu_runs.in_float16(model), *TODAY[0], peak=peak)], "trace": trace}


#: What `analyse` may cost beside the plain pass, by texts and tokens; and a trace beside a copy of its bytes.
BARS = {(1, 8192): 1.25, (1, 32768): 1.35, (1, 131072): 1.4, (64, 2040): 1.25}
TRACE_BAR = 1.5


def section_of_today(measured: dict[str, Any], device: str) -> str:
    """What was measured of a model of today's shape, for docs/results.md."""
    rows = []
    for run in measured["runs"]:
        above = "" if run["bytes_above"] is None else f"{run['bytes_above'] / 1e9:.2f} GB"
        texts = f"{run['texts']} x {run['tokens']:,}" if run["texts"] > 1 else f"{run['tokens']:,}"
        bar = BARS.get((run["texts"], run["tokens"]))
        rows.append([
            f"{texts} tokens, {run['dtype']}", f"{run['plain_s']:.2f} s", f"{run['analyse_s']:.2f} s", f"{run['ratio']:.2f}",
            "" if bar is None else f"{bar:.2f}", above, "no maps" if run["streamed"] else "from maps",
        ])  # fmt: skip
    table = markdown_table(["average attention and entropy of", "plain pass", "`analyse`", "ratio", "bar", "memory above", "form"], rows)
    notices = sorted({notice for run in measured["runs"] for notice in run["notices"]})
    trace = measured["trace"]
    rounded = "" if trace["rounded"] is None else f" (16 bits; the largest change of a weight is {trace['rounded']:.0e})"
    return f"""## A model of today

`python -m benchmarks.cost.gpu -o benchmarks/cost/gpu.json`, then `python -m benchmarks.cost.gpu --write benchmarks/cost/gpu.json`.
A decoder of Llama-3-8B's shape with random weights, one {device}; from text to tables, medians.

{table}

{"Notices of these runs: " + " ".join(notices) if notices else "No run gave a notice."}

`trace` of {trace["tokens"]:,} tokens, all layers: {trace["trace_s"]:.2f} s for {trace["bytes"] / 1e9:.1f} GB{rounded},
{trace["ratio"]:.2f} of a copy of as many bytes into new memory (bar: {TRACE_BAR}). Its last row alone: {trace["last_row_s"]:.2f} s.
The weights of one layer: {trace["layer_s"]:.2f} s, their page {trace["page_bytes"] / 1e6:.0f} MB in {trace["page_s"]:.1f} s."""


def section(results: dict[str, Any]) -> str:
    """What was measured, for docs/results.md."""
    rows = []
    for name, title in (("long_full", "every token sees every token"), ("long_causal", "causal")):
        for item in results[name]:
            times = [f"{item['forward_ms']:.1f} ms", f"{item['statistics_ms']:.1f} ms", f"{item['ratio']:.2f}"]
            rows.append([title, f"{item['tokens']:,}", *times, f"{item['peak_bytes'] / 1e9:.2f} GB"])
    apart = max(value for name in ("check_full", "check_causal") for value in results[name].values())
    whole = [
        f"{item['tokens']:,} tokens in {item['run_seconds']:.1f} s with {item['peak_bytes'] / 1e9:.2f} GB"
        f" (the model's own pass: {item['forward_ms']:.0f} ms)"
        for item in results["whole_run"]
    ]
    same = max(results["same_as_on_the_processor"].values())
    table = markdown_table(["attention", "tokens", "fused forward", "statistics", "ratio", "peak memory"], rows)
    return f"""## Long texts on a GPU

`python -m benchmarks.cost.gpu -o benchmarks/cost/gpu.json`, then `python -m benchmarks.cost.gpu --write benchmarks/cost/gpu.json`.
One {results["device"]}, torch {results["torch"]}; 12 heads of 64 dimensions in bf16.
All of average attention and entropy, beside one fused attention forward of the same queries and keys (target: ≤ 1.6):

{table}

Twice the length takes twice the memory: no map is ever formed (at 131,072 tokens the maps of one layer would need 412 GB in bf16).
At 1,024 tokens the means lie within {apart:.1g} of dense float32 maps.
`el.analyse` from text to tables, two layers of smollm2's shape: {"; ".join(whole)}.

Head distances of 512-token documents, 144 heads: {results["distances"]["documents_per_second"]:.0f} documents a second (target: ≥ 100),
within {results["distances"]["largest_difference_to_the_loop"]:.1g} nats of the plain loop.
Every table of a float32 run on the GPU lies within {same:.1g} of the same run on the processor."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=131072)
    parser.add_argument("--documents", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3, help="of the whole runs and the one-pass kernel; medians are recorded")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--write", type=Path, metavar="JSON", help="write docs/results.md from what was measured")
    arguments = parser.parse_args()
    if arguments.write:
        measured = json.loads(arguments.write.read_text())
        put_section("gpu", section(measured), origin=measured.get("made_with"))
        if "today" in measured:  # files of before have no such part
            put_section("today", section_of_today(measured["today"], measured["device"]), origin=measured.get("made_with"))
        return
    if not torch.cuda.is_available():
        parser.exit(2, "benchmarks/cost/gpu.py needs a CUDA device, and torch sees none here.\n")
    results: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    with torch.inference_mode():
        for causal in (False, True):
            name = "causal" if causal else "full"
            results[f"check_{name}"] = check(causal)
            results[f"long_{name}"] = [long_text(tokens, causal) for tokens in (arguments.tokens // 2, arguments.tokens)]
        results["distances"] = distances(arguments.documents)
        results["one_pass"] = [
            gpu_runs.repeated(partial(one_pass, arguments.tokens, dims, causal), arguments.repeats)
            for dims in (64, 128)
            for causal in (False, True)
        ]
    models = ((768, torch.bfloat16), (384, torch.float32))
    results["corpus"] = [gpu_runs.repeated(partial(gpu_runs.corpus, *model), arguments.repeats) for model in models]
    results["distances_of_texts"] = gpu_runs.repeated(gpu_runs.distances, arguments.repeats)
    results["syntax"] = gpu_runs.repeated(gpu_runs.syntax, arguments.repeats)
    results["same_as_on_the_processor"] = gpu_runs.same_as_on_the_processor()
    lengths = (arguments.tokens // 2, arguments.tokens)
    results["whole_run"] = [gpu_runs.repeated(partial(whole_run, tokens), arguments.repeats) for tokens in lengths]
    results["today"] = today()
    give(results, arguments.output)


if __name__ == "__main__":
    main()
