"""The sentences on which a head is most sure of a relation (figure 5 of Clark et al. 2019), and one to look at heads with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from eyeline.analyses.grammar.relations import ALL, Gold
from eyeline.analyses.word_maps import WordMaps, WordTexts, each_word_map
from eyeline.capture.trace import Trace
from eyeline.errors import EyelineError
from eyeline.models.model import Model
from eyeline.results.grammar.directions import ARC_DIRECTIONS
from eyeline.results.table import Cell, Table
from eyeline.text.treebank.sentence import Sentence

if TYPE_CHECKING:
    from eyeline.analyses.grammar.run import Tally

#: Examples have so many words: enough to choose from, few enough to be drawn.
SHORTEST, LONGEST = 4, 14
#: So many are drawn for each relation; a few more are kept, since treebanks repeat themselves ("Thank you.").
DRAWN, KEPT = 2, 6


class Surest:
    """For every relation, head and direction, the short sentences in which its predictions for that relation carry most attention.

    How sure: the mean, over the words of that relation, of the weight of the prediction, right or wrong.
    """

    def __init__(self, n_relations: int) -> None:
        self.n_relations = n_relations
        self._best: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # layer → how sure, which sentence: [relation, head, direction, kept]

    def update(self, maps: WordMaps, weights: torch.Tensor, of_relation: torch.Tensor) -> None:
        """weights: of the predictions [sentence, head, direction, word]; of_relation: [sentence · word, half · relation]"""
        short = [index for index, n in enumerate(maps.n_words) if SHORTEST <= n <= LONGEST]
        if not short:
            return
        member = of_relation.reshape(len(maps.sentences), maps.width, 2, self.n_relations).sum(2)[short]  # [sentence, word, relation]
        count = member.sum(1)[:, None, None]  # [sentence, 1, 1, relation]
        sure = (weights[short] @ member[:, None].to(weights.dtype)) / count  # [sentence, head, direction, relation]
        sure = sure.masked_fill(count == 0, -1).permute(3, 1, 2, 0).cpu()  # [relation, head, direction, sentence]
        which = torch.tensor([maps.sentences[index] for index in short]).expand_as(sure)
        if maps.layer in self._best:
            sure, which = torch.cat([self._best[maps.layer][0], sure], -1), torch.cat([self._best[maps.layer][1], which], -1)
        top = sure.topk(min(KEPT, sure.shape[-1]), -1)
        self._best[maps.layer] = top.values, which.gather(-1, top.indices)

    def sentences(self, relation: int, layer: int, head: int, direction: int) -> list[int]:
        """The places of the sentences, surest first."""
        if layer not in self._best:
            return []
        sure, which = (part[relation, head, direction] for part in self._best[layer])
        return [int(number) for number, value in zip(which, sure, strict=True) if value > 0]


def examples_table(model: Model, texts: WordTexts, sentences: Sequence[Sentence], tally: Tally, best: Table) -> Table:
    """For each relation's best head, its attention on the sentences where it is most sure.

    Columns: relation, layer, head, direction, sentence (its id), and as JSON words, gold ([dependent, head] of the relation's words) and
    weights (from each word to each).
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
    """The map of one head on one sentence for each that is wanted: [word, word]"""
    indices = sorted({index for _, index in wanted})
    few = WordTexts(tuple(texts.sides[index] for index in indices), tuple(indices), texts.counts, {})
    maps_of: dict[tuple[int, int, int], np.ndarray] = {}
    keys = {(int(row["layer"]), int(row["head"]), index) for row, index in wanted}

    def take(maps: WordMaps) -> None:
        for row, sentence in enumerate(maps.sentences):
            n = maps.n_words[row]
            for layer, head, index in keys:
                if layer == maps.layer and index == indices[sentence]:
                    maps_of[layer, head, index] = maps.weights[row, head, :n, :n].cpu().numpy()

    if indices:
        each_word_map(model, few, take)
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
        return None  # without its spaces this tokeniser reads it otherwise
