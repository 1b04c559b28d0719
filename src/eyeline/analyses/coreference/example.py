"""One window in which the best head is right, as an example: its words, and what each mention's main word attends to most."""

from __future__ import annotations

from collections import Counter

import numpy as np

from eyeline.analyses.coreference.antecedent_attention import Questions
from eyeline.analyses.coreference.windows import Window
from eyeline.analyses.word_maps import WordMaps, WordTexts, each_word_map, sides_of
from eyeline.capture.trace import Trace
from eyeline.models.model import Model
from eyeline.results.table import Cell, Table
from eyeline.text.coreference.read import MarkedCorpus

NAN = float("nan")
#: More different words than this do not make an example better.
ENOUGH_MENTIONS = 6
COLUMNS = ("index", "word", "sentence", "mention", "cluster", "attended", "weight", "antecedent", "right")


def choose_example(questions: Questions, right: np.ndarray, corpus: MarkedCorpus) -> int:
    """The window to show: the head is right on the greatest share of at least two mentions, they differ in their words, and it is short.

    right: [question]
    """

    def quality(number: int) -> tuple[bool, float, int, int]:
        indices = np.flatnonzero(questions.window == number)
        words = corpus[questions.windows[number].document].words
        in_window = [questions.questions[index] for index in indices]
        different = {words[index].casefold() for question in in_window for index in (question.mention.main_word, *question.right)}
        share = float(right[indices].mean()) if len(indices) else 0.0
        return len(indices) > 1, share, min(len(different), ENOUGH_MENTIONS), -len(questions.windows[number].words)

    return max(range(len(questions.windows)), key=quality)


def example_trace(model: Model, window: Window, layer: int) -> Trace | None:
    """The attention of that layer on the window; None for an encoder-decoder model, which would have to write a text first."""
    if model.hf.config.is_encoder_decoder:
        return None
    return model.traces([window.text.sources[0]], layers=[layer], keep={"weights"})[0]


def example_table(model: Model, questions: Questions, number: int, best: tuple[int, int], corpus: MarkedCorpus) -> Table:
    """A row for each word of the window. For the main word of a mention that has an antecedent: the mention, its cluster, the candidate
    that it attends to most and with what weight, its nearest antecedent, and whether the two agree; indices count within the window."""
    window, (layer, head) = questions.windows[number], best
    maps: list[WordMaps] = []
    texts = WordTexts((sides_of(model, window.text),), (0,), Counter(), {})
    each_word_map(model, texts, maps.append, layers=[layer])
    weights = maps[0].between_words[0, head].float().cpu()  # [word, word]
    position_of = {word: position for position, word in enumerate(window.words)}
    document = corpus[window.document]
    answers: dict[int, tuple[Cell, ...]] = {}
    for question in (questions.questions[i] for i in np.flatnonzero(questions.window == number)):
        query = position_of[question.mention.main_word]
        nearest_first = [position_of[word] for word in reversed(question.candidates)]
        position = max(nearest_first, key=lambda candidate, query=query: float(weights[query, candidate]))  # type: ignore[misc]
        span = " ".join(document.words[question.mention.start : question.mention.end + 1])
        is_right = window.words[position] in question.right
        nearest = position if is_right else position_of[max(question.right)]
        answers[query] = (span, question.mention.cluster, position, float(weights[query, position]), nearest, int(is_right))
    sentences = [number for number, sentence in enumerate(document.sentences) for _ in sentence]
    rows = [
        (position, document.words[word], sentences[word], *answers.get(position, ("", NAN, NAN, NAN, NAN, NAN)))
        for position, word in enumerate(window.words)
    ]
    return Table.from_rows([dict(zip(COLUMNS, row, strict=True)) for row in rows], COLUMNS)
