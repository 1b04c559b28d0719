"""Traces, quantities and the views of them: what each view says, its arrays decoded, its page and its pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import eyeline as el
import eyeline.bertviz
import eyeline.circuitsvis
from golden_parts.imports import EyelineError, View, pack
from golden_parts.models import model
from golden_parts.output import Output, plain

TEXT, PAIR = "The cat sat on the mat because it was tired.", "It purred."
#: Of each view these pictures are compared, byte by byte.
PICTURES = (".svg",)


def small_views() -> Iterator[tuple[str, Callable[[], View]]]:
    """Each view: its name, and what makes it."""
    cat = model("minilm").trace(TEXT, PAIR)
    masked = model("e5-small-mlm").trace("The cat sat on the [MASK].")
    decoder = model("smollm2").trace("The cat sat.", layers=[0, 29])
    norms = el.attribute(model("e5-small-mlm"), "The cat sat on the [MASK].", method="norms")
    gradient = el.attribute(model("e5-small-mlm"), "The cat sat on the [MASK].", method="integrated-gradients")
    translation = el.traces.sample_translation()
    space = el.space(model("minilm"), [TEXT, PAIR], layers=[0], heads=[0, 1], background=False)
    other = el.space(model("e5-small"), [TEXT, PAIR], layers=[0], heads=[0, 1], background=False)
    yield "head", lambda: el.head_view(cat)
    yield "head-words", lambda: el.head_view(cat.words(), language="ja", theme="dark")
    yield "head-also", lambda: el.head_view(masked, also=[norms, gradient], drawn=1, model=model("e5-small-mlm"))
    yield "head-effects", lambda: el.head_view(masked, model=model("e5-small-mlm"), effects=True, layers=[0])
    yield "head-cross", lambda: el.head_view(translation, stack="cross", language="ko")
    yield "model", lambda: el.model_view(cat)
    yield "model-opened", lambda: el.model_view(decoder, layer=29, head=3)
    yield (
        "neuron",
        lambda: el.neuron_view(model("minilm").trace("The cat sat.", keep={"weights", "queries", "keys", "values"}), layers=[0, 5]),
    )
    yield "neuron-decoder", lambda: el.neuron_view(decoder, layer=0, head=2)
    yield "space", lambda: el.space_view(space)
    yield "space-beside", lambda: el.space_view(space, other, layer=0, head=1, pairs="it → cat")
    weights = np.array([[[[1.0, 0.0], [0.25, 0.75]]]], dtype=np.float32)
    yield "circuitsvis", lambda: eyeline.circuitsvis.attention.attention_patterns(["a", "b"], weights[0])
    yield "bertviz-head", lambda: eyeline.bertviz.head_view(list(weights[None]), ["a", "b"], html_action="return")
    yield "bertviz-model", lambda: eyeline.bertviz.model_view(list(weights[None]), ["a", "b"], html_action="return")


def write(output: Output) -> None:
    write_traces(output)
    folder = output.saved / "views"
    folder.mkdir(parents=True)
    packed = {}
    for name, make in small_views():
        view: Any = make()
        if not isinstance(view, View):
            output.number(f"views/{name}.json", {"type": type(view).__name__, "page": plain(str(getattr(view, "data", view)).encode())})
            continue
        arrays = {key: {"header": array.header(), "decoded": plain(array.decode())} for key, array in view.arrays.items()}
        page = view.html().encode()
        output.number(f"views/{name}.json", {"said": repr(view), "spec": plain(view.spec), "arrays": arrays, "page": plain(page)})
        output.text(f"views/{name}.json", {"said": repr(view), "state": sorted(view.state), "spec": sorted(view.spec)})
        (folder / f"{name}.html").write_bytes(page)
        for ending in PICTURES:
            view.save(folder / f"{name}{ending}")
            output.number(f"views/{name}{ending}", (folder / f"{name}{ending}").read_text(encoding="utf-8"))
        packed[name] = pack({key: value for key, value in view.state.items() if key not in ("zoom", "find")})
    (folder / "states.txt").write_text("".join(f"{name} {state}\n" for name, state in packed.items()), encoding="utf-8")


def write_traces(output: Output) -> None:
    """Traces and their files; what models answer, also changed; every quantity of two models."""
    folder = output.saved / "traces"
    folder.mkdir(parents=True)
    every = {"weights", "queries", "keys", "values"}
    traces = {
        "pair": model("minilm").trace(TEXT, PAIR),
        "words": model("minilm").trace(TEXT).words(),
        "decoder": model("smollm2").trace("The cat sat.", layers=[0], keep=every),
        "changed": model("e5-small-mlm").trace("A cat [MASK].", interventions=[el.Ablate([(0, 1)]), el.Scale([(1, 2)], 2.0)]),
        "translation": el.traces.sample_translation("cat-ja"),
    }
    for name in ("e5-small-mlm", "smollm2"):
        text = "A cat [MASK]." if name == "e5-small-mlm" else "A cat"
        for method in el.attributions.METHODS:
            try:
                traces[f"{name}-{method}"] = el.attribute(model(name), text, method=method)
            except EyelineError as error:
                output.text(f"refused/{name}-{method}.txt", str(error))
    for name, trace in traces.items():
        output.number(f"traces/{name}.json", {"said": repr(trace), "notices": trace.notices, "trace": plain(trace)})
        trace.save(folder / f"{name}.safetensors")
    output.number("predictions.json", {name: plain(model(name).predict(text)) for name, text in ANSWERED.items()})
    graph = el.figures.attention_graph(traces["words"], layer=3, head=2)
    graph.save(folder / "graph.svg")
    output.number("traces/graph.svg", (folder / "graph.svg").read_text(encoding="utf-8"))


ANSWERED = {"e5-small-mlm": "The cat sat on the [MASK].", "e5-small-sentiment": "A good film.", "smollm2": "The cat sat on the"}
