"""Antecedent selection as the paper's words say it: plain loops, one mention and one head at a time, from whole traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import eyeline as el
from eyeline.mentions import MarkedDocument, Mention


def word_level(tokens: np.ndarray, text: el.traces.TokenizedText) -> np.ndarray:
    """Attention between words: sum over the pieces of the word looked at, mean over those of the word that looks."""
    n = len(text.word_texts)
    result = np.zeros((n, n))
    for v in range(n):
        looking = [i for i, word in enumerate(text.words) if word == v]
        for w in range(n):
            looked_at = [j for j, word in enumerate(text.words) if word == w]
            result[v, w] = sum(float(tokens[i, j]) for i in looking for j in looked_at) / len(looking)
    return result


def attention_answers(words: np.ndarray, row_of: dict[int, int], mentions: list[Mention], *, back: bool = False) -> list[tuple[str, bool]]:
    """(type, right) of each mention that has an antecedent. words: [word, word]; row_of: word of the document → row."""
    results = []
    for mention in mentions:
        antecedents = [other for other in mentions if other.main_word < mention.main_word and other.cluster == mention.cluster]
        if not antecedents:
            continue
        best, most = None, -1.0
        for other in mentions:
            if other.main_word < mention.main_word:
                row, column = row_of[mention.main_word], row_of[other.main_word]
                weight = words[column, row] if back else words[row, column]
                if weight > most or (weight == most and best is not None and other.main_word > best):
                    best, most = other.main_word, weight
        results.append((mention.type, any(other.main_word == best for other in antecedents)))
    return results


def rule_answers(document: MarkedDocument, mentions: list[Mention], method: str) -> list[bool]:
    """Whether the nearest mention, the nearest with the same main word, or the four rules in order find an antecedent."""
    collected = []

    def lower(first: int, last: int) -> str:
        return " ".join(document.words[first : last + 1]).lower()

    for mention in mentions:
        before = [other for other in mentions if other.main_word < mention.main_word]
        right = {other.main_word for other in before if other.cluster == mention.cluster}
        if not right:
            continue
        nearest_first = sorted(before, key=lambda other: mention.main_word - other.main_word)
        answer = None
        if method == "nearest":
            answer = nearest_first[0].main_word
        elif method == "head match":
            for other in nearest_first:
                if lower(other.main_word, other.main_word) == lower(mention.main_word, mention.main_word):
                    answer = other.main_word
                    break
        else:
            for rule in (1, 2, 3, 4):
                for other in nearest_first:
                    passes = rule == 4
                    if rule == 1:
                        passes = lower(other.start, other.end) == lower(mention.start, mention.end)
                    elif rule == 2:
                        passes = lower(other.main_word, other.main_word) == lower(mention.main_word, mention.main_word)
                    elif rule == 3:
                        passes = (
                            _fits(mention.number, other.number)
                            and _fits(mention.gender, other.gender)
                            and _fits(mention.person, other.person)
                        )
                    if passes:
                        answer = other.main_word
                        break
                if answer is not None:
                    break
        collected.append(answer in right)
    return collected


def _fits(first: str | None, second: str | None) -> bool:
    if first is None or second is None:
        return True
    return any(value in second.split(",") for value in first.split(","))


# ---- A second count from the records of a file, in either order in which mentions can be said to come before one another


def by_main_word(record: dict[str, Any]) -> tuple[int, ...]:
    """Ours: a mention comes before another if its main word does."""
    return (record["head"],)


def by_beginning(record: dict[str, Any]) -> tuple[int, ...]:
    """A mention comes before another if it begins before it, or with it and is longer: what holds it comes before it."""
    return record["start"], -record["end"]


def second_count(
    words: list[str], records: list[dict[str, Any]], order: Callable[[dict[str, Any]], tuple[int, ...]]
) -> list[dict[str, bool]]:
    """Which rules are right for each mention with an antecedent among these: {start, end, head, cluster, number …} of JSON lines."""
    answers = []
    for scored in records:
        before = sorted((other for other in records if order(other) < order(scored)), key=order)
        antecedents = {other["head"] for other in before if other["cluster"] == scored["cluster"]}
        if not antecedents:
            continue
        span, word = _lower(words, scored["start"], scored["end"]), words[scored["head"]].casefold()
        same_span = [other for other in before if _lower(words, other["start"], other["end"]) == span]
        same_word = [other for other in before if words[other["head"]].casefold() == word]
        agreeing = [other for other in before if all(_fits(scored[name], other[name]) for name in ("number", "gender", "person"))]
        rules = next(fitting for fitting in (same_span, same_word, agreeing, before) if fitting)
        named = {"nearest": before, "head match": same_word, "rule-based": rules}
        answers.append({name: bool(fitting) and fitting[-1]["head"] in antecedents for name, fitting in named.items()})
    return answers


def _lower(words: list[str], first: int, last: int) -> list[str]:
    return [word.casefold() for word in words[first : last + 1]]
