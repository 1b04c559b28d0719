"""Whole runs on a GPU against the plain forward pass, both in one process: a part of `benchmarks.cost.gpu`.

corpus      average attention + entropy of 4,000 texts of 100 to 125 tokens, a BERT of 12 x 12 with random weights: `el.analyse` from text
            to tables, and the same from texts that are tokenised already. The plain pass: SDPA, batches of 256, tokenised ahead.
distances   head distances of the same texts.
syntax      `el.syntax` over en_ewt-dev (EYELINE_DATA; else the built-in treebank) with e5-small's shape, against its plain passes.
same        every table of a run in float32 on the GPU against the processor.
today       a decoder of Llama-3-8B's shape in bf16, random weights: average attention + entropy from text to tables, against the plain
            pass over the same tokens, with the memory above its peak (one row in float16); and the trace of a text against a copy of as
            many bytes, of its last row alone, of one layer's weights, and the page of these.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import eyeline as el
from benchmarks.output import DATA
from eyeline.look.stack import as_kept
from eyeline.models.tracing import in_batches

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

    from eyeline.look.embedded import embedded

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


def plain(model: Any, examples: list[Any], size: int = 256) -> None:
    from eyeline.models.inputs import batch_inputs

    with torch.inference_mode():
        for start in range(0, len(examples), size):
            model.hf(**batch_inputs(model.hf, examples[start : start + size], 0))


def with_statistics(model: Any, groups: list[list[Any]]) -> None:
    """What `el.analyse` does with texts that are tokenised, up to its tables."""
    from eyeline.measure.statistics.loop import Groups
    from eyeline.measure.statistics.prepare import Preparation
    from eyeline.models.layout import check_layers

    statistics = [el.statistics.AverageAttention(), el.statistics.Entropy()]
    reader = Groups(model, Preparation(model), check_layers(model.layout, None), 0, None)
    for number, texts in enumerate(groups):
        for index, indices in enumerate(reader.batches(texts, statistics)):
            reader.add_batch([texts[i] for i in indices], statistics, number, index)
    for statistic in statistics:
        statistic.result()


#: Llama-3-8B's shape.
SHAPE = {
    "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
    "max_position_embeddings": 1 << 18,
}  # fmt: skip


def decoder_of_today(shape: dict[str, int] = SHAPE, device: str = "cuda") -> Any:
    """A decoder in bf16 with random weights, and a tokeniser that knows a hundred words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({f"w{i}": i for i in range(100)} | {"?": 100}, unk_token="?"))  # noqa: S106
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    torch.manual_seed(0)
    with torch.device(device):
        hf = LlamaForCausalLM._from_config(LlamaConfig(vocab_size=128, **shape), dtype=torch.bfloat16).eval()
    return el.wrap(hf, PreTrainedTokenizerFast(tokenizer_object=words, unk_token="?"), name="8B")  # noqa: S106


def in_float16(model: Any) -> Any:
    """The same model in float16; the one that is given is changed."""
    return el.wrap(model.hf.half(), model.tokenizer, name=model.name)


