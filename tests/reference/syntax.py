"""Table 1 of Clark et al. 2019, written out word by word from the model's own traces: slow and obvious."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import eyeline as el

Scores = dict[tuple[str, int, int, str], float]


def word_map(weights: np.ndarray, groups: Sequence[Sequence[int]], special: Sequence[bool]) -> np.ndarray:
    """One head's attention between words, without special tokens: sum over the pieces looked at, mean over the pieces that look."""
    to_words = np.stack([weights[:, list(keys)].sum(axis=1) for keys in groups], axis=1)  # [token, word]
    full = np.stack([to_words[list(queries)].mean(axis=0) for queries in groups])  # [word, word]
    words = [unit for unit, group in enumerate(groups) if not special[group[0]]]
    return full[np.ix_(words, words)]


def predict(attention: np.ndarray, direction: str) -> list[int]:
    """The word with the highest weight, the word itself put at zero; -2 where there is none above zero."""
    results = []
    for d in range(len(attention)):
        row = (attention[d] if direction == "dependent-to-governor" else attention[:, d]).copy()
        row[d] = 0
        best = max(range(len(row)), key=lambda j: (row[j], -j))
        results.append(best if row[best] > 0 else -2)
    return results


def score(predictions: list[list[int]], sentences: Sequence[el.treebanks.Sentence], relations: Sequence[Sequence[str]]) -> dict[str, float]:
    """Percent right for each relation, and for all words together."""
    right: dict[str, int] = {}
    total: dict[str, int] = {}
    for guess, sentence, names in zip(predictions, sentences, relations, strict=True):
        for i, name in enumerate(names):
            correct = guess[i] == sentence.governors[i]
            if name in ("nmod:poss", "poss") and i + 1 < len(sentence.words) and sentence.words[i + 1] in ("'s", "s'", "’s", "s’"):
                correct = guess[i + 1] == sentence.governors[i]
            for key in (name, "all"):
                right[key] = right.get(key, 0) + int(correct)
                total[key] = total.get(key, 0) + 1
    return {name: 100 * right[name] / total[name] for name in total}


def offset_guesses(n: int, offset: int) -> list[int]:
    """clamp(i + offset, 0, n), i from 1, 0 for the root; as numbers from 0, the root -1."""
    return [min(max(i + offset, 0), n) - 1 for i in range(1, n + 1)]


def baselines(sentences: Sequence[el.treebanks.Sentence], relations: Sequence[Sequence[str]]) -> dict[str, float]:
    """The best fixed offset of each relation."""
    tried = [score([offset_guesses(len(sentence), o) for sentence in sentences], sentences, relations) for o in (-3, -2, -1, 0, 1, 2)]
    return {name: max(each[name] for each in tried) for name in tried[0]}


def every_head(traces: Sequence[el.Trace], sentences: Sequence[el.treebanks.Sentence], relations: Sequence[Sequence[str]]) -> Scores:
    """relation, layer, head, direction → percent; one sentence at a time, from its trace."""
    predictions: dict[tuple[int, int, str], list[list[int]]] = {}
    for trace in traces:
        stack = trace.stacks["encoder" if "encoder" in trace.stacks else "decoder"]
        text = stack.query_text
        for layer, heads in enumerate(stack.weights_by_layer):
            for head, weights in enumerate(heads):
                attention = word_map(np.asarray(weights, dtype=np.float64), text.word_groups, text.special)
                for direction in ("dependent-to-governor", "governor-to-dependent"):
                    predictions.setdefault((layer, head, direction), []).append(predict(attention, direction))
    numbers: Scores = {}
    for (layer, head, direction), guesses in predictions.items():
        for name, percent in score(guesses, sentences, relations).items():
            numbers[name, layer, head, direction] = percent
    return numbers
