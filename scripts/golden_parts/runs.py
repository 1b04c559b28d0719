"""Small runs of every kind: their tables and facts with all digits, their figures, their folders."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import eyeline as el
from golden_parts.commands import write_files
from golden_parts.imports import available_figures, measure_heads, notable_heads, profile_of, reinitialised
from golden_parts.models import model
from golden_parts.output import Output, plain, without

TEXTS = ["The cat sat on the mat because it was tired.", "A dog ran home. It barked at her.", "It rained all day, and nobody came."]
LONG = " ".join(TEXTS)


def small_runs() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Each small run: its name, and what computes it."""
    statistics, bank = el.statistics, el.treebanks.sample_treebank(40, 0)
    custom = statistics.AverageAttention({"cats": "(?i)cat"})
    yield "analyse", lambda: el.analyse(model("minilm"), TEXTS)
    yield (
        "analyse-options",
        lambda: el.analyse(
            model("e5-small"), [LONG, *TEXTS], [custom, statistics.Entropy()], limit=3, max_tokens=16, window=True, layers=[0, 11], seed=1
        ),
    )
    yield "analyse-pairs", lambda: el.analyse(model("minilm"), [LONG], pairs=True, max_tokens=32)
    yield (
        "analyse-answers",
        lambda: el.analyse(
            model("e5-small-mlm"), TEXTS[:2], [statistics.Importance(), statistics.HeadEffects(), statistics.Entropy()], layers=[0]
        ),
    )
    yield "analyse-decoder", lambda: el.analyse(model("smollm2"), TEXTS[:2], layers=[0, 29])
    yield "syntax", lambda: el.syntax(model("minilm"), bank, min_count=10)
    yield "coreference", lambda: el.coreference(model("minilm"), "bank.conllu")
    yield "probe", lambda: el.probe(model("minilm"), bank, seeds=2, epochs=2, layers=[0])
    yield "space", lambda: el.space(model("minilm"), TEXTS, layers=[0, 5], heads=[0, 1])
    yield "space-pca", lambda: el.space(model("minilm"), TEXTS, project="pca", dims=3, layers=[0], heads=[0])
    yield "space-searched", lambda: el.space(model("minilm"), TEXTS, project="pca", gauge="searched", layers=[0], heads=[0])
    yield "space-freed", lambda: el.space(model("minilm"), TEXTS, project="freed", background=False, layers=[0], heads=[0])
    yield "space-values", lambda: el.space(model("smollm2"), TEXTS, of="values", layers=[0], heads=[0])
    yield "space-shared", lambda: el.space(model("minilm"), TEXTS, of="shared", layers=[0, 1], heads=[0])
    yield "compare", lambda: el.compare(model("minilm"), reinitialised(model("minilm"), 0), TEXTS, layers=[0])
    yield "compare-words", lambda: el.compare(model("minilm"), model("e5-small"), TEXTS, layers=[0], spaces=False)
    yield "causes", lambda: el.causes(model("e5-small-mlm"), TEXTS[:1], layers=[0])
    yield "circuit", lambda: el.circuit(model("e5-small-sentiment"), "A good film.", "A bad film.", method="eap", steps=1)
    yield (
        "faithfulness",
        lambda: el.analyse(model("e5-small-sentiment"), TEXTS[:2], [el.attributions.Faithfulness(["norms", "gradient", "rollout"])]),
    )
    yield "gallery", lambda: measure_heads(model("minilm"), texts=2, sentences=20, min_count=5)


def write(output: Output) -> None:
    """Every run computed, its numbers written, and saved as users save it, for later commits to open."""
    el.treebanks.write_sample("bank.conllu", 40)
    done: dict[str, Any] = {}
    for name, compute in small_runs():
        done[name] = result = compute()
        output.number(f"runs/{name}.json", numbers_of(result))
        output.text(f"runs/{name}.json", shape_of(result))
        result.save(output.saved / name)
        if name != "gallery":
            el.runs.write_report(output.saved / name, language="ja" if name == "analyse" else "en")
        write_files(output, f"saved/{name}", output.saved / name)
        shutil.rmtree(output.saved / name / "figures", ignore_errors=True)  # pages of 5 MB each, which nothing reads again
    joined = done["syntax"].join(done["coreference"], done["probe"])
    el.runs.write_report(joined.save(output.saved / "grammar"))
    for name, run in {**done, "grammar": joined, "space": done["space"].run(), "compare": done["compare"].run}.items():
        if isinstance(run, el.Run):
            write_figures(output, name, run)
    write_cards(output, done["analyse"])
    write_probe(output, done["probe"])
    write_search(output, done["space"])
    write_heads(output)


def numbers_of(result: Any) -> Any:
    """All that a result holds, without what varies (`output.DROPPED`)."""
    if isinstance(result, el.Run):
        parts = {kind: {"facts": plain(part.facts), "tables": plain(part.tables)} for kind, part in result.parts.items()}
        return without({"said": repr(result), "parts": parts, "example": plain(result.example), "probes": plain(result.probes)})
    return without(
        {"said": repr(result), "fields": plain(result), "table": plain(result.table() if isinstance(result, el.Space) else None)}
    )


def shape_of(result: Any) -> Any:
    """The names of a result's tables and columns, and its notices: without numbers."""
    runs = list(result.parts.values()) if isinstance(result, el.Run) else [result.run()] if isinstance(result, el.Space) else []
    return [
        {
            "kind": run.facts.kind,
            "tables": {name: list(table.columns) for name, table in run.tables.items()},
            "left out": plain(run.facts.left_out),
            "counts": plain(run.facts.counts),
        }
        for run in runs
    ]


def write_figures(output: Output, name: str, run: el.Run) -> None:
    """Every figure that the run's tables allow, in one language each, in turn."""
    for number, figure in enumerate(available_figures(run)):
        language = ("en", "ja", "ko")[number % 3]
        drawn = json.loads(el.figure(run, figure, language=language).to_json())
        drawn["layout"].pop("template", None)
        output.number(f"figures/{name}/{figure}-{language}.json", drawn)


def write_cards(output: Output, run: el.Run) -> None:
    cards = {str(notable.head): profile_of(run, notable.head) for notable in notable_heads(run)}
    output.number("cards.json", {"notable": plain(notable_heads(run)), "cards": plain(cards)})


def write_probe(output: Output, run: el.Run) -> None:
    probe = el.probes.open_probe(run, model=model("minilm"))
    output.number("parse.json", plain(probe.parse("The cat sat on the mat.")))


def write_search(output: Output, space: el.Space) -> None:
    results = {side: plain(space.search(3, side, layer=0, head=0, text=0)) for side in ("key", "query")}
    placed = space.transform(model("minilm").trace("A cat ran."))
    output.number("search.json", {"results": results, "placed": plain(placed)})


def write_heads(output: Output) -> None:
    """What the heads of a decoder do, and how much of an answer one path carries."""
    scores = el.attributions.head_scores(model("smollm2"), length=8)
    texts = el.attributions.contrast(model("e5-small-sentiment"), "A good film.", "A bad film.")
    path = el.attributions.patch_path(texts, el.HeadRef("encoder", 0, 1), el.HeadRef("encoder", 11, 2))
    output.number("heads.json", {"scores": plain(scores), "path": path})
