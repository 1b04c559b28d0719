"""The measurements of what analyses cost as tables."""

from __future__ import annotations

from typing import Any

from benchmarks.output import markdown_table


def capture(data: dict[str, Any]) -> str:
    bars = {"weights_time": "1.05", "weights_memory": "1.0", "dropped_memory_all_layers_to_half": "flat"}
    names = {
        "weights_time": "`weights`, time",
        "weights_memory": "`weights`, peak memory",
        "everything_time": "`everything`, time",
        "everything_memory": "`everything`, peak memory",
        "dropped_time": "`dropped`, time",
        "dropped_memory": "`dropped`, peak memory",
        "dropped_memory_all_layers_to_half": "`dropped`, peak memory of all layers against half of them",
    }
    runs = data["runs"]
    rows = [[text, *(f"{run['against_own'][key]:.2f}" for run in runs), bars.get(key, "")] for key, text in names.items()]
    header = ["against `output_attentions=True`, eager", *(f"{run['tokens']} tokens" for run in runs), "bar"]
    cached = f"A cached trace (128 tokens) comes back {data['cache']['times_faster']:.1f} times faster than the forward pass (bar: 5)."
    return f"{markdown_table(header, rows)}\n\n{cached}"


def probe(data: dict[str, Any]) -> str:
    rows = [[name, f"{each['train']:.1f}", f"{each['score']:.1f}"] for name, each in data["seconds"].items()]
    whole = data["one seed, all four probes"]
    rows.append(["a seed of a whole run: all of them, the last twice (random network)", f"{whole['train']:.1f}", f"{whole['score']:.1f}"])
    return markdown_table(["probe", "training", "scoring 2,000 sentences"], [*rows, ["bar", "120", ""]])


def corpus(data: dict[str, Any]) -> str:
    parts, apart, long = data["segments"], data["distances"], data["long"]
    plain = "average attention + entropy, 200 x 128 tokens, minilm, against the plain pass (SDPA): time"
    memory = f"{long['peak_bytes'] / 1e9:.1f} GB"
    faster = f"{apart['times_faster']:.0f} times faster, {apart['largest_difference']:.0e} apart"
    rows = [
        [plain, f"{parts['statistics_to_plain']:.2f}", "1.3"],
        ["… peak memory of the process", f"{parts['memory_to_plain']:.2f}", "1.2"],
        ["… `el.analyse` whole (tokenising, check against dense maps, hash of the weights)", f"{parts['analyse_to_plain']:.2f}", "1.15"],
        ["head distances, 144 heads x 128 tokens, against the NumPy loop", faster, "25 times, 1e-6"],
        ["… twice the tokens (128 to 256)", f"{apart['twice_the_tokens_costs']:.1f} x the time", "linear in tokens²"],
        [
            f"one text of {long['tokens']:,} tokens, smollm2's shape, {long['layers']} layers: peak memory",
            memory,
            "4 GB",
        ],
    ]
    return markdown_table(["", "", "bar"], rows)


def _median(data: dict[str, Any], name: str, form: str = ".2f") -> str:
    """The median, and in brackets every run, where each was kept."""
    each = ", ".join(format(value, form) for value in data.get("each", {}).get(name, ()))
    return format(data[name], form) + (f" ({each})" if each else "")


