"""Which heads matter: every head ablated over a corpus, its estimates by gradients, and the pruning curve."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from eyeline.heads import HeadRef
from eyeline.measure.causes.options import CausesOptions
from eyeline.measure.corpus.average_attention import AverageAttention
from eyeline.measure.corpus.effects import By, HeadEffects, Pruning
from eyeline.measure.corpus.entropy import Entropy
from eyeline.measure.corpus.run import analyse
from eyeline.measure.engines.processes import Engine
from eyeline.measure.runs.options import chosen
from eyeline.measure.runs.progress import ReportProgress, Steps
from eyeline.measure.runs.run import Run
from eyeline.measure.runs.table import Table, heads_of_rows
from eyeline.models.load import as_model
from eyeline.models.model import Model
from eyeline.models.objective import answer_objective_of
from eyeline.storage.files import remove
from eyeline.text.corpora.corpus import Corpus, Item

#: Orders in which heads are drawn at random for the pruning curve.
RANDOM_ORDERS = 2
#: The folder, inside that of the run, that holds the sums of the pruning curve while it is measured.
PRUNING = ".eyeline-pruning"


def causes(
    model: Model | str | Path,
    corpus: Corpus | Sequence[Item],
    *,
    # from CausesOptions, as the docstring's lines on them: make generated
    by: By = "zero",
    pruning: bool = True,
    limit: int | None = None,
    max_tokens: int | None = None,
    layers: Iterable[int] | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    engine: Engine | str = "local",
    progress: ReportProgress | None = None,
) -> Run:
    """What each head does to the model's answers over a corpus.

    by          how a head is ablated: "zero" or "mean" (its mean over the positions of the text)
    pruning     also measure what is left when more and more heads go: those with the least effect first, and in random order
    limit       this many documents, chosen at random with the seed
    max_tokens  longer documents are skipped and counted
    layers      only these layers, counted from 0
    seed        for everything that is drawn at random

    The rest is as in `analyse`. Tables: causes (a row for each head), causes_agreement, pruning, average_attention, entropy.
    """
    options = chosen(CausesOptions, locals())
    model = as_model(model)
    answer_objective_of(model)  # a model without a loss is refused before anything is computed or written
    corpus = Corpus.of(corpus)
    statistics = [AverageAttention(), Entropy(), HeadEffects(by)]
    steps = Steps(progress, 2 if pruning else 1)
    run = analyse(
        model, corpus, statistics, limit=limit, max_tokens=max_tokens, layers=options.layers, seed=seed, folder=folder, resume=resume,
        overwrite=overwrite, engine=engine, progress=steps.nested("ablating"),
    )  # fmt: skip
    if not pruning:
        return run
    inner = None if folder is None else Path(folder) / PRUNING
    orders = removal_orders(run.table("causes"), model.layout.stacks[0], seed)
    curve = analyse(
        model, corpus, [Pruning(orders, by=by)], limit=limit, max_tokens=max_tokens, layers=options.layers, seed=seed, folder=inner,
        resume=resume, overwrite=overwrite, engine=engine, progress=steps.nested("pruning"),
    )  # fmt: skip
    if inner is not None:
        remove(inner)
    seconds = {"all": round(run.facts.total_seconds + curve.facts.total_seconds, 3)}
    return Run(replace(run.facts, seconds=seconds), {**run.tables, "pruning": curve.table("pruning")}, run.example)


def removal_orders(table: Table, stack: str, seed: int) -> dict[str, list[HeadRef]]:
    """The orders of the pruning curve: the heads whose ablation raises the loss least go first; and orders drawn at random.

    stack   of a table without a column for it
    """
    heads = heads_of_rows(table, stack)
    effect = dict(zip(heads, table["loss_change"].astype(float).tolist(), strict=True))
    orders = {"least effect first": sorted(heads, key=effect.__getitem__)}
    for number in range(RANDOM_ORDERS):
        drawn = list(heads)
        random.Random(f"{seed} {number}").shuffle(drawn)  # noqa: S311 - seeded, not a secret
        orders[f"random {number}"] = drawn
    return orders
