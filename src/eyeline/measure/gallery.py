"""What each head of a model does: statistics, grammar, reference, its effect when it is switched off, and texts to see it on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from eyeline.errors import ModelError
from eyeline.look.stack import as_kept
from eyeline.look.trace import Trace
from eyeline.mathematics import strongest_look
from eyeline.measure.coreference.run import coreference
from eyeline.measure.corpus.average_attention import AverageAttention
from eyeline.measure.corpus.distances import HeadDistances
from eyeline.measure.corpus.effects import HeadEffects
from eyeline.measure.corpus.entropy import Entropy
from eyeline.measure.corpus.head_scores import STACK as DECODER
from eyeline.measure.corpus.head_scores import HeadScores
from eyeline.measure.corpus.position_alone import PositionAlone
from eyeline.measure.corpus.run import analyse
from eyeline.measure.grammar.run import syntax
from eyeline.measure.heads.options import GalleryOptions
from eyeline.measure.heads.profile import EXAMPLES_TABLE, LEAST_LOOK, ExampleLook, MeasuredHeads
from eyeline.measure.runs.options import chosen
from eyeline.measure.runs.progress import ReportProgress, ReportStep, Steps
from eyeline.measure.runs.run import Run
from eyeline.measure.runs.table import Table
from eyeline.models.model import Model
from eyeline.models.objective import has_answer_objective
from eyeline.text.corpora.sample import sample_text
from eyeline.text.corpora.sample_treebank import sample_treebank, write_sample

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
    # from GalleryOptions, as the docstring's lines on them: make generated
    texts: int = 16,
    sentences: int = 500,
    min_count: int = 50,
    seed: int = 0,
    examples: Sequence[str] = TEXTS,
    progress: ReportProgress | None = None,
) -> MeasuredHeads:
    """Measure every head of a model with one kind of attention, on the built-in text and the built-in treebank.

    texts      paragraphs of the built-in text, for statistics and effects
    sentences  sentences of the built-in treebank, for grammar and reference
    min_count  relations with fewer words are left out
    seed       for everything that is drawn at random
    examples   texts to see the heads on
    """
    chosen(GalleryOptions, locals())
    if len(model.layout.stacks) > 1:
        raise ModelError(f"{model.name} has {len(model.layout.stacks)} kinds of attention.", "The gallery shows models with one.")
    paragraphs, bank = sample_text().split("\n\n"), sample_treebank(sentences, seed)
    steps = Steps(progress, 5)
    effects = [HeadEffects()] if has_answer_objective(model) else []
    scores = [HeadScores()] if model.layout.stacks == (DECODER,) else []
    statistics = [AverageAttention(), Entropy(), PositionAlone(), HeadDistances(), *scores, *effects]
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
        for head in range(len(as_kept(first.weights_by_layer)[index])):
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


# ---- Models without answers: how far the vector of a text turns when a head is switched off


NAME = "embedding_change"


def embedding_changes(model: Model, texts: Sequence[str], report: ReportStep) -> dict[str, Table]:
    """For each head the mean over texts of 1 − cos(v, v without the head), v the mean of the last layer's vectors; with its standard error.

    The table `embedding_change` has columns layer, head, change and error.
    """
    changes: dict[tuple[int, int], list[float]] = {}
    for number, text in enumerate(texts):
        side = model.read(text, truncate=True)
        whole, stored = model._passes.store([side])
        vector = whole.last_hidden_state.double().mean(1)  # [1, dim]
        for slot, heads, output in model._passes.without_each_head([side], model.layout.slots, stored=stored):
            turned = 1 - torch.nn.functional.cosine_similarity(output.last_hidden_state.double().mean(1), vector)  # [head]
            for head, change in enumerate(turned.cpu().tolist(), heads.start):
                changes.setdefault((slot.layer, head), []).append(change)
        report(number + 1, len(texts))
    rows = [
        {"layer": layer, "head": head, "change": float(np.mean(values)), "error": float(np.std(values, ddof=1) / len(values) ** 0.5)}
        for (layer, head), values in sorted(changes.items())
    ]
    return {NAME: Table.from_rows(rows)}
