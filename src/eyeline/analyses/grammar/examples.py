"""The sentences on which a head is most sure of a relation (figure 5 of Clark et al. 2019), and one example sentence for the views."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from eyeline.analyses.grammar.relations import ALL, Gold
from eyeline.analyses.grammar.tally import Tally
from eyeline.analyses.word_maps import WordMaps, WordTexts, each_word_map
from eyeline.capture.trace import Trace
from eyeline.errors import EyelineError
from eyeline.models.model import Model
from eyeline.results.grammar.directions import ARC_DIRECTIONS
from eyeline.results.table import Cell, Table
from eyeline.text.treebank.sentence import Sentence

#: How many sentences are drawn for each relation.
DRAWN = 2


def examples_table(model: Model, texts: WordTexts, sentences: Sequence[Sentence], tally: Tally, best: Table) -> Table:
    """For each relation's best head, its attention on the sentences where it is most sure.

    Columns: relation, layer, head, direction, sentence (its id), and as JSON words, gold ([dependent, governor] of the relation's words)
    and weights (from each word to each).
    """
    wanted: list[tuple[dict[str, Cell], int]] = []
    for row in best.rows():
        if row["relation"] == ALL:
            continue
        number, direction = tally.names.index(str(row["relation"])), ARC_DIRECTIONS.index(str(row["direction"]))
        surest = tally.surest.sentences(number, int(row["layer"]), int(row["head"]), direction)
        first_of = {tuple(word.lower() for word in sentences[index].words): index for index in reversed(surest)}
        distinct = [index for index in surest if index in first_of.values()]  # a sentence that occurs twice is drawn once
        wanted += [(row, index) for index in distinct[:DRAWN]]
    maps = _maps(model, texts, wanted)
    rows: list[dict[str, Cell]] = []
    for (row, index), weights in zip(wanted, maps, strict=True):
        gold, sentence = tally.golds[index], sentences[index]
        arcs = [
            [word, governor]
            for word, (governor, name) in enumerate(zip(gold.governors, gold.relations, strict=True))
            if name == row["relation"]
        ]
        rows.append(
            {
                **{name: row[name] for name in ("relation", "layer", "head", "direction")},
                "sentence": sentence.id,
                "words": json.dumps(sentence.words, ensure_ascii=False),
                "gold": json.dumps(arcs),
                "weights": json.dumps([[round(float(weight), 3) for weight in line] for line in weights]),
            }
        )
    return Table.from_rows(rows, ("relation", "layer", "head", "direction", "sentence", "words", "gold", "weights"))


def _maps(model: Model, texts: WordTexts, wanted: Sequence[tuple[dict[str, Cell], int]]) -> list[np.ndarray]:
    """The map of the head on the sentence, for each wanted pair: [word, word]"""
    indices = sorted({index for _, index in wanted})
    few = WordTexts(tuple(texts.sides[index] for index in indices), tuple(indices), texts.counts, {})
    maps_of: dict[tuple[int, int, int], np.ndarray] = {}
    keys = {(int(row["layer"]), int(row["head"]), index) for row, index in wanted}

    def receive(maps: WordMaps) -> None:
        for row, sentence in enumerate(maps.sentences):
            n = maps.n_words[row]
            for layer, head, index in keys:
                if layer == maps.layer and index == indices[sentence]:
                    maps_of[layer, head, index] = maps.weights[row, head, :n, :n].cpu().numpy()

    if indices:
        each_word_map(model, few, receive)
    return [maps_of[int(row["layer"]), int(row["head"]), index] for row, index in wanted]


def example_trace(model: Model, sentences: Sequence[Sentence], golds: Sequence[Gold]) -> Trace | None:
    """The attention on a sentence of a readable length with many relations in it."""
    short = [index for index, sentence in enumerate(sentences) if 6 <= len(sentence) <= 20]
    if not short:
        return None
    index = max(short, key=lambda index: (len(set(golds[index].relations)), -len(sentences[index]), -index))
    if model.hf.config.is_encoder_decoder:
        return None  # a decoder would have to write something first
    try:
        return model.traces([list(sentences[index].words)], keep={"weights"})[0]
    except EyelineError:
        return None  # some tokenisers cannot read the words without the treebank's spaces
