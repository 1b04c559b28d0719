"""The work of scoring heads as finders of governors, sentence by sentence, for any engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eyeline.analyses.corpus.batch import BatchSize
from eyeline.analyses.engines.engine import Engine
from eyeline.analyses.engines.fold import PartsFolded, fold_parts
from eyeline.analyses.engines.parts import Part, parts_of
from eyeline.analyses.engines.work import Folded, Work
from eyeline.analyses.grammar.relations import Gold
from eyeline.analyses.grammar.tally import Tally, TallySums
from eyeline.analyses.progress import ReportWork
from eyeline.analyses.word_maps import word_maps_of_batch
from eyeline.capture.collect import Sides
from eyeline.models.model import Model


@dataclass(frozen=True)
class GoldSentence:
    """A sentence to score heads on: its tokens, what its words are scored against, and which half it is in."""

    sides: Sides
    gold: Gold
    half: int


@dataclass(frozen=True)
class SyntaxWork(Work[Part[GoldSentence], TallySums]):
    """Scores the heads of these layers (None: all) on sentences. names: the relations of all sentences of the run."""

    names: tuple[str, ...]
    layers: tuple[int, ...] | None

    def open(self, model: Model) -> Callable[[Part[GoldSentence]], Folded[TallySums]]:
        def fold(part: Part[GoldSentence]) -> Folded[TallySums]:
            tally = Tally([item.gold for item in part.items], [item.half for item in part.items], self.names)
            word_maps_of_batch(model, [item.sides for item in part.items], tally.update, layers=self.layers)
            return Folded(tally.sums(), sum(len(item.sides.source) for item in part.items))

        return fold


@dataclass(frozen=True)
class Scored:
    """The tally of the sentences that were scored, and how they were folded. kept: their indices among those that were given."""

    tally: Tally
    kept: tuple[int, ...]
    folded: PartsFolded


def score_heads(
    model: Model,
    sentences: Sequence[GoldSentence],
    names: Sequence[str],
    layers: Sequence[int] | None,
    engine: Engine | str,
    report: ReportWork,
) -> Scored:
    """Score every head on every sentence. names: of the sentences."""
    whole = Tally([item.gold for item in sentences], [item.half for item in sentences])
    work = SyntaxWork(tuple(whole.names), None if layers is None else tuple(layers))
    size = BatchSize.of(model)
    parts = parts_of(sentences, model.in_batches([item.sides for item in sentences], size.tokens, size.texts), names)
    folded = fold_parts(work, model, parts, lambda part, sums: whole.merge(sums, part.indices), engine, report)
    kept = tuple(index for index in range(len(sentences)) if index not in folded.left_out)
    return Scored(whole.only(kept), kept, folded)
