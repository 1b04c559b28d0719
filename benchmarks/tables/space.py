"""How often near means attends, every gauge by every projection, as the section `space` of docs/results.md.

    python -m benchmarks.tables.space --model FOLDER_OR_NAME --keep space.json [--again]

The first paragraphs of GAP (gap-development.tsv.gz, read where it lies, --data; not part of this repository), about --tokens tokens, and as
many held out for the fitted projections. All heads by PCA, fitted and freed; the heads of --sample by UMAP and t-SNE too, and, on --few
tokens, in every gauge. With the same --keep the command continues where it was stopped; with --again it measures every row anew.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import eyeline as el
from benchmarks.output import existing, made_with, markdown_table, put_section, section_parser
from eyeline.mathematics import METHODS, project
from eyeline.measure.space.capture import CapturedStack, capture_space, gauge_layer, mean_entropy, shared_scale, stack_fidelity
from eyeline.measure.space.fit import Parallel, divergence, fit_projections, free_texts, head_texts
from eyeline.measure.space.options import GAUGES
from eyeline.measure.space.stack import SpaceTokens, Vectors

GAP = "gap-development.tsv.gz"
#: Layer and head of those on which the slow projections are measured: spread over the model.
SAMPLE = "0:3,6:2,11:2"
#: Row → what the table calls it.
GAUGE_NAMES = {
    "none": "none",
    "attentionviz": "AttentionViz",
    "searched": "searched shift and scale",
    "shared": "AttentionViz, one scale",
    "lifted": "lifted",
}
PROJECTION_NAMES = {"before": "before projection", "pca": "PCA", "umap": "UMAP", "tsne": "t-SNE", "fitted": "fitted", "freed": "freed"}
HEADER = ["gauge", "projection", "nearest", "nearest five", "rank correlation"]

Numbers = dict[str, float]


def main() -> None:
    parser = section_parser(__doc__)
    parser.add_argument("--model", default="e5-small", help="an embedded name, a folder or a hub id")
    parser.add_argument("--tokens", type=int, default=5000, help="about how many tokens to use, and as many held out")
    parser.add_argument("--sample", default=SAMPLE, help="layer:head,… for UMAP and t-SNE")
    parser.add_argument("--few", type=int, default=1200, help="about how many tokens to use for every gauge by UMAP and t-SNE")
    parser.add_argument("--keep", type=Path, help="what was measured, row after row, as JSON")
    parser.add_argument("--again", action="store_true", help="measure what --keep holds anew")
    parser.add_argument("--beside", type=Path, help="what was kept of another model, for a table beside")
    parser.add_argument("--no-slow", action="store_true", help="leave UMAP and t-SNE out")
    arguments = parser.parse_args()
    continues = arguments.keep and arguments.keep.exists() and not arguments.again
    kept: dict[str, Any] = json.loads(arguments.keep.read_text()) if continues else {"made_with": made_with(), "rows": {}}

    def keep() -> None:
        if arguments.keep:
            arguments.keep.write_text(json.dumps(kept, indent=1) + "\n")

    measure(arguments, kept, keep)
    text = section(kept, json.loads(arguments.beside.read_text()) if arguments.beside else None)
    print(text)
    if not arguments.print:
        put_section("space", text, origin=kept["made_with"])


def measure(arguments: argparse.Namespace, kept: dict[str, Any], keep: Callable[[], None]) -> None:
    """Every row that is not there yet."""
    sample = [tuple(map(int, item.split(":"))) for item in arguments.sample.split(",")]
    model, paragraphs = el.load(arguments.model), read_paragraphs(arguments.data / GAP)
    sizes = np.cumsum([len(model.tokenizer(text)["input_ids"]) for text in paragraphs[:2000]])
    first, last = (int(np.searchsorted(sizes, n * arguments.tokens)) + 1 for n in (1, 2))
    whole, held = (capture_space(model, el.corpora.Corpus.from_texts(part)) for part in (paragraphs[:first], paragraphs[first:last]))
    about = {"model": model.name, "sample": arguments.sample, "tokens": arguments.tokens, "few": arguments.few}
    about |= {name: {what: item.counts[what] for what in ("texts", "tokens")} for name, item in (("shown", whole), ("held_out", held))}
    if kept.setdefault("about", about) != about:
        raise SystemExit(f"{arguments.keep} was measured otherwise: {kept['about']}. Give another --keep.")
    stack, other = (next(iter(item.stacks.values())) for item in (whole, held))
    kept["shape"] = [len(stack.layers), len(stack.heads)]
    rows = kept["rows"]

    def put(name: str, result: Callable[[], Numbers]) -> None:
        if name not in rows:
            rows[name] = result()
            print(name, rows[name], flush=True)
            keep()

    for gauge in (*GAUGES, "shared"):
        put(f"{gauge}.before", lambda gauge=gauge: projected([stack], gauge, "before"))
        put(f"{gauge}.pca", lambda gauge=gauge: projected([stack], gauge, "pca"))
    if "freed" not in rows:
        rows |= fitted(stack, other)
        keep()
    put("fitted 3-D", lambda: fitted(stack, other, dims=3)["fitted"])
    if arguments.no_slow:
        return
    heads = [one_head(stack, *index) for index in sample]
    for how in ("umap", "tsne"):
        put(f"attentionviz.{how}.sample", lambda how=how: projected(heads, "attentionviz", how))
    few = [first_texts(item, arguments.few) for item in heads]
    kept["few"] = {"texts": len(few[0].weights), "tokens": len(few[0].query_tokens)}
    for gauge in GAUGES:
        for how in ("before", "pca", "umap", "tsne"):
            put(f"{gauge}.{how}.few", lambda gauge=gauge, how=how: projected(few, gauge, how))
    if "freed.few" not in rows:
        each = [fitted(item, None) for item in few]
        rows |= {f"{name}.few": mean_of([item[name] for item in each]) for name in ("fitted", "freed")}
        keep()


def read_paragraphs(path: Path) -> list[str]:
    with gzip.open(existing(path), "rt", encoding="utf-8", newline="") as file:
        return list(dict.fromkeys(row["Text"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)))


def one_head(stack: CapturedStack, layer: int, head: int) -> CapturedStack:
    vectors = stack.vectors
    cut = Vectors(vectors.queries[[layer]][:, [head]], vectors.keys[[layer]][:, [head]], (vectors.scales[layer],))
    weights = tuple(entry[[layer]][:, [head]] for entry in stack.weights)
    visible = tuple(None if entry is None else entry[[layer]] for entry in stack.visible)
    return replace(stack, layers=(stack.layers[layer],), heads=(stack.heads[head],), vectors=cut, weights=weights, visible=visible)


def first_texts(stack: CapturedStack, tokens: int) -> CapturedStack:  # about `tokens` tokens
    n = int(np.searchsorted(stack.query_tokens.starts, tokens))
    q, k = (SpaceTokens(side.texts[:n]) for side in (stack.query_tokens, stack.key_tokens))
    cut = replace(stack.vectors, queries=stack.vectors.queries[:, :, : len(q)], keys=stack.vectors.keys[:, :, : len(k)])
    return replace(stack, query_tokens=q, key_tokens=k, vectors=cut, weights=stack.weights[:n], visible=stack.visible[:n])


@contextmanager
def timed(numbers: Numbers, name: str = "") -> Iterator[None]:
    """Seconds on the clock and of the processor, added to `numbers`."""
    wall, processor = time.perf_counter(), time.process_time()
    yield
    numbers[f"{name}wall"] = numbers.get(f"{name}wall", 0) + time.perf_counter() - wall
    numbers[f"{name}processor"] = numbers.get(f"{name}processor", 0) + time.process_time() - processor


def projected(stacks: list[CapturedStack], gauge: str, how: str) -> Numbers:
    """Means over all heads of these stacks, in a gauge, by a projection."""
    results: list[Numbers] = []
    for stack in stacks:
        seconds: Numbers = {}
        with timed(seconds):
            c = shared_scale(stack) if gauge == "shared" else None
        for layer in range(len(stack.layers)):
            with timed(seconds):
                gauged = gauge_layer(stack, layer, "attentionviz" if gauge == "shared" else gauge, c)
                queries, keys = gauged.queries, gauged.keys
                if how != "before":
                    both = np.concatenate([queries, keys], 1)  # [head, point, dim]
                    points = np.stack([project(item, how) for item in both])
                    queries, keys = points[:, : queries.shape[1]], points[:, queries.shape[1] :]
            seen = vars(stack_fidelity(stack, slice(layer, layer + 1), queries[None], keys[None]))
            correlation = {"correlation_before": gauged.before, "correlation_after": gauged.after}
            results.append({name: float(np.nanmean(values)) for name, values in (seen | correlation).items()} | seconds)
            seconds = {}
    means = mean_of(results)
    return means | {name: float(sum(item[name] for item in results)) for name in ("wall", "processor")}


def fitted(stack: CapturedStack, other: CapturedStack | None, *, dims: int = 2) -> dict[str, Numbers]:
    """Means over all heads of the stack, fitted and freed; for the fitted projections also on `other`, which they have not seen."""
    shape, spent = (len(stack.layers), len(stack.heads)), Numbers()
    texts = head_texts(stack)
    scales = torch.tensor(stack.vectors.scales).repeat_interleave(shape[1])
    with timed(spent):
        projections = fit_projections(texts, scales, dims=dims, run=Parallel())
    entropy = {"entropy": float(np.nanmean(mean_entropy(stack)))}

    def seen(where: CapturedStack, those: list[Any], placed: list[tuple[torch.Tensor, torch.Tensor]]) -> Numbers:
        queries, keys = (torch.cat(side, 1).numpy().reshape(*shape, -1, dims) for side in zip(*placed, strict=True))
        rows = sum(text.queries.shape[1] for text in those)
        kl = sum(float(divergence(text, *at).sum(-1).mean()) for text, at in zip(those, placed, strict=True)) / rows
        numbers = vars(stack_fidelity(where, slice(None), queries, keys))
        return {name: float(np.nanmean(values)) for name, values in numbers.items()} | {"kl": kl}

    numbers = {"fitted": spent | entropy | seen(stack, texts, [projections.project(text) for text in texts])}
    if other is not None:
        unseen = head_texts(other)
        beside = seen(other, unseen, [projections.project(text) for text in unseen])
        numbers["fitted"] |= {f"held_out_{name}": value for name, value in beside.items()}
    if dims == 2:
        with timed(spent):  # on top of the fit
            points = free_texts(texts, projections, run=Parallel())
        numbers["freed"] = spent | entropy | seen(stack, texts, points)
    return numbers


def mean_of(collected: list[Numbers]) -> Numbers:
    return {name: float(np.mean([item[name] for item in collected])) for name in collected[0]}


def section(kept: dict[str, Any], beside: dict[str, Any] | None = None) -> str:
    """The measured model; another one beside it, where it was measured too."""
    about, rows, shape = kept["about"], kept["rows"], kept["shape"]
    fit, freed, solid = rows["fitted"], rows["freed"], rows["fitted 3-D"]
    correlation = {gauge: rows[f"{gauge}.before"]["correlation_after"] for gauge in GAUGE_NAMES if f"{gauge}.before" in rows}
    options = f"--few {about['few']} --sample {about['sample']}" if "attentionviz.tsne.sample" in rows else "--no-slow"
    if beside is not None:
        options += f" --beside benchmarks/tables/space_{beside['about']['model']}.json"
    parts = [
        "## Queries and keys in one picture: how often near means attends",
        f"`python -m benchmarks.tables.space --model {about['model']} --tokens {about['tokens']} {options}`",
        f"{described(kept)}. For every query: is its most attended key the nearest key of its text in the picture, or among the nearest"
        " five? Means over heads of the share of queries, two dimensions unless said otherwise ([what this means](how-to/space.md)).",
        f"All {shape[0] * shape[1]} heads:",
        markdown_table([*HEADER, "time, all heads", "processor"], [line(name, rows[name]) for name in of_all_heads(rows)]),
        f"The fitted projections on paragraphs they have not seen: nearest {fit['held_out_top1']:.3f}, nearest five"
        f" {fit['held_out_top5']:.3f} (in three dimensions {solid['held_out_top1']:.3f} and {solid['held_out_top5']:.3f}). Of"
        f" {fit['entropy']:.2f} nats that the heads' attention has on average, the fitted picture loses {fit['kl']:.2f}"
        f" ({fit['held_out_kl']:.2f} held out), the freed one {freed['kl']:.2f}.",
        f"Dot product and distance, weighted by attention, correlate at {correlation['none']:.2f} as the model has its vectors,"
        f" {correlation['attentionviz']:.2f} in AttentionViz' gauge ({correlation['shared']:.2f} with one scale for all heads),"
        f" {correlation['searched']:.2f} with the shift and scale that were searched for it, and"
        f" {correlation['lifted']:.2f} lifted; −1 would be best.",
    ]
    if beside is not None:
        others = beside["rows"]
        table = markdown_table(HEADER, [line(name, others[name])[:5] for name in of_all_heads(others)])
        parts += [f"Beside it, {described(beside)}:", table]
    measured = [item for item in (kept, beside) if item is not None and "attentionviz.tsne.sample" in item["rows"]]
    if measured:
        parts.append(" ".join(["UMAP and t-SNE take one head at a time.", *map(slow_sample, measured)]))
    parts += next((slow_part(item) for item in measured if "freed.few" in item["rows"]), [])
    parts.append(
        "Time is from the vectors to the picture, by the clock: it is longer where other programs run too. Processor seconds, those of"
        " all threads, depend less on that; on two cores that do nothing else it takes at least half of them."
    )
    return "\n\n".join(parts)


def described(kept: dict[str, Any]) -> str:
    about, shape = kept["about"], kept["shape"]
    return (
        f"{about['model']} ({shape[0]} x {shape[1]} heads), {about['shown']['texts']} paragraphs of GAP, {about['shown']['tokens']:,}"
        f" tokens; held out: {about['held_out']['texts']} others, {about['held_out']['tokens']:,} tokens"
    )


def of_all_heads(rows: dict[str, Numbers]) -> list[str]:
    return [name for name in rows if name.count(".") < 2 and "few" not in name]


def slow_sample(kept: dict[str, Any]) -> str:
    """UMAP and t-SNE on some heads, on all tokens."""
    about = kept["about"]
    names = ["L{}·H{}".format(*item.split(":")) for item in about["sample"].split(",")]
    umap, tsne = (kept["rows"][f"attentionviz.{how}.sample"] for how in ("umap", "tsne"))
    return (
        f"On {len(names)} heads of {about['model']} ({', '.join(names)}) in AttentionViz' gauge, on all {about['shown']['tokens']:,}"
        f" tokens, UMAP has {umap['top1']:.3f} / {umap['top5']:.3f} in {umap['processor'] / len(names):.0f} processor seconds a head,"
        f" t-SNE {tsne['top1']:.3f} / {tsne['top5']:.3f} in {tsne['processor'] / len(names):.0f}."
    )


def slow_part(kept: dict[str, Any]) -> list[str]:
    """UMAP and t-SNE on some heads, in every gauge."""
    rows, n_sample = kept["rows"], len(kept["about"]["sample"].split(","))
    return [
        f"Every gauge by every projection, on these heads of {kept['about']['model']} and the first {kept['few']['texts']}"
        f" paragraphs, {kept['few']['tokens']:,} tokens:",
        markdown_table([*HEADER, "time, a head", "processor"], [line(name, rows[name], n_sample) for name in rows if "few" in name]),
    ]


def line(name: str, numbers: Numbers, heads: int = 1) -> list[str]:
    """One row of a table; times are for all heads that were measured, or for one of `heads`."""
    gauge, _, how = name.removesuffix(".few").partition(".")
    first = [GAUGE_NAMES[gauge], PROJECTION_NAMES[how]] if how in PROJECTION_NAMES else ["", f"**{name.removesuffix('.few')}**"]
    mean = heads if name.endswith(".few") and how in (*METHODS, "before") else 1
    times = [f"{numbers[item] / mean:.1f} s" for item in ("wall", "processor")]
    return [*first, f"{numbers['top1']:.3f}", f"{numbers['top5']:.3f}", f"{numbers['rank']:.2f}", *times]


if __name__ == "__main__":
    main()
