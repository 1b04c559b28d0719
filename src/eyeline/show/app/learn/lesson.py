"""The lesson: nine steps. Each has a sentence, a view of it, and the numbers in its text, read from the live model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any

from eyeline.look.numbers import alike, key_numbers, pair_weight, received_by_last, special_and_words, weights_on
from eyeline.look.sample import measured_translator
from eyeline.look.trace import Trace
from eyeline.measure.heads.profile import LayerFigures
from eyeline.measure.heads.roles import Role
from eyeline.words import Words, percent

#: The lesson is written for this model; every number in its texts is read from it, or from `measured.json`.
MODEL = "e5-small-mlm"

CAT, TIRED, SOFT = "The cat sat on the mat.", "The cat sat on the mat because it was tired.", "The cat sat on the mat because it was soft."

HUNGRY, FRESH = "The cat ate the fish because it was hungry.", "The cat ate the fish because it was fresh."

RARE = "The capybara dozed on the mat."

LONG = (
    "The old cat sat on the warm mat in the kitchen because it was tired after a long day of chasing mice in the garden."
)  # fmt: skip

#: Heads of this model that the texts name: the previous word, resting, *it* → *cat* whatever *it* is, and one that reacts to the meaning.
PREVIOUS, RESTING, PRONOUN, REACTING = (2, 2), (11, 6), (5, 6), (8, 0)

ACROSS = (5, 6)

SAT = 3  # the index of *sat* in CAT

#: Layers in which heads rest on [CLS] and [SEP].
MIDDLE = range(4, 9)

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
    """name: of its messages. state: where the view begins. facts: computes the numbers in its text. choices: a switch above the view.

    right: the index of the right answer to the step's question.
    """

    name: str
    text: str
    facts: Callable[[Tracer], Facts]
    view: str = "head"
    pair: str = ""
    state: Mapping[str, Any] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    right: int = 0


# ---- Numbers that come from whole corpora: measured once by scripts/lesson_data.py, stored beside this file


@dataclass(frozen=True)
class RoleOfHead:
    """The head that has a role most clearly."""

    head: str
    role: Role


@dataclass(frozen=True)
class Measured:
    """command: what wrote the file. sentences: of the built-in treebank."""

    command: str
    model: str
    sentences: int
    roles: tuple[RoleOfHead, ...]
    layers: tuple[LayerFigures, ...]


@lru_cache(maxsize=1)
def measured() -> Measured:
    data = json.loads(files("eyeline.show.app.learn").joinpath("measured.json").read_text(encoding="utf-8"))
    roles = (RoleOfHead(row["head"], Role(**row["role"])) for row in data.pop("roles"))
    layers = (LayerFigures(**layer) for layer in data.pop("layers"))
    return Measured(**data, roles=tuple(roles), layers=tuple(layers))


# ---- The numbers in the text of each step


def share(value: float) -> str:
    return f"{value:.3f}"


def showing(head: tuple[int, int]) -> dict[str, Any]:
    """The state in which a view shows this head alone."""
    return {"layer": head[0], "heads": [head[1]]}


def token_facts(trace: Tracer) -> Facts:
    tokens = trace(RARE).text.tokens
    return {"tokens": " · ".join(tokens), "n": str(len(tokens))}


def first_facts(trace: Tracer) -> Facts:
    shown = trace(CAT)
    given = weights_on(shown, *PREVIOUS, "cat")
    return {"sat_cat": share(given[SAT]), "others": share(max(given[:SAT] + given[SAT + 1 :]))}


def vector_facts(trace: Tracer) -> Facts:
    shown = trace(CAT)
    numbers = key_numbers(shown, *PREVIOUS, SAT)
    cat = numbers[shown.text.tokens.index("cat")]
    pair = alike(shown, *PREVIOUS, SAT, shown.text.tokens.index("cat"))
    return {
        "len_q": f"{pair.query_length:.1f}",
        "len_k": f"{pair.key_length:.1f}",
        "cosine": f"{pair.cosine:.2f}",
        "dim": str(shown.queries.shape[-1]),
        "dot": f"{cat.dot:.1f}",
        "scale": share(shown.scales[PREVIOUS[0]]),
        "score": f"{cat.score:.2f}",
        "weight": share(cat.weight),
        "value": share(cat.value),
        "output": share(float(shown.outputs[*PREVIOUS, SAT, 0])),
    }


def pair_facts(trace: Tracer) -> Facts:
    return {"it_cat": share(pair_weight(trace(CAT, "It purred."), *ACROSS, "it", "cat")), **translation_facts()}


def translation_facts() -> Facts:
    """What was measured on the small translator."""
    translator = measured_translator()
    best, least = translator.best, translator.least
    return {
        "exact": percent(translator.exact),
        "unseen": str(translator.sentences),
        "aligning": str(best.ref),
        "aligned": percent(best.aligned),
        "straying": str(least.ref),
        "astray": percent(least.aligned),
    }


def layer_facts(trace: Tracer) -> Facts:
    layers, heads = trace(CAT).weights.shape[:2]
    return {"layers": str(layers), "heads": str(heads), "all": str(layers * heads)}


def resting_facts(trace: Tracer) -> Facts:
    """What the resting head gives to [CLS] and [SEP], and how long their values are beside those of words."""
    numbers = special_and_words(trace(CAT), *RESTING)
    return {
        "cls": share(numbers.to_first),
        "sep": share(numbers.to_last),
        "len_special": f"{numbers.special_length:.1f}",
        "len_words": f"{numbers.word_length:.1f}",
    }


def special_facts(trace: Tracer) -> Facts:
    """How much of layers 4 to 8 rests on [SEP], in sentences of different lengths."""
    sentences = {name: trace(text) for name, text in (("two", "Cats purr."), ("six", CAT), ("many", LONG))}
    shares = {f"sep_{name}": share(received_by_last(shown, MIDDLE)) for name, shown in sentences.items()}
    counts = {f"n_{name}": str(len(shown.text)) for name, shown in sentences.items()}
    return {**shares, **counts, **resting_facts(trace)}


def role_facts(trace: Tracer) -> Facts:
    roles = measured().roles
    labels = {entry.role.name: entry.head for entry in roles}
    values = {f"{entry.role.name}_value": entry.role.number(Words()) for entry in roles}
    relations = {f"{entry.role.name}_relation": entry.role.detail for entry in roles if entry.role.family == "grammar"}
    return labels | values | relations


def depth_facts(trace: Tracer) -> Facts:
    layers = measured().layers
    grammar, deepest = max(layers, key=lambda layer: layer.grammar), layers[-1]
    return {
        "near_0": percent(layers[0].near),
        "near_last": percent(deepest.near),
        "last": str(deepest.layer),
        "middle": str(grammar.layer),
        "grammar": f"{grammar.grammar:.0f} %",
        "grammar_0": f"{layers[0].grammar:.0f} %",
        "grammar_last": f"{deepest.grammar:.0f} %",
        "special_last": percent(deepest.special),
    }


def limit_facts(trace: Tracer) -> Facts:
    same = {name: share(pair_weight(trace(text), *PRONOUN, "it", "cat")) for name, text in {"tired": TIRED, "soft": SOFT}.items()}
    pairs = {"hungry": HUNGRY, "fresh": FRESH}
    reacting = {f"{name}_cat": share(pair_weight(trace(text), *REACTING, "it", "cat")) for name, text in pairs.items()}
    return {**same, **reacting, "fresh_fish": share(pair_weight(trace(FRESH), *REACTING, "it", "fish")), **resting_facts(trace)}


# ---- The steps, and sentences for the exercise


STEPS = (
    Step("tokens", RARE, token_facts, state=showing(PREVIOUS), right=1),
    Step("attention", CAT, first_facts, state=showing(PREVIOUS), right=2),
    Step("vectors", CAT, vector_facts, view="neuron", state={**showing(PREVIOUS), "query": SAT}, right=0),
    Step("self", CAT, pair_facts, pair="It purred.", state={**showing(ACROSS), "segments": "ba"}, right=1),
    Step("bert", CAT, layer_facts, view="model", right=2),
    Step("special", CAT, special_facts, choices=(
        Choice("rest", CAT, showing(RESTING)),
        Choice("short", "Cats purr.", showing(RESTING)),
        Choice("long", LONG, showing(RESTING)),
    ), right=0),
    Step("heads", TIRED, role_facts, choices=(
        Choice("previous", TIRED, showing(PREVIOUS)),
        Choice("next", TIRED, showing((0, 7))),
        Choice("determiner", TIRED, showing((4, 4))),
        Choice("subject", TIRED, showing((5, 2))),
        Choice("rest", TIRED, showing(RESTING)),
    ), right=1),
    Step("depth", TIRED, depth_facts, view="model", state={"colour_by": "layer"}, right=1),
    Step("limits", TIRED, limit_facts, choices=(
        Choice("tired", TIRED, showing(PRONOUN)),
        Choice("soft", SOFT, showing(PRONOUN)),
        Choice("reacting", FRESH, showing(REACTING)),
    ), right=2),
)  # fmt: skip

#: Sentences for the exercise, by kind.
SENTENCES: Mapping[str, Sequence[str]] = {
    "first": (CAT, "She loves programming."),
    "plain": ("The chef cooked rice and fish.", "Birds sing in the early morning.", "My sister reads a book every evening."),
    "pronoun": ("Mary told Anna that she had won.", "The dog chased the cat because it was fast.", "Tom thanked Lisa before he left."),
    "ambiguous": ("We saw her duck by the river.", "Time flies like an arrow.", "The bank by the river was muddy."),
}
