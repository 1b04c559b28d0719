"""What single heads know of grammar: every head as a dependency classifier (table 1 of Clark et al. 2019)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from eyeline.errors import EyelineError, TextError
from eyeline.heads import ARC_DIRECTIONS, HeadRef
from eyeline.look.trace import Trace
from eyeline.measure.engines.local import check_engine
from eyeline.measure.engines.processes import Engine
from eyeline.measure.grammar.options import SyntaxFacts, SyntaxOptions
from eyeline.measure.grammar.result import ALL, Gold, gold_of, halves, rows_of
from eyeline.measure.grammar.score import OFFSETS, WIDE_OFFSETS, GoldSentence, Tally, best_offset, score_heads
from eyeline.measure.runs.facts import CorpusFacts
from eyeline.measure.runs.options import chosen
from eyeline.measure.runs.progress import ReportProgress, Steps
from eyeline.measure.runs.run import Run
from eyeline.measure.runs.table import Cell, Table
from eyeline.measure.statistics.prepare import provenance, sample
from eyeline.measure.statistics.word_maps import WordMaps, WordTexts, each_word_map, read_words, reading_stack
from eyeline.messages import Message
from eyeline.models.layout import check_layers_of
from eyeline.models.model import Model, check_model
from eyeline.text.corpora.treebank import Sentence, Treebank, as_treebank


def syntax(
    model: Model,
    treebank: Treebank | Sequence[Sentence] | str | Path,
    *,
    # from SyntaxOptions, as the docstring's lines on them: make generated
    labels: str = "ud",
    min_count: int = 100,
    limit: int | None = None,
    max_tokens: int | None = 128,
    layers: Iterable[int] | None = None,
    seed: int = 0,
    engine: Engine | str = "local",
    progress: ReportProgress | None = None,
) -> Run:
    """How often the word that a head attends to most is the governor: for every relation, both directions, beside the best fixed offset.

    treebank    what `read_treebank` read, or the file itself, or a list of Sentence
    labels      ud (subtypes cut, but for nmod:poss, aux:pass …), stanford (its names, prep and pobj) or as-is
    min_count   relations with fewer words get no row; root and punct never do, but count in "all"
    limit       this many sentences, chosen at random with the seed
    max_tokens  sentences of more tokens are dropped and counted, as are those with a word that the tokeniser drops
    layers      only these layers, counted from 0
    seed        for the choice of sentences and the two halves
    engine      where: "local" (this process), "processes", "ray", or el.Ray(workers=8, …); the numbers are the same

    Tables: `syntax` (the best head for each relation), `syntax_heads` (every relation, head and direction), `syntax_examples`. Accuracies
    are in percent. `accuracy` is of the head that is best on the very data it is scored on, as in the paper; `accuracy_held_out` chooses
    on one half of the sentences, scores on the other, and the other way round. `baseline` is the best of the fixed offsets −3 to 2, as in
    the paper; `baseline_any` that of the offsets −20 to 20, for relations between distant words.
    """
    check_model(model)
    check_engine(engine)
    options = chosen(SyntaxOptions, locals())
    if options.layers is not None:
        options = replace(options, layers=check_layers_of(model.layout, reading_stack(model), options.layers))
    bank = as_treebank(treebank)
    sentences = sample(bank.sentences, limit, seed, "sentences")
    corpus = CorpusFacts(bank.name, bank.sha256, sentences=len(bank) + len(bank.skipped), synthetic=bank.synthetic)
    facts = provenance(SyntaxFacts, model, corpus, options)
    started = time.monotonic()
    texts = read_words(
        model, [sentence.words for sentence in sentences], [sentence.spaces for sentence in sentences], max_tokens=max_tokens
    )
    if not texts.examples:
        why = next(why for reasons in texts.reasons.values() for why in reasons.values()).first_line
        raise TextError(
            Message("refusal.no_sentence_used", n=f"{len(sentences):,}", corpus=bank.name), Message("refusal.the_first", why=why)
        )
    halves_of = halves(len(texts.kept), seed)
    golds = [
        GoldSentence(example, gold_of(sentences[index], labels), half)
        for example, index, half in zip(texts.examples, texts.kept, halves_of, strict=True)
    ]
    scored = score_heads(
        model, golds, [sentences[index].id for index in texts.kept], options.layers, engine, Steps(progress).begin("sentences")
    )
    tally, texts = scored.tally, texts.only(scored.kept)
    kept = [sentences[index] for index in texts.kept]
    if not kept:
        raise TextError(f"Each of the {len(golds):,} sentences of {bank.name} broke its worker.", *scored.outcome.reasons)
    rows = rows_of(tally.counts(), min_count)
    best = _best_table(tally, rows)
    tables = {"syntax": best, "syntax_heads": _heads_table(tally, rows), "syntax_examples": examples_table(model, texts, kept, tally, best)}
    counts = {"given": len(sentences) + len(bank.skipped), "no_tree": len(bank.skipped), **texts.counts, **scored.outcome.counts}
    dropped = {"no_tree": dict(bank.skipped), **texts.dropped([sentence.id for sentence in sentences]), **scored.outcome.dropped}
    few = Message("notice.few_relations", n=f"{min_count:,}") if min_count > 1 else Message("notice.no_relations")
    notices = (*texts.notices(model), *(() if len(rows) > 1 else (few,)))
    seconds = {"all": round(time.monotonic() - started, 3)}
    return Run(
        replace(facts, counts=counts, dropped=dropped, notices=notices, seconds=seconds, engine=scored.outcome.engine),
        tables,
        example_trace(model, kept, tally.golds),
    )


def _best_table(tally: Tally, rows: Sequence[str]) -> Table:
    of_layer = tally.right
    layers = sorted(of_layer)  # layers may differ in how many heads they have: all of them in one row
    choices = [(layer, head, way) for layer in layers for head, way in np.ndindex(of_layer[layer].shape[2:])]
    right = np.concatenate([of_layer[layer].reshape(2, len(tally.names), -1) for layer in layers], 2)  # [half, relation, choice]
    totals, offsets, wide = tally.totals(), tally.offsets_right(OFFSETS), tally.offsets_right(WIDE_OFFSETS)
    records: list[dict[str, Cell]] = []
    for name in rows:
        number = tally.names.index(name)
        both, total = right[:, number].sum(0), totals[:, number].sum()  # [choice]
        layer, head, direction = choices[int(both.argmax())]
        picked = [int(right[half, number].argmax()) for half in (0, 1)]
        held_out = right[1, number, picked[0]] + right[0, number, picked[1]]
        offset, any_offset = best_offset(offsets[number].tolist()), best_offset(wide[number].tolist(), WIDE_OFFSETS)
        records.append(
            {
                "relation": name,
                "count": int(total),
                "layer": layer,
                "head": head,
                "direction": ARC_DIRECTIONS[direction],
                "accuracy": 100 * float(both.max() / total),
                "baseline": 100 * float(offsets[number, OFFSETS.index(offset)] / total),
                "offset": offset,
                "accuracy_held_out": 100 * float(held_out / total) if totals[:, number].all() else float("nan"),
                "heads_held_out": " ".join(str(HeadRef("", *choices[index][:2])) for index in picked),
                "baseline_any": 100 * float(wide[number, WIDE_OFFSETS.index(any_offset)] / total),
                "offset_any": any_offset,
            }
        )
    return Table.from_rows(records)


def _heads_table(tally: Tally, rows: Sequence[str]) -> Table:
    totals, of_layer = tally.totals().sum(0), tally.right
    records: list[dict[str, Cell]] = []
    for name in rows:
        number = tally.names.index(name)
        for layer in sorted(of_layer):
            both = of_layer[layer][:, number].sum(0)  # [head, direction]
            for (head, direction), right in np.ndenumerate(both):
                records.append(
                    {
                        "relation": name,
                        "count": int(totals[number]),
                        "layer": layer,
                        "head": head,
                        "direction": ARC_DIRECTIONS[direction],
                        "accuracy": 100 * float(right / totals[number]),
                    }
                )
    return Table.from_rows(records)


# ---- Examples: sentences on which a head is most sure (figure 5 of the paper), and one sentence for the views


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
    few = WordTexts(tuple(texts.examples[index] for index in indices), tuple(indices), texts.counts, {})
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
    if model._hf.config.is_encoder_decoder:
        return None  # a decoder would have to write something first
    try:
        return model.traces([list(sentences[index].words)], keep={"weights"})[0]
    except EyelineError:
        return None  # some tokenisers cannot read the words without the treebank's spaces
