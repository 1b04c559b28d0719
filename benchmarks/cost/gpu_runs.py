"""Whole runs on a GPU against the plain forward pass, both in one process: a part of `benchmarks.cost.gpu`.

corpus      average attention + entropy of 4,000 texts of 100 to 125 tokens, a BERT of 12 x 12 with random weights: `el.analyse` from text
            to tables, and the same from texts that are tokenised already. The plain pass: SDPA, batches of 256, tokenised ahead.
distances   head distances of the same texts.
syntax      `el.syntax` over en_ewt-dev (EYELINE_DATA; else the built-in treebank) with e5-small's shape, against its plain passes.
same        every table of a run in float32 on the GPU against the processor.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

DATA = Path(os.environ.get("EYELINE_DATA", Path(__file__).parents[3] / "shared" / "data"))
WORDS = "the cat sat on a mat , and it saw dogs that ran very long ways home . then they slept by fires while rain fell".split()  # noqa: SIM905


def seconds(run: Callable[[], Any], repeats: int = 3) -> float:
    """The median of several, after one that warms up."""
    times = []
    for _ in range(repeats + 1):
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def encoder(hidden: int, dtype: torch.dtype, device: str = "cuda") -> Any:
    """A BERT of 12 x 12 with random weights and minilm's tokeniser."""
    from transformers import AutoTokenizer, BertConfig, BertModel

    import eyeline as el
    from eyeline.models.embedded import embedded

    minilm = embedded("minilm")
    folder = minilm.find() if minilm is not None else None
    if folder is None:
        raise SystemExit("The tokeniser of minilm is needed: eyeline models get minilm")
    torch.manual_seed(0)
    config = BertConfig(hidden_size=hidden, intermediate_size=4 * hidden, num_hidden_layers=12, num_attention_heads=12)
    hf = BertModel(config).eval().to(device, dtype)
    return el.wrap(hf, AutoTokenizer.from_pretrained(folder), name=f"BERT 12 x 12, hidden {hidden}")


def texts_of(n: int) -> list[str]:
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, rng.integers(98, 124))) for _ in range(n)]


def plain(model: Any, sides: list[Any], size: int = 256) -> None:
    from eyeline.capture.inputs import batch_inputs

    with torch.inference_mode():
        for start in range(0, len(sides), size):
            model.hf(**batch_inputs(model.hf, sides[start : start + size], 0))


def folded(model: Any, groups: list[list[Any]]) -> None:
    """What `el.analyse` does with texts that are tokenised, up to its tables."""
    import eyeline as el
    from eyeline.analyses.corpus.shards import Groups
    from eyeline.analyses.prepare import Preparation
    from eyeline.capture.selection import check_layers

    statistics = [el.statistics.AverageAttention(), el.statistics.Entropy()]
    reader = Groups(model, Preparation(model), check_layers(model.layout, None), 0, None)
    for number, texts in enumerate(groups):
        for index, indices in enumerate(reader.batches(texts, statistics)):
            reader.fold([texts[i] for i in indices], statistics, number, index)
    for statistic in statistics:
        statistic.result()


def repeated(run: Callable[[], dict[str, Any]], repeats: int) -> dict[str, Any]:
    """The median of every number over several runs; `each`: the numbers of every run."""
    runs = [run() for _ in range(repeats)]
    numbers = [name for name, value in runs[0].items() if isinstance(value, float)]
    return {**runs[0], **{name: statistics.median(measured[name] for measured in runs) for name in numbers}} | {
        "each": {name: [measured[name] for measured in runs] for name in numbers}
    }


