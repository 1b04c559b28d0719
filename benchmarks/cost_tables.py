"""The tables of benchmarks/README.md and of README.md, from the JSON that the benchmarks wrote: no number is typed by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.output import made_line, markdown_table, put_section

HERE = Path(__file__).parent
BENCHMARKS, README = HERE / "README.md", HERE.parent / "README.md"


def read(name: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((HERE / name).read_text(encoding="utf-8"))
    return result


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


def _mb(value: float) -> str:
    return f"{value / 1000:.1f} GB" if value >= 1000 else f"{value:.0f} MB" if value >= 100 else f"{value:.1f} MB"


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.0f} s" if value >= 10 else f"{value:.2g} s"


def _pair(data: dict[str, Any], view: str, tokens: int) -> tuple[dict[str, Any], dict[str, Any]]:
    row = next(row for row in data["results"] if row["view"] == view and row["tokens"] == tokens)
    return row["bertviz"], row["ours"]


def _ratio(theirs: dict[str, Any], ours: dict[str, Any], name: str) -> str:
    return f" (1/{theirs[name] / ours[name]:.0f})" if theirs.get(name) and ours.get(name) else ""


def _hover(side: dict[str, Any]) -> str:
    if side.get("hover_ms") is None:
        return "–"
    slowest = side["hover_max_ms"]
    return f"{side['hover_ms']:.0f} ms ({slowest / 1000:.1f} s)" if slowest >= 1000 else f"{side['hover_ms']:.0f} ms ({slowest:.0f} ms)"


def views(data: dict[str, Any]) -> str:
    rows = []
    for view, tokens, page_bar, drawn_bar in (("head", 128, "4 MB", "1/10"), ("model", 128, "4 MB", "1/25")):
        theirs, ours = _pair(data, view, tokens)
        rows.append([f"{view} view, {tokens} tokens: page", _mb(theirs["page_mb"]), _mb(ours["page_mb"]), page_bar])
        rows.append(["… until drawn", _seconds(theirs["drawn_s"]), _seconds(ours["drawn_s"]) + _ratio(theirs, ours, "drawn_s"), drawn_bar])
        rows.append(["… hover", _hover(theirs), _hover(ours), "50 ms"])
    theirs, ours = _pair(data, "head", 512)
    rows.append(["head view, 512 tokens: page", f"{_mb(theirs['page_mb'])}, more than Chromium can hold", _mb(ours["page_mb"]), "25 MB"])
    built = f"{_seconds(ours['build_s'])}{_ratio(theirs, ours, 'build_s')}, {_mb(ours['peak_mb'])}{_ratio(theirs, ours, 'peak_mb')}"
    rows.append(["… build: time, memory", f"{_seconds(theirs['build_s'])}, {_mb(theirs['peak_mb'])}", built, "1/20"])
    for view in ("head", "model"):
        theirs, ours = _pair(data, view, 512)
        shown = f"{_seconds(ours['drawn_s'])}, {_hover(ours)}"
        rows.append([f"{view} view, 512 tokens: until drawn, hover", _seconds(theirs["drawn_s"]), shown, "drawn, 100 ms"])
    _, long = _pair(data, "head", 4096)
    shown = f"{_mb(long['page_mb'])}, drawn in {_seconds(long['drawn_s'])} as a heatmap, hover {_hover(long)}"
    rows.append(["one head, 4,096 tokens", "not tried", shown, "opens, pans, zooms"])
    return markdown_table(["", "BertViz 1.4.1", "eyeline", "bar"], rows)


def comparison(data: dict[str, Any]) -> str:
    """The short table of README.md."""
    rows = []
    for view in ("head", "model"):
        theirs, ours = _pair(data, view, 128)
        both = [f"{_mb(side['page_mb'])}, drawn in {_seconds(side['drawn_s'])}, hover {side['hover_ms']:.0f} ms" for side in (theirs, ours)]
        rows.append([f"{view} view, 128 tokens", *both])
    theirs, ours = _pair(data, "head", 512)
    built = [f"{_mb(side['page_mb'])}, drawn: {_seconds(side['drawn_s'])}, {_mb(side['peak_mb'])} to build" for side in (theirs, ours)]
    rows.append(["head view, 512 tokens", *built])
    _, long = _pair(data, "head", 4096)
    rows.append(["one head, 4,096 tokens", "–", f"{_mb(long['page_mb'])}, {_seconds(long['drawn_s'])}, as a heatmap"])
    return markdown_table(["", "BertViz", "eyeline"], rows)


def opening(data: dict[str, Any]) -> str:
    rows = []
    for row in data["results"]:
        name = "a page of one line" if row["view"] == "empty" else f"{row['view']} view, {row['tokens']} tokens"
        clock = f"{row['wall_ms']} ({row['wall_painted_ms']})" if "wall_painted_ms" in row else "–"
        rows.append([name, f"{row['until_drawn_ms']} + {row['first_frame_ms']}", clock, {30: "150", 128: "250"}.get(row["tokens"], "")])
    return markdown_table(["12 x 12 heads", "processor ms", "clock ms (with the next frame)", "bar on the clock"], rows)


def gallery(data: dict[str, Any]) -> str:
    rows = [[row["page"], f"{row['processor_ms']} ms", f"{row['wall_ms']} ms", "", "2 s"] for row in data["results"]]
    rows += [[f"{model}, its folder", "", "", f"{size} MB", "60 MB"] for model, size in data["megabytes"].items()]
    return markdown_table(["page", "processor", "clock", "on disk", "bar"], rows)


def corpus(data: dict[str, Any]) -> str:
    parts, apart, long = data["segments"], data["distances"], data["long"]
    plain = "average attention + entropy, 200 x 128 tokens, minilm, against the plain pass (SDPA): time"
    memory = f"{long['peak_bytes'] / 1e9:.1f} GB"
    faster = f"{apart['times_faster']:.0f} times faster, {apart['largest_difference']:.0e} apart"
    rows = [
        [plain, f"{parts['statistics_to_plain']:.2f}", "1.3"],
        ["… peak memory of the process", f"{parts['memory_to_plain']:.2f}", "1.2"],
        ["… `el.analyse` whole (tokenising, check against dense maps, hash of the weights)", f"{parts['analyse_to_plain']:.2f}", ""],
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
        ["head distances, 2,000 of these texts, hidden 768: texts a second", _median(apart, "texts_per_second", ".0f"), "600"],
    ]
    for part in data["one_pass"]:
        name = f"one layer of {part['tokens']:,} tokens, {'causal' if part['causal'] else 'full'}, head size {part['dims']}"
        what = "output and statistics in one pass, against the fused forward alone"
        rows.append([f"{name}: {what}", _median(part, "ratio"), "1.3" if part["dims"] == 64 else "1.5"])
    passes = (
        f"`el.syntax` over English-EWT dev ({syntax['sentences']:,} sentences), gte-small's shape, against plain passes in batches of 256"
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


def space_view(data: dict[str, Any]) -> str:
    few, many = data["results"]
    rows = [
        ["page", f"{few['page_mb']:.1f} MB", f"{many['page_mb']:.0f} MB", "30 MB at 5,000"],
        ["until drawn, WebGL (in software)", *(f"{each['webgl']['drawn_s']:.1f} s" for each in (few, many)), "3 s at 20,000"],
        ["… without WebGL", *(f"{each['without']['drawn_s']:.1f} s" for each in (few, many)), ""],
        ["opening a head", *(f"{each['webgl']['opened_s']:.1f} s" for each in (few, many)), ""],
        ["hover", *(f"{each['webgl']['hover_ms']:.0f} ms" for each in (few, many)), ""],
        ["a step of zooming", *(f"{each['webgl']['zoom_ms']:.0f} ms" for each in (few, many)), ""],
    ]
    return markdown_table([f"{few['heads']} heads", f"{few['points']:,} points", f"{many['points']:,} points", "bar"], rows)


def app(data: dict[str, Any]) -> str:
    drawn, alone, room = data["in_chromium"]["from_click_to_drawing_s"], data["alone"]["own_text_s"], data["together"]
    memory, ratio = room["server_memory_mb"], data.get("ratio")
    crowds = [["… first page, own text: median (slowest)", _waits(room), ""]]
    if ratio:
        few, against = data["few_together"], ratio["against_twenty_before"]
        crowds.append([f"… {few['visitors']} visitors in the same hour", _waits(few), ""])
        times = f"{against['first_page_s']:.2f}, {against['own_text_s']:.2f} times"
        crowds.append(["… against 20 visitors before (0.55 s, 0.96 s)", times, f"{ratio['bar']:g} times"])
    costs = [[f"processor time: {kind}", f"{ms:.0f} ms", ""] for kind, ms in data.get("processor_ms", {}).items()]
    rows = [
        [
            "one visitor: from the click to the drawn view, in Chromium",
            f"{drawn['median']:.2f} s ({drawn['slowest']:.2f} s)",
            "1 s",
        ],
        ["… until the whole page was sent, with the picture of one head", f"{alone['median']:.2f} s ({alone['slowest']:.2f} s)", "1 s"],
        [f"{room['visitors']} visitors at once, {room['rounds']} times: served", f"{room['served']} of {room['of']}", "all"],
        ["… who received a word of another visitor's text", f"{room['saw_the_text_of_another']}", "0"],
        *crowds,
        ["… processor time for each visitor (two pages)", f"{room['processor_s_a_visit']:.2f} s", ""],
        ["server's memory before, and after each time", f"{memory[0]}; {', '.join(map(str, memory[1:]))} MB", "flat"],
        *costs,
    ]
    return markdown_table(["", "", "bar"], rows)


def two_apps(data: dict[str, Any]) -> str:
    room, ratio = data["together"], data["ratio"]
    against = ratio["against_twenty_before"]
    rows = [
        [f"{room['visitors']} visitors at once, {room['rounds']} times: served", f"{room['served']} of {room['of']}", "all"],
        ["… first page, own text: median (slowest)", _waits(room), ""],
        ["… 20 visitors in the same hour", _waits(data["few_together"]), ""],
        [
            "… against 20 visitors of one app before (0.55 s, 0.96 s)",
            f"{against['first_page_s']:.2f}, {against['own_text_s']:.2f} times",
            f"{ratio['bar']:g} times",
        ],
    ]
    return markdown_table(["two apps behind nginx", "", "bar"], rows)


def _waits(room: dict[str, Any]) -> str:
    first, own = room["first_page_s"], room["own_text_s"]
    return f"{first['median']:.1f} s ({first['slowest']:.1f} s), {own['median']:.1f} s ({own['slowest']:.1f} s)"


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


#: A section → the JSON it is written from, how, and on which page.
TABLES: dict[str, tuple[str, Callable[[dict[str, Any]], str], Path]] = {
    "capture": ("cost/capture.json", capture, BENCHMARKS),
    "probe": ("cost/probe.json", probe, BENCHMARKS),
    "views": ("pages/views.json", views, BENCHMARKS),
    "opening": ("pages/opening.json", opening, BENCHMARKS),
    "gallery": ("pages/gallery.json", gallery, BENCHMARKS),
    "corpus": ("cost/corpus.json", corpus, BENCHMARKS),
    "gpu": ("cost/gpu.json", gpu, BENCHMARKS),
    "grammar": ("cost/grammar.json", grammar, BENCHMARKS),
    "space": ("cost/space.json", space, BENCHMARKS),
    "space_view": ("pages/space_view.json", space_view, BENCHMARKS),
    "app": ("pages/app.json", app, BENCHMARKS),
    "two_apps": ("pages/two_apps.json", two_apps, BENCHMARKS),
    "causes": ("cost/causes.json", causes, BENCHMARKS),
    "switched_off": ("cost/switched_off.json", switched_off, BENCHMARKS),
    "comparison": ("pages/views.json", comparison, README),
}


def section_text(name: str) -> str:
    """The table of a section, and where its numbers come from."""
    file, table, _ = TABLES[name]
    data = read(file)
    return f"{table(data)}\n\n{made_line(data.get('made_with'))}"


def write() -> None:
    """Every table whose JSON is there; one that was never measured keeps what stands."""
    for name, (file, _, page) in TABLES.items():
        if (HERE / file).exists():
            put_section(name, section_text(name), page, origin=None)


if __name__ == "__main__":
    write()