def gpu(data: dict[str, Any]) -> str:
    (half, single), same = data["corpus"], max(data["same_as_on_the_processor"].values())
    syntax, apart, long = data["syntax"], data["distances_of_texts"], data["whole_run"][-1]
    times = long["run_seconds"] * 1000 / long["forward_ms"]
    first = "average attention + entropy, 4,000 texts of 100-125 tokens, hidden 768, bf16, from text to tables, against the plain pass"
    whole = f"`el.analyse`, one text of {long['tokens']:,} words, two layers of smollm2's shape"
    rows = [
        [f"{first} ({half['plain_s']:.2f} s)", _median(half, "analyse_to_plain"), "3"],
        ["… texts already tokenised", _median(half, "tokenised_to_plain"), "2"],
        [f"… hidden 384, float32 (plain pass {single['plain_s']:.2f} s)", _median(single, "analyse_to_plain"), "2"],
        ["… hidden 384, float32, texts already tokenised", _median(single, "tokenised_to_plain"), ""],
        ["head distances, these texts, hidden 768: texts a second", _median(apart, "texts_per_second", ".0f"), "600"],
    ]
    for part in data["one_pass"]:
        name = f"one layer of {part['tokens']:,} tokens, {'causal' if part['causal'] else 'full'}, head size {part['dims']}"
        what = "output and statistics in one pass, against the fused forward alone"
        rows.append([f"{name}: {what}", _median(part, "ratio"), "1.3" if part["dims"] == 64 else "1.5"])
    passes = (
        f"`el.syntax` over English-EWT dev ({syntax['sentences']:,} sentences), e5-small's shape, against plain passes in batches of 256"
    )
    own = f"… against plain passes in eyeline's batches for a processor ({syntax['plain_s']:.2f} s)"
    rows += [
        [f"{passes} ({syntax['plain_256_s']:.2f} s)", _median(syntax, "syntax_to_plain_256"), "3"],
        [own, _median(syntax, "syntax_to_plain"), ""],
        ["… seconds of it that read the sentences", _median(syntax, "reading_s"), ""],
        [f"{whole}: seconds (plain pass {long['forward_ms'] / 1000:.3f} s)", _median(long, "run_seconds"), ""],
        ["… against the plain pass; peak memory", f"{times:.1f}; {long['peak_bytes'] / 1e9:.1f} GB", ""],
        ["float32 tables of a run on the GPU against the processor: largest difference", f"{same:.0e}", "1e-5"],
    ]
    return markdown_table(["", "median (each run)", "bar"], rows)


def grammar(data: dict[str, Any]) -> str:
    part = data["syntax"]
    name = f"`el.syntax` over {part['treebank']} ({part['sentences']:,} sentences), minilm, against the plain passes at the same batching"
    scoring = ["… the pass with the scoring of every head alone", f"{part['scoring_to_plain']:.2f}", ""]
    return markdown_table(["", "", "bar"], [[name, f"{part['syntax_to_plain']:.2f}", "1.5"], scoring])


def start(data: dict[str, Any]) -> str:
    bars = {"import eyeline": "0.1", "eyeline --help": "0.5"}
    rows = [[f"`{name}`", f"{seconds:.2f}", bars[name]] for name, seconds in data["processor_s"].items() if name in bars]
    return markdown_table([f"processor seconds, of which Python alone {data['processor_s']['python alone']:.2f}", "", "bar"], rows)


def generation(data: dict[str, Any]) -> str:
    """Times beside plain generate, and memory beside output_attentions."""
    sizes = list(data["times"])
    on_gpu = "memory" not in data
    title = "## Recording while it writes" + (", on a GPU" if on_gpu else "")
    command = "`python -m benchmarks.cost.generation" + (" --gpu`" if on_gpu else "`")
    ways = {
        "recorded": ("`model.generate`, times plain `generate`", "1.05" if on_gpu else "1.10"),
        "output_attentions": ("`generate` with `output_attentions`, eager", ""),
        "replay": ("`model.replay` of the finished text", ""),
    }
    rows = [
        [name, *(f"{data['times'][size][way]:.2f}" if way in data["times"][size] else "–" for size in sizes), bar]
        for way, (name, bar) in ways.items()
    ]
    for way, name in (("recorded", "`model.generate`"), ("output_attentions", "`output_attentions`")):
        for what, meaning in () if on_gpu else (("peak", "peak of memory above the model, MB"), ("held", "what is held at the end, MB")):
            rows.append(
                [
                    f"{name}: {meaning}",
                    *(f"{data['memory'][size][way][what] / 1e6:,.1f}" if size in data["memory"] else "–" for size in sizes),
                    "",
                ]
            )
    plain = ", ".join(f"{data['times'][size]['plain_s']:.1f} s for {size}" for size in sizes)
    table = markdown_table([f"{data['model']}, prompt + written tokens", *sizes, "bar"], rows)
    note = "" if on_gpu else " (seconds of the processor, one thread)"
    return f"{title}\n\n{command}\n\n{table}\n\nPlain `generate`{note}: {plain}. The rows are those of one pass over what was written."


