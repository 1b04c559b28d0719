"""Check that the pairs to be drawn in red occur in the texts, before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence

from eyeline.analyses.prepare import Preparation, documents_of
from eyeline.models.model import Model
from eyeline.results.space.record import pairs_in_space
from eyeline.text.corpora.corpus import Corpus, Item
from eyeline.text.named_pairs import PairsGiven, pairs_in_texts


def check_red_pairs(
    models: Model | Sequence[Model],
    corpus: Corpus | Sequence[Item],
    red: PairsGiven,
    *,
    of: str = "queries-keys",
    limit: int | None = None,
    max_tokens: int | None = None,
    seed: int = 0,
) -> None:
    """Tokenise the texts of a run; a pair that none of them holds is an error that names it. The options are those of `space`."""
    pairs = pairs_in_space(of, red)
    for model in (models if isinstance(models, Sequence) else [models]) if pairs else ():
        documents = documents_of(Corpus.of(corpus), model, pairs=False, limit=limit, max_tokens=max_tokens, seed=seed)
        preparation = Preparation(model, max_tokens)
        texts = [sides for document in documents for sides in preparation.read(document)]
        both = [sides.of(stack) for sides in texts for stack in model.layout.stacks]
        for pair in pairs if texts else ():  # the run itself refuses a corpus without any text
            pairs_in_texts(pair, [queries for queries, _ in both], [keys for _, keys in both])