def corpus(hidden: int, dtype: torch.dtype, n: int = 4000) -> dict[str, Any]:
    import eyeline as el
    from eyeline.analyses.corpus.shards import GROUP
    from eyeline.analyses.prepare import Preparation
    from eyeline.capture.recorder import IMPLEMENTATION
    from eyeline.text.corpora.corpus import Document

    model, texts = encoder(hidden, dtype), texts_of(n)
    documents = [Document(text, line) for line, text in enumerate(texts)]
    groups = [Preparation(model).read_many(documents[start : start + GROUP]) for start in range(0, n, GROUP)]
    sides = [side for group in groups for side in group]
    assert all(100 <= len(side.source) <= 125 for side in sides)
    statistics = [el.statistics.AverageAttention(), el.statistics.Entropy()]
    runs = []
    model.hf.set_attn_implementation("sdpa")
    times = {"plain": seconds(lambda: plain(model, sides))}
    model.hf.set_attn_implementation(IMPLEMENTATION)
    times["analyse"] = seconds(lambda: runs.append(el.analyse(model, texts, statistics)))
    times["tokenised"] = seconds(lambda: folded(model, groups))
    return {
        "hidden": hidden,
        "dtype": str(dtype).removeprefix("torch."),
        "texts": n,
        "tokens": sum(len(side.source) for side in sides),
        **{f"{name}_s": value for name, value in times.items()},
        "analyse_to_plain": times["analyse"] / times["plain"],
        "tokenised_to_plain": times["tokenised"] / times["plain"],
        "texts_per_second": n / times["analyse"],
        "streamed": runs[-1].facts.streamed,
    }


def distances(n: int = 4000) -> dict[str, float]:
    import eyeline as el

    model, texts = encoder(768, torch.bfloat16), texts_of(n)
    taken = seconds(lambda: el.analyse(model, texts, [el.statistics.HeadDistances()]), 2)
    return {"texts": n, "seconds": taken, "texts_per_second": n / taken}


def syntax() -> dict[str, Any]:
    import eyeline as el
    from eyeline.analyses.word_maps import read_words
    from eyeline.capture.inputs import batch_inputs
    from eyeline.capture.recorder import IMPLEMENTATION

    path = DATA / "en_ewt-dev.conllu.gz"
    bank = el.treebanks.read_treebank(path) if path.exists() else el.treebanks.sample_treebank(2000)
    sentences, model = list(bank), encoder(384, torch.float32)
    read = read_words(model, [sentence.words for sentence in sentences], [sentence.spaces for sentence in sentences])

    def passes() -> None:
        with torch.inference_mode():
            for batch in model.in_batches(read.sides):
                model.hf(**batch_inputs(model.hf, [read.sides[i] for i in batch], 0))

    model.hf.set_attn_implementation("sdpa")
    times = {"plain": seconds(passes), "plain_256": seconds(lambda: plain(model, list(read.sides)))}
    model.hf.set_attn_implementation(IMPLEMENTATION)
    times["syntax"] = seconds(lambda: el.syntax(model, sentences), 2)
    times["reading"] = seconds(lambda: read_words(model, [s.words for s in sentences], [s.spaces for s in sentences]), 1)
    ratios = {"syntax_to_plain": times["syntax"] / times["plain"], "syntax_to_plain_256": times["syntax"] / times["plain_256"]}
    return {"treebank": bank.name, "sentences": len(read.sides), **{f"{name}_s": value for name, value in times.items()}, **ratios}


def largest_differences(runs: list[Any]) -> dict[str, float]:
    """Of every table of numbers, between two runs."""
    results = {}
    for name, table in runs[0].tables.items():
        numbers = [column for column, values in table.columns.items() if len(values) and isinstance(values[0], float)]
        if name != "head_map" and numbers:  # a map may be turned or mirrored
            results[name] = max(float(np.nanmax(abs(table[column] - runs[1].table(name)[column]))) for column in numbers)
    return results


def same_as_on_the_processor() -> dict[str, float]:
    import eyeline as el

    texts, names = texts_of(40), ("AverageAttention", "Entropy", "HeadDistances")
    texts = [text[: 60 + 37 * index % 400] for index, text in enumerate(texts)]  # of many lengths: padding
    models = [encoder(384, torch.float32, device) for device in ("cpu", "cuda")]
    models[1].hf.load_state_dict(models[0].hf.state_dict())
    runs = [el.analyse(model, texts, [getattr(el.statistics, name)()]) for name in names for model in models]
    return {name: value for first in range(0, len(runs), 2) for name, value in largest_differences(runs[first : first + 2]).items()}