def engines(data: dict[str, Any]) -> str:
    header = ["workers", "wall time for each document", "speed", "processor time for each document", "to start a worker", "sums of a shard"]
    rows = [
        [
            str(row["workers"]), f"{row['wall_ms']:.1f} ms", f"{row['times_as_fast']:.1f}", f"{row['processor_ms']:.1f} ms",
            f"{row['start_s']:.1f} s", f"{row['kilobytes_a_shard']} kB",
        ]
        for row in data["workers"]
    ]  # fmt: skip
    reading, adding = data["reading"], max(row["adding_ms_a_shard"] for row in data["workers"])
    return (
        f"{data['model']}, {data['documents']:,} documents of {data['tokens']} tokens, {data['cores']} cores, average attention and"
        " entropy:\n\n"
        f"{markdown_table(header, rows)}\n\n"
        f"The process that starts the run reads {reading['documents_a_second']:,} documents a second from a text file and packs them,"
        f" {reading['bytes_each']} bytes each, and needs {adding:.1f} ms to add the sums of a shard (processor time, one core)."
    )


def space(data: dict[str, Any]) -> str:
    names = {
        "forward": "the model's plain forward passes",
        "capture and space": "capture, gauge, fit, fidelity",
        "page": f"page ({data['page_mb']:.0f} MB)",
        "files": "space, tables, figures, report",
        "whole": "all of it",
    }
    rows = [[text, f"{data['steps'][key]['wall_s']:.1f}", f"{data['steps'][key]['processor_s']:.1f}"] for key, text in names.items()]
    rows.append(["bar: 2 x the forward passes + 2 minutes", f"{data['bar']['wall_s']:.1f}", ""])
    return markdown_table(["step", "seconds", "processor seconds"], rows)


def causes(data: dict[str, Any]) -> str:
    every, estimates = data["ablations"], data["estimates"]
    name = f"every head ablated once, {every['texts']} texts, {every['tokens']:,} tokens, {data['model']}, with its estimates and its check"
    rows = [
        [name, f"{every['ours_s']:.0f} s, {every['ratio']:.2f} of whole passes ({every['naive_s']:.0f} s)"],
        ["gradient and attribution of all heads together", f"{estimates['ratio_to_forward']:.2f} forward passes"],
    ]
    return markdown_table(["", ""], rows)


def switched_off(data: dict[str, Any]) -> str:
    shown, every = data["browser_ms"], data["all_heads"]
    times = [f"{shown[name]} ms {text}" for name, text in (("very_first", "the very first"), ("first", "the first")) if name in shown]
    load = f"{', '.join(times)}, {shown['median']} ms in the median, {shown['fastest']} to {shown['slowest']} ms"
    rows = [
        [f"the answer with one head switched off, {data['tokens']} tokens", f"{data['switched_off_ms']['median']:.0f} ms"],
        ["the answers without each of the heads in turn, against whole passes", f"{every['ratio']:.2f}"],
        [f"from the right click to the new answer on screen (load {shown['load']})", load],
    ]
    return markdown_table(["", ""], rows)


def training(data: dict[str, Any]) -> str:
    rows = [
        [
            f"{item['layers']} x {item['heads']}, hidden size {item['hidden']}",
            f"{item['tokens_in_a_batch']:,}",
            f"{item['step_s']:.2f} s",
            f"{item['measurement_s']:.2f} s",
            f"{100 * item['share']:.2f} %",
            "1 %",
        ]
        for item in data["training"]
    ]
    share = f"share at every={data['training'][0]['every']}"
    return markdown_table(["a decoder of", "tokens in a batch", "a step", "a measurement", share, "bar"], rows)
