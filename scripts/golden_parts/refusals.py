"""The text of errors, provoked through public names and the command line: the message, and its advice for commands and for the app."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import eyeline as el
from golden_parts.commands import request
from golden_parts.imports import EyelineError, reinitialised
from golden_parts.models import model
from golden_parts.output import Output

CAT = "The cat sat."


def from_python() -> dict[str, Callable[[], Any]]:
    """What is asked → the call that refuses it. Files are in the present folder."""
    minilm, mlm, smollm2 = model("minilm"), model("e5-small-mlm"), model("smollm2")
    cat, bank = minilm.trace(CAT), el.treebanks.sample_treebank(10, 0)
    run = el.analyse(minilm, [CAT], [el.statistics.Entropy()])
    space = el.space(minilm, [CAT], layers=[0], heads=[0], background=False)
    weights = np.full((1, 1, 2, 2), 0.5, dtype=np.float32)
    refused: dict[str, Callable[[], Any]] = {
        "open: no file": lambda: el.open("nothing"),
        "open: no run": lambda: el.open("empty"),
        "open: damaged": lambda: el.open("damaged.safetensors"),
        "open_run: no file": lambda: el.runs.open_run("nothing"),
        "open_space: no file": lambda: el.runs.open_space("nothing"),
        "open_trace: no file": lambda: el.traces.open_trace("nothing"),
        "load: unknown": lambda: el.load("no-such/model"),
        "load: nearly": lambda: el.load("minilmm"),
        "load: no folder": lambda: el.load("./nothing"),
        "load: empty folder": lambda: el.load("empty"),
        "load: no name": lambda: el.load("  "),
        "load: device": lambda: el.load("minilm", device="quantum"),
        "load: type": lambda: el.load(3),  # type: ignore[arg-type]
        "wrap: no model": lambda: el.wrap(3),  # type: ignore[arg-type]
        "trace: empty": lambda: minilm.trace(""),
        "trace: white": lambda: minilm.trace(" \n"),
        "trace: surrogate": lambda: minilm.trace("ab\ud83d"),
        "trace: bytes": lambda: minilm.trace(b"abc"),  # type: ignore[arg-type]
        "trace: empty pair": lambda: minilm.trace("a", " "),
        "trace: long": lambda: minilm.trace("cat " * 600),
        "trace: layer": lambda: minilm.trace(CAT, layers=[99]),
        "trace: keep": lambda: minilm.trace(CAT, keep={"everything"}),  # type: ignore[arg-type]
        "trace: ablate": lambda: minilm.trace(CAT, interventions=[el.Ablate([(99, 0)])]),
        "stack: unknown": lambda: cat.stack("cross"),
        "trace: no queries": lambda: el.Trace.from_arrays(weights, ["a", "b"]).queries,
        "from_arrays: lengths": lambda: el.Trace.from_arrays(weights, ["a"]),
        "from_arrays: shape": lambda: el.Trace.from_arrays(weights[0, 0, 0], ["a"]),
        "head_view: no trace": lambda: el.head_view("text"),  # type: ignore[arg-type]
        "model_view: no trace": lambda: el.model_view(None),  # type: ignore[arg-type]
        "head_view: layer": lambda: el.head_view(cat, layer=77),
        "head_view: heads": lambda: el.head_view(cat, heads=[77]),
        "head_view: stack": lambda: el.head_view(cat, stack="cross"),
        "head_view: option": lambda: el.head_view(cat, colour="red"),  # type: ignore[call-arg]
        "head_view: theme": lambda: el.head_view(cat, theme="pink"),
        "head_view: language": lambda: el.head_view(cat, language="fr"),
        "head_view: also": lambda: el.head_view(cat, also=[cat]),
        "neuron_view: weights only": lambda: el.neuron_view(el.Trace.from_arrays(weights, ["a", "b"])),
        "space_view: no space": lambda: el.space_view(cat),  # type: ignore[arg-type]
        "space_view: pair": lambda: el.space_view(space, pairs="brown → zebra"),
        "space_view: no pair": lambda: el.space_view(space, pairs="brown"),
        "view: ending": lambda: el.head_view(cat).save("x.doc"),
        "trace.save: folder": lambda: cat.save("nothing/at/all\0.safetensors"),
        "analyse: none": lambda: el.analyse(minilm, []),
        "analyse: no statistics": lambda: el.analyse(minilm, [CAT], []),
        "analyse: engine": lambda: el.analyse(minilm, [CAT], engine="cloud"),
        "analyse: both": lambda: el.analyse(minilm, [CAT], resume=True, overwrite=True),
        "analyse: loss": lambda: el.analyse(minilm, [CAT], [el.statistics.Importance()]),
        "analyse: pairs": lambda: el.analyse(minilm, [CAT], pairs=True),
        "analyse: too long": lambda: el.analyse(minilm, ["cat " * 600]),
        "analyse: layers": lambda: el.analyse(minilm, [CAT], layers=[99]),
        "analyse: no model": lambda: el.analyse(None, [CAT]),  # type: ignore[arg-type]
        "run: no table": lambda: run.table("entropie"),
        "table: no column": lambda: run.table("entropy")["meen"],
        "run: joined twice": lambda: run.join(run),
        "figure: unknown": lambda: el.figure(run, "entropie"),
        "figure: no table": lambda: el.figure(run, "syntax"),
        "figure: no run": lambda: el.figure("run", "entropy"),  # type: ignore[arg-type]
        "figure: language": lambda: el.figure(run, "entropy", language="fr"),
        "save_figure: ending": lambda: el.figures.save_figure(run, "entropy", "x.doc"),
        "table: lengths": lambda: el.runs.Table({"a": [1], "b": []}),
        "merge: nothing": lambda: el.statistics.merge_runs([]),
        "merge: no folder": lambda: el.statistics.merge_runs(["nothing", "empty"]),
        "syntax: no file": lambda: el.syntax(minilm, "nothing.conllu"),
        "syntax: labels": lambda: el.syntax(minilm, bank, labels="french"),
        "coreference: no file": lambda: el.coreference(minilm, "nothing.conllu"),
        "coreference: tokens": lambda: el.coreference(minilm, "bank.conllu", max_tokens=2),
        "probe: seeds": lambda: el.probe(minilm, bank, seeds=0),
        "probe: no run": lambda: el.probes.open_probe(run),
        "space: project": lambda: el.space(minilm, [CAT], project="pcs"),
        "space: gauge": lambda: el.space(minilm, [CAT], gauge="liftd"),
        "space: of": lambda: el.space(minilm, [CAT], of="queries"),
        "space: dims": lambda: el.space(minilm, [CAT], dims=4),
        "space: distance": lambda: el.space(minilm, [CAT], project="pca", gauge="lifted", distance="cosine"),
        "space: heads": lambda: el.space(minilm, [CAT], heads=[99]),
        "space: search": lambda: space.search(999, "key", layer=0, head=0),
        "space: search side": lambda: space.search(0, "left", layer=0, head=0),
        "compare: layers": lambda: el.compare(minilm, smollm2, [CAT]),
        "compare: seed": lambda: el.compare(minilm, reinitialised(minilm, 0), [CAT], seed=-1),
        "attribute: method": lambda: el.attribute(mlm, CAT, method="norm"),
        "attribute: no mask": lambda: el.attribute(mlm, CAT, method="gradient"),
        "attribute: no answer": lambda: el.attribute(minilm, CAT, method="gradient"),
        "attribute: answer": lambda: el.attribute(mlm, "A [MASK].", method="gradient", answer="not one token"),
        "circuit: lengths": lambda: el.circuit(mlm, "A [MASK].", "A red [MASK]."),
        "circuit: method": lambda: el.circuit(mlm, "A [MASK].", "The [MASK].", method="acdc"),  # type: ignore[arg-type]
        "causes: no answer": lambda: el.causes(minilm, [CAT]),
        "faithfulness: method": lambda: el.attributions.Faithfulness(["norm"]),
        "head_scores: encoder": lambda: el.attributions.head_scores(minilm),
        "predict: no head": lambda: minilm.predict(CAT),
        "corpus: no file": lambda: el.corpora.read_corpus("nothing.txt"),
        "corpus: kind": lambda: el.corpora.read_corpus("texts.xyz"),
        "corpus: column": lambda: el.corpora.read_corpus("texts.txt", column="text"),
        "corpus: empty": lambda: list(el.corpora.read_corpus("empty.txt")),
        "corpus: bytes": lambda: list(el.corpora.read_corpus("bytes.txt")),
        "corpus: json": lambda: list(el.corpora.read_corpus("broken.jsonl")),
        "treebank: empty": lambda: el.treebanks.read_treebank("empty.txt"),
        "coreference file": lambda: el.mentions.read_coreference("texts.txt"),
        "mention": lambda: el.mentions.Mention(0, 2, 3, 0, "nominal"),
        "translation": lambda: el.traces.sample_translation("cat-de"),
        "ray": lambda: el.analyse(minilm, [CAT], engine=el.Ray(workers=-1)),
        "processes": lambda: el.analyse(minilm, [CAT], engine=el.runs.Processes(-1)),
        "report: no run": lambda: el.runs.write_report("empty"),
        "trace: parts": lambda: replace(cat.only, layers=(0,)),
        "graph: head": lambda: el.figures.attention_graph(cat, layer=0, head=99),
    }
    return refused


#: Commands that are refused, or whose options are.
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("analise", "texts.txt"),
    ("trace", ""),
    ("trace", CAT, "--model", "minilmm"),
    ("trace", CAT, "--layers", "x"),
    ("view", CAT, "--model", "minilm", "-o", "x.doc"),
    ("view", CAT, "--model", "minilm", "--layer", "99", "-o", "x.html"),
    ("analyse", "nothing.txt", "-o", "run"),
    ("analyse", "texts.xyz", "-o", "run"),
    ("analyse", "texts.txt", "--only", "entropie", "-o", "run"),
    ("analyse", "texts.txt", "--model", "minilm", "--pairs", "-o", "run"),
    ("analyse", "texts.txt", "--workers", "2", "-o", "run"),
    ("merge", "empty", "nothing", "-o", "run"),
    ("syntax", "nothing.conllu", "-o", "run"),
    ("parse", CAT, "--run", "empty"),
    ("space", "texts.txt", "--model", "minilm", "--project", "pcs", "-o", "run"),
    ("space", "texts.txt", "--shared", "--of", "values", "-o", "run"),
    ("compare", "texts.txt", "-o", "run"),
    ("attribute", CAT, "--method", "norm"),
    ("circuit", "--clean", "A [MASK].", "--corrupt", "A red [MASK].", "-o", "run"),
    ("causes", "texts.txt", "--model", "minilm", "-o", "run"),
    ("gallery", "nothing", "-o", "gallery"),
    ("models", "show", "nothing"),
    ("models", "get", "nothing"),
)


def write(output: Output) -> None:
    """In the present folder, which is empty."""
    Path("empty").mkdir()
    contents = {
        "texts.txt": b"A text.\n", "texts.xyz": b"A text.\n", "empty.txt": b"", "bytes.txt": b"good\n\xe9\n", "broken.jsonl": b"{\n",
        "damaged.safetensors": b"no tensors",
    }  # fmt: skip
    for name, content in contents.items():
        Path(name).write_bytes(content)
    el.treebanks.write_sample("bank.conllu", 10)
    messages: dict[str, Any] = {}
    for name, call in from_python().items():
        messages[name] = what_is_said(call)
    allowed = [name for name, what in messages.items() if what["type"] == "no error"]
    if allowed:
        raise AssertionError(f"not refused: {allowed}")
    output.text("refusals/python.json", messages)
    printed = {" ".join(arguments): request(*arguments) for arguments in COMMANDS}
    output.text(
        "refusals/commands.txt", "\n".join(f"$ eyeline {line}\nexit {code}\n{out}{err}" for line, (code, out, err) in printed.items())
    )


def what_is_said(call: Callable[[], Any]) -> dict[str, str]:
    """The class and the three messages of an error of ours; of another the class and message; a call that is not refused says so."""
    try:
        call()
    except EyelineError as error:
        return {"type": type(error).__name__, "python": str(error), "command": error.for_command_line, "app": error.for_app}
    except Exception as error:  # noqa: BLE001 - which error comes is what is recorded
        return {"type": type(error).__name__, "python": str(error)}
    return {"type": "no error"}