def today(
    model: Any, n_texts: int, n_tokens: int, timed: Callable[[Callable[[], Any]], float] = seconds, peak: Callable[[], int] | None = None
) -> dict[str, Any]:
    """`el.analyse` on texts of this length from text to tables, beside the model's own pass. peak: most bytes used since its last call."""
    from eyeline.models.attention import IMPLEMENTATION

    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{i}" for i in rng.integers(0, 100, n_tokens)) for _ in range(n_texts)]
    examples = [model.read(text) for text in texts]
    statistics = [el.statistics.AverageAttention(), el.statistics.Entropy()]
    at_once = max(1, (1 << 17) // n_tokens)
    ids = [torch.tensor([example.source.ids for example in examples[i : i + at_once]]) for i in range(0, n_texts, at_once)]
    runs: list[Any] = []

    def plain_pass() -> None:
        with torch.inference_mode():
            for batch in ids:
                model.hf.model(batch.to(model.hf.device), use_cache=False)

    model.hf.set_attn_implementation("sdpa")
    plain_peak = peak() if peak is not None else 0
    plain_s = timed(plain_pass)
    plain_peak = peak() if peak is not None else 0
    model.hf.set_attn_implementation(IMPLEMENTATION)
    analyse_s = timed(lambda: runs.append(el.analyse(model, texts, statistics)))
    facts = runs[-1].facts
    return {
        "dtype": str(model.hf.dtype).removeprefix("torch."), "texts": n_texts, "tokens": n_tokens, "plain_s": plain_s,
        "analyse_s": analyse_s, "ratio": analyse_s / plain_s,
        "bytes_above": peak() - plain_peak if peak is not None else None, "streamed": facts.streamed, "notices": list(facts.notices),
    }  # fmt: skip


def trace_of_today(model: Any, n_tokens: int = 2048, timed: Callable[[Callable[[], Any]], float] = seconds) -> dict[str, Any]:
    """The trace of one text, all layers, against a copy of as many bytes from the model's device into new memory."""
    text = " ".join(f"w{i}" for i in np.random.default_rng(0).integers(0, 100, n_tokens))
    traces: list[Any] = []

    def record() -> None:
        traces[:] = [model.trace(text)]

    trace_s = timed(record)
    stack = traces[0].decoder
    arrays = (stack.weights_by_layer, stack.queries_by_layer, stack.keys_by_layer, stack.values_by_layer)
    n_bytes = sum(array.nbytes for layers in arrays for array in as_kept(layers))
    one = torch.empty(n_bytes // len(stack.layers), dtype=torch.uint8, device=model.hf.device)
    copy_s = timed(lambda: [one.to("cpu", copy=True) for _ in stack.layers])
    middle = len(stack.layers) // 2
    of_a_layer: list[Any] = []
    layer_s = timed(lambda: of_a_layer.append(model.trace(text, layers=[middle], keep={"weights"})))
    pages: list[str] = []
    page_s = timed(lambda: pages.append(el.head_view(of_a_layer[-1], layer=middle).html()))
    return {
        "tokens": n_tokens, "trace_s": trace_s, "copy_s": copy_s, "ratio": trace_s / copy_s, "bytes": n_bytes,
        "rounded": traces[0].about.get("rounded"), "last_row_s": timed(lambda: model.trace(text, rows=[-1])), "layer_s": layer_s,
        "page_s": page_s, "page_bytes": len(pages[-1].encode()),
    }  # fmt: skip


def repeated(run: Callable[[], dict[str, Any]], repeats: int) -> dict[str, Any]:
    """The median of every number over several runs; `each`: the numbers of every run."""
    runs = [run() for _ in range(repeats)]
    numbers = [name for name, value in runs[0].items() if isinstance(value, float)]
    return {**runs[0], **{name: statistics.median(measured[name] for measured in runs) for name in numbers}} | {
        "each": {name: [measured[name] for measured in runs] for name in numbers}
    }


def corpus(hidden: int, dtype: torch.dtype, n: int = 4000) -> dict[str, Any]:
    from eyeline.measure.statistics.prepare import GROUP, Preparation
    from eyeline.models.attention import IMPLEMENTATION

    model, texts = encoder(hidden, dtype), texts_of(n)
    documents = [el.corpora.Document(text, line) for line, text in enumerate(texts)]
    groups = [Preparation(model).read_many(documents[start : start + GROUP]) for start in range(0, n, GROUP)]
    examples = [example for group in groups for example in group]
    assert all(100 <= len(example.source) <= 125 for example in examples)
    statistics = [el.statistics.AverageAttention(), el.statistics.Entropy()]
    runs = []
    model.hf.set_attn_implementation("sdpa")
    times = {"plain": seconds(lambda: plain(model, examples))}
    model.hf.set_attn_implementation(IMPLEMENTATION)
    times["analyse"] = seconds(lambda: runs.append(el.analyse(model, texts, statistics)))
    times["tokenised"] = seconds(lambda: with_statistics(model, groups))
    return {
        "hidden": hidden,
        "dtype": str(dtype).removeprefix("torch."),
        "texts": n,
        "tokens": sum(len(example.source) for example in examples),
        **{f"{name}_s": value for name, value in times.items()},
        "analyse_to_plain": times["analyse"] / times["plain"],
        "tokenised_to_plain": times["tokenised"] / times["plain"],
        "texts_per_second": n / times["analyse"],
        "streamed": runs[-1].facts.streamed,
    }


def distances(n: int = 4000) -> dict[str, float]:
    model, texts = encoder(768, torch.bfloat16), texts_of(n)
    taken = seconds(lambda: el.analyse(model, texts, [el.statistics.HeadDistances()]), 2)
    return {"texts": n, "seconds": taken, "texts_per_second": n / taken}


def syntax() -> dict[str, Any]:
    from eyeline.measure.statistics.word_maps import read_words
    from eyeline.models.attention import IMPLEMENTATION
    from eyeline.models.inputs import batch_inputs

    path = DATA / "en_ewt-dev.conllu.gz"
    bank = el.treebanks.read_treebank(path) if path.exists() else el.treebanks.sample_treebank(2000)
    sentences, model = list(bank), encoder(384, torch.float32)
    read = read_words(model, [sentence.words for sentence in sentences], [sentence.spaces for sentence in sentences])

    def passes() -> None:
        with torch.inference_mode():
            for batch in in_batches(model.layout, read.examples):
                model.hf(**batch_inputs(model.hf, [read.examples[i] for i in batch], 0))

    model.hf.set_attn_implementation("sdpa")
    times = {"plain": seconds(passes), "plain_256": seconds(lambda: plain(model, list(read.examples)))}
    model.hf.set_attn_implementation(IMPLEMENTATION)
    times["syntax"] = seconds(lambda: el.syntax(model, sentences), 2)
    times["reading"] = seconds(lambda: read_words(model, [s.words for s in sentences], [s.spaces for s in sentences]), 1)
    ratios = {"syntax_to_plain": times["syntax"] / times["plain"], "syntax_to_plain_256": times["syntax"] / times["plain_256"]}
    return {"treebank": bank.name, "sentences": len(read.examples), **{f"{name}_s": value for name, value in times.items()}, **ratios}


def largest_differences(runs: list[Any]) -> dict[str, float]:
    """Of every table of numbers, between two runs."""
    results = {}
    for name, table in runs[0].tables.items():
        numbers = [column for column, values in table.columns.items() if len(values) and isinstance(values[0], float)]
        if name != "head_map" and numbers:  # a map may be turned or mirrored
            results[name] = max(float(np.nanmax(abs(table[column] - runs[1].table(name)[column]))) for column in numbers)
    return results


def same_as_on_the_processor() -> dict[str, float]:
    texts, names = texts_of(40), ("AverageAttention", "Entropy", "HeadDistances")
    texts = [text[: 60 + 37 * index % 400] for index, text in enumerate(texts)]  # of many lengths: padding
    models = [encoder(384, torch.float32, device) for device in ("cpu", "cuda")]
    models[1].hf.load_state_dict(models[0].hf.state_dict())
    runs = [el.analyse(model, texts, [getattr(el.statistics, name)()]) for name in names for model in models]
    return {name: value for first in range(0, len(runs), 2) for name, value in largest_differences(runs[first : first + 2]).items()}
