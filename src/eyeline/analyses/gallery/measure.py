"""What each head of a model does: statistics, grammar, reference, its effect when it is switched off, and texts to see it on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from eyeline.analyses.coreference.run import coreference
from eyeline.analyses.corpus.run import analyse
from eyeline.analyses.corpus.statistics.average_attention import AverageAttention
from eyeline.analyses.corpus.statistics.entropy import Entropy
from eyeline.analyses.corpus.statistics.head_distances import HeadDistances
from eyeline.analyses.corpus.statistics.head_effects import HeadEffects
from eyeline.analyses.gallery.embedding import embedding_changes
from eyeline.analyses.grammar.run import syntax
from eyeline.analyses.progress import ReportProgress, Steps
from eyeline.capture.trace import Trace
from eyeline.errors import ModelError
from eyeline.measures.strongest_look import strongest_look
from eyeline.models.model import Model
from eyeline.models.objective import answer_objective_of
from eyeline.results.gallery.measured import EXAMPLES_TABLE, LEAST_LOOK, MeasuredHeads
from eyeline.results.gallery.portrait import ExampleLook
from eyeline.results.run import Run
from eyeline.results.table import Table
from eyeline.sample.text import sample_text
from eyeline.sample.treebank import sample_treebank, write_sample

#: Short texts, written for this: objects, determiners, pronouns, possessives, a passive, a list, a question.
TEXTS = (
    "The cat sat on the mat because it was tired.",
    "The old woman gave her neighbour a red book.",
    "After the storm, the fishermen repaired their boats.",
    "The keys to the cabinet are on the kitchen table.",
    "Anna met Tom at the station, and she smiled at him.",
    "The letter was written by a young doctor in 1912.",
    "Bread, milk and two apples lay in the basket.",
    "Why did the teacher close the window?",
)
#: How many texts are shown for each head: those on which its strongest look is strongest.
SHOWN = 2


def measure_heads(
    model: Model,
    *,
    texts: int = 16,
    sentences: int = 500,
    min_count: int = 50,
    examples: Sequence[str] = TEXTS,
    seed: int = 0,
    progress: ReportProgress | None = None,
) -> MeasuredHeads:
    """Measure every head of a model with one kind of attention, on the built-in text and the built-in treebank.

    texts      paragraphs of the built-in text, for statistics and effects
    sentences  of the built-in treebank, for grammar and reference; relations with fewer than min_count words are left out
    examples   texts to see the heads on
    """
    if len(model.layout.stacks) > 1:
        raise ModelError(f"{model.name} has {len(model.layout.stacks)} kinds of attention.", "The gallery shows models with one.")
    paragraphs, bank = sample_text().split("\n\n"), sample_treebank(sentences, seed)
    steps = Steps(progress, 5)
    effects = [HeadEffects()] if _answers(model) else []
    statistics = [AverageAttention(), Entropy(), HeadDistances(), *effects]
    corpus = analyse(model, paragraphs, statistics, limit=texts, seed=seed, progress=steps.nested("statistics"))
    grammar = syntax(model, bank, min_count=min_count, seed=seed, progress=steps.nested("grammar"))
    with TemporaryDirectory() as folder:
        write_sample(path := Path(folder) / f"{bank.name}.conllu", sentences, seed)
        reference = coreference(model, path, seed=seed, progress=steps.nested("reference"))
    report = steps.begin("effects")
    tables = dict(corpus.tables)
    if not effects:
        tables |= embedding_changes(model, paragraphs[: max(2, texts // 2)], report)
    traces = [model.trace(text) for text in examples]
    steps.begin("examples")(len(traces), len(traces))
    tables[EXAMPLES_TABLE] = examples_table(traces)
    run = Run(corpus.facts, tables, corpus.example).join(grammar, reference)
    return MeasuredHeads(run, tuple(traces))


def examples_table(traces: Sequence[Trace]) -> Table:
    """For each head the texts on which it has the strongest looks, best first: their index, query, key and weight of the look.

    A look goes from a word to a distant word. Where none of them stands out, it is the strongest look of a word at any token: the word
    itself, a neighbour, a special token.
    """
    rows = []
    first = traces[0].only
    for index, layer in enumerate(first.layers):
        for head in range(len(first.weights_by_layer[index])):
            looks = [_look(trace, number, index, head) for number, trace in enumerate(traces)]
            for rank, look in enumerate(sorted(looks, key=lambda look: (-look.distant, -look.weight, look.text))[:SHOWN]):
                rows.append({"layer": layer, "head": head, "rank": rank, **asdict(look), "distant": int(look.distant)})
    return Table.from_rows(rows)


def _look(trace: Trace, number: int, layer: int, head: int) -> ExampleLook:
    """The look that shows a head on a text. number: of the text; layer, head: indices."""
    words = np.array(_are_words(trace))
    maps = trace.only.weights_by_layer
    look = strongest_look(maps, words, words, layers=[layer], heads=[head])
    if look.key is not None and look.weight >= LEAST_LOOK:
        return ExampleLook(number, look.query, look.key, look.weight, True)
    weights = np.where(words[:, None], np.nan_to_num(maps[layer][head]), 0)  # [query, key]
    query, key = (int(position) for position in np.unravel_index(weights.argmax(), weights.shape))
    return ExampleLook(number, query, key, float(weights[query, key]), False)


def _are_words(trace: Trace) -> list[bool]:
    """Whether each token has a letter or a digit, and was not added by the tokeniser."""
    pairs = zip(trace.text.tokens, trace.text.special, strict=True)
    return [not special and any(character.isalnum() for character in token) for token, special in pairs]


def _answers(model: Model) -> bool:
    """Whether the model has an answer whose loss can be measured."""
    try:
        answer_objective_of(model)
    except ModelError:
        return False
    return True
