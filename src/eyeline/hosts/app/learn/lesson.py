"""The lesson: eight steps, each a sentence, a view of it, and the numbers that its text speaks of, read from the live model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eyeline.capture.trace import Trace
from eyeline.measures.dot_product import attention_row
from eyeline.measures.position import reach

MODEL = "minilm"
CAT, TIRED, SOFT = "The cat sat on the mat.", "The cat sat on the mat because it was tired.", "The cat sat on the mat because it was soft."
LONG = (
    "The old cat sat on the warm mat in the kitchen because it was tired after a long day of chasing mice in the garden."
)  # fmt: skip
Facts = dict[str, str]
Tracer = Callable[..., Trace]


@dataclass(frozen=True)
class Choice:
    """One of several things to look at within a step."""

    name: str
    text: str
    state: Mapping[str, Any]


@dataclass(frozen=True)
class Step:
    """name: of its messages. state: where the view begins. facts: what fills the blanks of its text. choices: a switch above the view."""

    name: str
    text: str
    facts: Callable[[Tracer], Facts]
    view: str = "head"
    pair: str = ""
    state: Mapping[str, Any] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()


def weight(trace: Trace, layer: int, head: int, query: str, key: str) -> float:
    """What the last token `query` gives to the first token `key`."""
    tokens = trace.text.tokens
    return float(trace.weights[layer, head, len(tokens) - 1 - tokens[::-1].index(query), tokens.index(key)])


def share(value: float) -> str:
    return f"{value:.3f}"


def first_facts(trace: Tracer) -> Facts:
    return {"sat_cat": share(weight(trace(CAT), 5, 11, "sat", "cat"))}


def vectors(trace: Trace, layer: int, head: int, query: int) -> list[tuple[str, float, float, float]]:
    """For each token: its name, q·k, that times the scale, and the softmax."""
    row = attention_row(trace.queries[layer, head, query], trace.keys[layer, head], trace.scales[layer])
    return [
        (token, float(dot), float(score), float(weight))
        for token, dot, score, weight in zip(trace.text.tokens, row.dots, row.scores, row.weights, strict=True)
    ]


def vector_facts(trace: Tracer) -> Facts:
    found = trace(CAT)
    _, dot, score, part = vectors(found, 5, 11, 3)[2]
    return {
        "dim": str(found.queries.shape[-1]),
        "dot": f"{dot:.1f}",
        "scale": share(found.scales[5]),
        "score": f"{score:.2f}",
        "weight": share(part),
    }


def pair_facts(trace: Tracer) -> Facts:
    return {"it_cat": share(weight(trace(CAT, "It purred."), 5, 11, "it", "cat"))}


def layer_facts(trace: Tracer) -> Facts:
    layers, heads = trace(CAT).weights.shape[:2]
    return {"layers": str(layers), "heads": str(heads), "all": str(layers * heads)}


def special_facts(trace: Tracer) -> Facts:
    """How much the resting head gives to [CLS], and how the first layer's head 0 drifts to [SEP] in short sentences."""
    drift = {name: trace(text) for name, text in (("two", "Cats purr."), ("six", CAT), ("many", LONG))}
    found = {f"sep_{name}": share(float(one.weights[0, 0, :, -1].mean())) for name, one in drift.items()}
    counts = {f"n_{name}": str(len(one.text)) for name, one in drift.items()}
    return {**found, **counts, "cls": share(float(trace(CAT).weights[4, 5, :, 0].mean()))}


def role_facts(trace: Tracer) -> Facts:
    found = trace(TIRED)
    first, second = found.weights[0, 2], found.weights[1, 8]
    return {
        "previous": share(float(np.diagonal(first, -1).mean())),
        "next": share(float(np.diagonal(second, 1).mean())),
        "it_cat": share(weight(found, 5, 11, "it", "cat")),
        "rest": share(float(found.weights[4, 5, :, 0].mean())),
    }


def reaches(trace: Trace) -> list[tuple[float, float]]:
    """Layer by layer, between words: the share that stays near, and the mean distance."""
    inside = ~np.array(trace.text.special)
    return [reach(weights, inside) for weights in trace.weights]


def depth_facts(trace: Tracer) -> Facts:
    found = reaches(trace(TIRED))
    return {"near_1": f"{found[1][0]:.0%}", "near_5": f"{found[5][0]:.0%}", "far_1": f"{found[1][1]:.1f}", "far_5": f"{found[5][1]:.1f}"}


def limit_facts(trace: Tracer) -> Facts:
    lengths = np.linalg.norm(trace(CAT).values[4, 5], axis=-1)  # [key]
    return {
        "tired": share(weight(trace(TIRED), 5, 11, "it", "cat")),
        "soft": share(weight(trace(SOFT), 5, 11, "it", "cat")),
        "cls": share(float(trace(CAT).weights[4, 5, :, 0].mean())),
        "len_cls": f"{lengths[0]:.1f}",
        "len_words": f"{lengths[1:-1].mean():.1f}",
    }


GATHERING = {"layer": 5, "heads": [11]}
STEPS = (
    Step("attention", CAT, first_facts, state=GATHERING),
    Step("vectors", CAT, vector_facts, view="neuron", state={**GATHERING, "query": 3}),
    Step("self", CAT, pair_facts, pair="It purred.", state={**GATHERING, "segments": "ba"}),
    Step("bert", CAT, layer_facts, view="model"),
    Step("special", CAT, special_facts, choices=(
        Choice("rest", CAT, {"layer": 4, "heads": [5]}),
        Choice("short", "Cats purr.", {"layer": 0, "heads": [0]}),
        Choice("long", LONG, {"layer": 0, "heads": [0]}),
    )),
    Step("heads", TIRED, role_facts, choices=(
        Choice("previous", TIRED, {"layer": 0, "heads": [2]}),
        Choice("next", TIRED, {"layer": 1, "heads": [8]}),
        Choice("gather", TIRED, GATHERING),
        Choice("rest", TIRED, {"layer": 4, "heads": [5]}),
    )),
    Step("depth", TIRED, depth_facts, view="model", state={"colour_by": "layer"}),
    Step("limits", TIRED, limit_facts, choices=(Choice("tired", TIRED, GATHERING), Choice("soft", SOFT, GATHERING))),
)  # fmt: skip
#: Sentences for the exercise, by kind.
SENTENCES: Mapping[str, Sequence[str]] = {
    "plain": ("The chef cooked rice and fish.", "Birds sing in the early morning.", "My sister reads a book every evening."),
    "pronoun": ("Mary told Anna that she had won.", "The dog chased the cat because it was fast.", "Tom thanked Lisa before he left."),
    "ambiguous": ("We saw her duck by the river.", "Time flies like an arrow.", "The bank by the river was muddy."),
}
