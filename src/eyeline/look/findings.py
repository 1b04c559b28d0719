"""What can be said of one head and the answer to a text: sentences chosen by what was measured, with their numbers. Read without torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eyeline.heads import HeadRef
from eyeline.look.answer import LayerEffects, Prediction
from eyeline.look.stack import Stack
from eyeline.look.trace import Trace
from eyeline.look.views.view import is_word
from eyeline.mathematics import LEAST_DISTANCE

#: Without a head, the answer's probability moves by less than this: it changes little.
LITTLE = 0.02
#: A look of at least this weight is one that a reader would take for important.
TELLING = 0.4
#: Special tokens of a row that get at least this share of it are what the head rests on.
RESTS = 0.5


@dataclass(frozen=True)
class Finding:
    """One sentence: its key among the words of the page, and the values of its blanks."""

    key: str
    values: dict[str, str]


@dataclass(frozen=True)
class AnswerWithout:
    """The answer while something is switched off. off: as the state of a view writes it."""

    off: str
    prediction: Prediction


def findings(
    trace: Trace, head: HeadRef, query: int | None, effects: Sequence[LayerEffects] = (), without: AnswerWithout | None = None
) -> list[Finding]:
    """Sentences about what is shown: the change that was made, what this head does to the answer, what it looks at, and what else to try.

    head      the head that is shown; its stack is named where the trace has several
    query     the token whose looks are shown; None: those of several
    effects   what `model.head_effects(trace)` gives; without it nothing is said about the answer
    without   the answer with something switched off
    """
    said: list[Finding] = []
    stack = trace.stacks[head.stack] if head.stack else next(iter(trace.stacks.values()))
    prediction = trace.prediction
    if without is not None and prediction is not None:
        said.append(_changed(prediction, without))
    elif effects and prediction is not None:
        said.append(_effect(prediction, effects, head))
    if query is not None and (look := _look(stack, head, query)) is not None:
        said.append(look)
    if effects and prediction is not None and (other := _telling_without_effect(trace, prediction, effects, head)) is not None:
        said.append(other)
    return said


def _changed(prediction: Prediction, without: AnswerWithout) -> Finding:
    """What the model says now."""
    answer, now = prediction.label, without.prediction
    before, after = prediction.probabilities[0], now.probability_of(answer)
    values = {"off": without.off.replace(";", ","), "answer": answer, "before": _share(before)}
    if after is None:  # among the choices that were sent there is no such token: it fell behind all of them
        return Finding("other_answer_gone", {**values, "now": now.label, "p": _share(now.probabilities[0])})
    values["after"] = _share(after)
    if now.label != answer:
        return Finding("other_answer", {**values, "now": now.label, "p": _share(now.probabilities[0])})
    return Finding("same_answer" if abs(after - before) >= LITTLE else "same_answer_same_share", values)


def _effect(prediction: Prediction, effects: Sequence[LayerEffects], head: HeadRef) -> Finding:
    """What becomes of the answer without this head, and how that compares with all heads."""
    before = prediction.probabilities[0]
    every = [(HeadRef(layer["stack"], layer["layer"], i), p) for layer in effects for i, p in enumerate(layer["probabilities"])]
    after = next(p for each, p in every if each[1:] == head[1:] and head.stack in ("", each.stack))
    values = {"head": str(head), "answer": prediction.label, "before": _share(before), "after": _share(after), "n": str(len(every))}
    if abs(after - before) < LITTLE:
        return Finding("changes_little", values)
    if after > before:
        return Finding("raises", values)
    lower = sum(p < after for _, p in every)
    return Finding("needs_most" if lower == 0 else "needs", {**values, "rank": str(lower + 1)})


def _look(stack: Stack, head: HeadRef, query: int) -> Finding | None:
    """What the chosen token looks at in this head; special tokens are named as what it rests on."""
    if head.layer not in stack.layers or not stack.has("weights"):
        return None
    row = stack.weights_by_layer[stack.layers.index(head.layer)][head.head][query]  # [key]
    if not np.isfinite(row).all():
        return None
    text = stack.key_text
    special = np.array(text.special)
    values = {"head": str(head), "query": stack.query_text.tokens[query]}
    if special.any() and row[special].sum() >= RESTS:
        resting = ", ".join(dict.fromkeys(text.tokens[i] for i in np.flatnonzero(special)))
        return Finding("rests", {**values, "special": resting, "weight": _share(float(row[special].sum()))})
    words = [i for i in range(len(text)) if not text.special[i]]
    key = max(words, key=lambda i: row[i])
    itself = stack.query_text == text and key == query
    if itself:
        return Finding("looks_at_itself", {**values, "weight": _share(float(row[key]))})
    values |= {"token": text.tokens[key], "weight": _share(float(row[key]))}
    return Finding("looks" if row[key] >= TELLING else "looks_broadly", values)


def _telling_without_effect(trace: Trace, prediction: Prediction, effects: Sequence[LayerEffects], head: HeadRef) -> Finding | None:
    """Another head that looks sharply at a distant word from where the answer is read, and changes little."""
    position = prediction.positions[0]
    stack = next(iter(trace.stacks.values()))
    if position is None or len(trace.stacks) > 1 or not stack.has("weights"):
        return None
    before, text = prediction.probabilities[0], stack.key_text
    words = [
        i
        for i, pair in enumerate(zip(text.tokens, text.special, strict=True))
        if is_word(*pair) and i > 0 and abs(i - position) >= LEAST_DISTANCE
    ]
    best: tuple[float, HeadRef, int, float] | None = None
    for layer in effects:
        weights = stack.weights_by_layer[stack.layers.index(layer["layer"])]  # [head, query, key]
        for i, p in enumerate(layer["probabilities"]):
            if (layer["layer"], i) == head[1:] or abs(p - before) >= LITTLE or not words:
                continue
            key = max(words, key=lambda k: weights[i, position, k])
            weight = float(weights[i, position, key])
            if weight >= TELLING and (best is None or weight > best[0]):
                best = weight, HeadRef(head.stack, layer["layer"], i), key, p
    if best is None:
        return None
    weight, other, key, p = best
    values = {"head": str(other), "token": text.tokens[key], "weight": _share(weight), "answer": prediction.label}
    return Finding("telling_but_idle", {**values, "before": _share(before), "after": _share(p)})


def _share(value: float) -> str:
    """
    >>> _share(0.9), _share(0.004)
    ('0.90', '0.00')
    """
    return f"{value:.2f}"
