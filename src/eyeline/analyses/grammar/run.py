"""What single heads know of grammar: every head as a dependency classifier (table 1 of Clark et al. 2019)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from eyeline.analyses.engines.choose import check_engine
from eyeline.analyses.engines.engine import Engine
from eyeline.analyses.grammar.examples import example_trace, examples_table
from eyeline.analyses.grammar.relations import LABELS, gold_of, halves, rows_of
from eyeline.analyses.grammar.score import GoldSentence, score_heads
from eyeline.analyses.grammar.tally import Tally
from eyeline.analyses.progress import ReportProgress, Steps
from eyeline.analyses.provenance import provenance
from eyeline.analyses.sampling import sample
from eyeline.analyses.tables import head_name
from eyeline.analyses.word_maps import MAX_TOKENS, read_words, reading_stack
from eyeline.capture.selection import check_layers_of
from eyeline.errors import Advice, TextError, nearest
from eyeline.measures.governors import OFFSETS, WIDE_OFFSETS, best_offset
from eyeline.models.model import Model, check_model
from eyeline.results.facts import CorpusFacts, SyntaxOptions
from eyeline.results.grammar.directions import ARC_DIRECTIONS
from eyeline.results.run import Run
from eyeline.results.table import Cell, Table
from eyeline.text.treebank.read import as_treebank
from eyeline.text.treebank.sentence import Sentence
from eyeline.text.treebank.treebank import Treebank
from eyeline.words import Words


def syntax(
    model: Model,
    treebank: Treebank | Sequence[Sentence] | str | Path,
    *,
    labels: str = "ud",
    min_count: int = 100,
    limit: int | None = None,
    max_tokens: int | None = MAX_TOKENS,
    layers: Iterable[int] | None = None,
    seed: int = 0,
    engine: Engine | str = "local",
    progress: ReportProgress | None = None,
) -> Run:
    """How often the word that a head attends to most is the governor: for every relation, both directions, beside the best fixed offset.

    treebank    what `read_treebank` read, or the file itself, or a list of Sentence
    labels      ud, stanford or as-is: see relations.gold_of
    min_count   relations with fewer words get no row; root and punct never do, but count in "all"
    limit       this many sentences, chosen at random with the seed
    max_tokens  sentences of more tokens are dropped and counted, as are those with a word that the tokeniser drops
    layers      only these layers
    seed        for the choice of sentences and the two halves
    engine      where: "local" (this process), "processes", "ray", or el.Ray(workers=8, …); the numbers are the same

    Tables: `syntax` (the best head for each relation), `syntax_heads` (every relation, head and direction), `syntax_examples`. Accuracies
    are in percent. `accuracy` is of the head that is best on the very data it is scored on, as in the paper; `accuracy_held_out` chooses
    on one half of the sentences, scores on the other, and the other way round. `baseline` is the best of the fixed offsets −3 to 2, as in
    the paper; `baseline_any` that of the offsets −20 to 20, for relations between distant words.
    """
    check_model(model)
    check_engine(engine)
    if labels not in LABELS:
        raise TextError(f"Labels {labels!r}.", nearest(labels, LABELS))
    if min_count < 1:
        raise TextError(f"A minimum count of {min_count}.", Advice("Give min_count=1 or more.", "Give --min-count 1 or more."))
    layers = None if layers is None else list(check_layers_of(model.layout, reading_stack(model), layers))
    bank = as_treebank(treebank)
    chosen = sample(bank.sentences, limit, seed, "sentences")
    options = SyntaxOptions(labels, min_count, limit, max_tokens, None if layers is None else tuple(layers), seed)
    corpus = CorpusFacts(bank.name, bank.sha256, sentences=len(bank) + len(bank.skipped), synthetic=bank.synthetic)
    facts = provenance(model, corpus, options)
    started = time.monotonic()
    texts = read_words(model, [sentence.words for sentence in chosen], [sentence.spaces for sentence in chosen], max_tokens=max_tokens)
    if not texts.sides:
        why = next(why for reasons in texts.reasons.values() for why in reasons.values()).splitlines()[0]
        raise TextError(f"None of the {len(chosen):,} sentences of {bank.name} could be used.", f"The first: {why}")
    halves_of = halves(len(texts.kept), seed)
    golds = [
        GoldSentence(sides, gold_of(chosen[index], labels), half)
        for sides, index, half in zip(texts.sides, texts.kept, halves_of, strict=True)
    ]
    scored = score_heads(model, golds, [chosen[index].id for index in texts.kept], layers, engine, Steps(progress).begin("sentences"))
    tally, texts = scored.tally, texts.only(scored.kept)
    kept = [chosen[index] for index in texts.kept]
    if not kept:
        raise TextError(f"Each of the {len(golds):,} sentences of {bank.name} broke its worker.", *scored.folded.reasons)
    rows = rows_of(tally.counts(), min_count)
    best = _best_table(tally, rows)
    tables = {"syntax": best, "syntax_heads": _heads_table(tally, rows), "syntax_examples": examples_table(model, texts, kept, tally, best)}
    counts = {"given": len(chosen) + len(bank.skipped), "no_tree": len(bank.skipped), **texts.counts, **scored.folded.counts}
    dropped = {"no_tree": dict(bank.skipped), **texts.dropped([sentence.id for sentence in chosen]), **scored.folded.dropped}
    few = Words()("notice.few_relations", n=f"{min_count:,}") if min_count > 1 else Words()("notice.no_relations")
    notices = (*texts.notices(model), *(() if len(rows) > 1 else (few,)))
    seconds = {"all": round(time.monotonic() - started, 3)}
    return Run(
        replace(facts, counts=counts, dropped=dropped, notices=notices, seconds=seconds, engine=scored.folded.engine),
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
                "heads_held_out": " ".join(head_name(*choices[index][:2]) for index in picked),
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
