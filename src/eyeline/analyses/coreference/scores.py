"""From right and wrong answers to tables: every method by the type of mention, the best head, and the best head held out."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from eyeline.results.grammar.directions import MENTION_DIRECTIONS, MENTION_TO_ANTECEDENT
from eyeline.results.table import Cell, Table
from eyeline.text.coreference.mention import GROUPS, TYPES

NAN = float("nan")


@dataclass(frozen=True)
class Scores:
    """Which questions each method and head answered rightly.

    types       of each question: [question]
    documents   of each question: [question]
    rules       method → right: [question]
    hits        (direction, layer) → right: [head, question]
    """

    types: np.ndarray
    documents: np.ndarray
    rules: Mapping[str, np.ndarray]
    hits: Mapping[tuple[str, int], np.ndarray]

    def accuracies(self, right: np.ndarray, among: np.ndarray | None = None) -> dict[str, float]:
        """Per cent right, of all questions and of each type; nan where there are none. right: [question]"""
        chosen = np.ones(len(right), dtype=bool) if among is None else among
        masks = {"all": chosen, **{name: chosen & (self.types == name) for name in TYPES}}
        return {name: float(100 * right[mask].mean()) if mask.any() else NAN for name, mask in masks.items()}

    def best_head(self, among: np.ndarray | None = None) -> tuple[int, int]:
        """The layer and head that is right most often, of equal ones the first; only the paper's direction counts."""
        chosen = slice(None) if among is None else among
        counts = {
            (layer, head): int(row[chosen].sum())
            for (direction, layer), hits in sorted(self.hits.items())
            if direction == MENTION_TO_ANTECEDENT
            for head, row in enumerate(hits)
        }
        return max(counts, key=lambda key: (counts[key], -key[0], -key[1]))

    def of_head(self, layer: int, head: int) -> np.ndarray:
        """Which questions a head answers rightly: [question]"""
        return np.asarray(self.hits[MENTION_TO_ANTECEDENT, layer][head])


@dataclass(frozen=True)
class HeldOut:
    """Heads chosen on one half of the documents and scored on the other, both ways; `right` covers all questions."""

    heads: tuple[tuple[int, int], tuple[int, int]]
    right: np.ndarray


def held_out(scores: Scores, seed: int) -> HeldOut | None:
    """Documents are halved at random with the seed; None where only one has a question."""
    numbers = sorted(set(scores.documents.tolist()))
    if len(numbers) < 2:
        return None
    random.Random(seed).shuffle(numbers)  # noqa: S311 - a seeded choice, not a secret
    first = np.isin(scores.documents, numbers[::2])
    chosen = scores.best_head(first), scores.best_head(~first)
    right = np.where(first, scores.of_head(*chosen[1]), scores.of_head(*chosen[0]))
    return HeldOut(chosen, right)


def method_table(scores: Scores, held_out_score: HeldOut | None) -> Table:
    """method, layer, head, all, pronoun, proper, nominal (per cent right), n."""
    n = len(scores.types)
    rows: list[tuple[Cell, ...]] = []
    for method, right in scores.rules.items():
        rows.append((method, NAN, NAN, *scores.accuracies(right).values(), n))
    best = scores.best_head()
    rows.append(("best head", *best, *scores.accuracies(scores.of_head(*best)).values(), n))
    if held_out_score is not None:
        head = held_out_score.heads[0] if held_out_score.heads[0] == held_out_score.heads[1] else (NAN, NAN)
        rows.append(("best head, held out", *head, *scores.accuracies(held_out_score.right).values(), n))
    return _table(("method", "layer", "head", *GROUPS, "n"), rows)


def head_table(scores: Scores) -> Table:
    """layer, head, direction, all, pronoun, proper, nominal, and how many questions of each there are."""
    sizes = [int((scores.types == name).sum()) for name in TYPES]
    rows: list[tuple[Cell, ...]] = []
    for direction, layer in sorted(scores.hits, key=lambda key: (MENTION_DIRECTIONS.index(key[0]), key[1])):
        for head, right in enumerate(scores.hits[direction, layer]):
            rows.append((layer, head, direction, *scores.accuracies(right).values(), len(scores.types), *sizes))
    return _table(("layer", "head", "direction", *GROUPS, "n", *(f"n_{name}" for name in TYPES)), rows)


def _table(names: tuple[str, ...], rows: list[tuple[Cell, ...]]) -> Table:
    return Table.from_rows([dict(zip(names, row, strict=True)) for row in rows], names)
