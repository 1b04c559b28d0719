"""Figures that show another number than they name."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import Any

import eyeline as el
from eyeline.measure.space.options import DISTANCES, WHERE
from eyeline.measure.space.stack import pairs_distance
from tests.attack.family import Family
from tests.laws.statistics import new_tiny_model
from tests.reference.gauge import weighted_correlation

WORDS = ["the", "cat", "sat", "on", "mat", ".", "it", "purred", ",", "and", "a", "dog", "ran", "very", "long", "way", "home"]

GAUGES: tuple[dict[str, Any], ...] = (
    *({"gauge": "searched", "distance": distance, "correlate": where} for distance, where in product(DISTANCES, WHERE)),
    {"gauge": "none"},
    {"gauge": "lifted"},
    {"gauge": "attentionviz"},
    {"gauge": "attentionviz", "shared_scale": True},
)


def attack_drawn(folder: Path, count: int) -> Family:
    """Figure 4b of AttentionViz, of random texts with every gauge and distance; read back from the files of the run."""
    family = Family("figure 4b: dots of another distance than the heading's", "dots with the correlation and the distance that they name")
    draw = random.Random(0)  # noqa: S311 - a seeded choice, not a secret
    model = new_tiny_model()
    for number in range(count):
        options, dims = GAUGES[number % len(GAUGES)], draw.choice([2, 3])
        text = " ".join(draw.choices(WORDS, k=draw.randrange(6, 15)))  # so short that every pair is drawn

        def attack(options: dict[str, Any] = options, dims: int = dims, text: str = text, number: int = number) -> str | None:
            space = el.space(model, [text], project="pca", dims=dims, **options)
            run = el.runs.open_run(space.run().save(folder / str(number)))
            return wrong_heads(run, (options.get("distance", DISTANCES[0]), options.get("correlate", WHERE[0])))

        family.check(f"{options}, {dims} dimensions, {text!r}", attack)
    return family


def wrong_heads(run: el.Run, distance: tuple[str, str]) -> str | None:
    """The heads whose dots have another correlation than the one above them, or another distance than was asked for."""
    table = run.table("space_pairs")
    if pairs_distance(table) != distance:
        return f"the table names {pairs_distance(table)}"
    figure = el.figure(run, "space_pairs")
    titles = [note.text for note in figure.layout.annotations if "→" in note.text]
    wrong = []
    for index, title in enumerate(titles):
        panels = figure.data[2 * index : 2 * index + 2]
        drawn = [weighted_correlation(*(list(map(float, side)) for side in (dots.y, dots.x, dots.customdata))) for dots in panels]
        named = [float(number.replace("−", "-")) for number in title.rsplit("<br>", 1)[1].split(" → ")]
        if any(abs(first - second) > 0.00501 for first, second in zip(drawn, named, strict=True)):
            wrong.append(f"{title}: {drawn}")
    return "; ".join(wrong) or (None if titles else "no head is named")
