"""Which heads matter: every head ablated over a corpus, its estimates by gradients, and the pruning curve."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from eyeline.analyses.corpus.run import analyse
from eyeline.analyses.corpus.statistics.answer_statistic import By
from eyeline.analyses.corpus.statistics.average_attention import AverageAttention
from eyeline.analyses.corpus.statistics.entropy import Entropy
from eyeline.analyses.corpus.statistics.head_effects import HeadEffects
from eyeline.analyses.corpus.statistics.pruning import Pruning
from eyeline.analyses.engines.engine import Engine
from eyeline.analyses.progress import ReportProgress, Steps
from eyeline.heads import HeadRef
from eyeline.models.load import as_model
from eyeline.models.model import Model
from eyeline.models.objective import answer_objective_of
from eyeline.results.run import Run
from eyeline.results.table import Table
from eyeline.text.corpora.corpus import Corpus, Item

#: Orders in which heads are drawn at random for the pruning curve.
RANDOM_ORDERS = 2
#: The folder, inside that of the run, that holds the sums of the pruning curve while it is measured.
PRUNING = "pruning"


def causes(
    model: Model | str | Path,
    corpus: Corpus | Sequence[Item],
    *,
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

    by        how a head is ablated: "zero" or "mean" (its mean over the positions of the text)
    pruning   also measure what is left when more and more heads go: those with the least effect first, and in random order
    The rest is as in `analyse`. Tables: causes (a row for each head), causes_agreement, pruning, average_attention, entropy.
    """
    model = as_model(model)
    answer_objective_of(model)  # a model without a loss is refused before anything is computed or written
    corpus = Corpus.of(corpus)
    chosen = None if layers is None else list(layers)
    statistics = [AverageAttention(), Entropy(), HeadEffects(by)]
    steps = Steps(progress, 2 if pruning else 1)
    run = analyse(
        model, corpus, statistics, limit=limit, max_tokens=max_tokens, layers=chosen, seed=seed, folder=folder, resume=resume,
        overwrite=overwrite, engine=engine, progress=steps.nested("ablating"),
    )  # fmt: skip
    if not pruning:
        return run
    inner = None if folder is None else Path(folder) / PRUNING
    orders = removal_orders(run.table("causes"), model.layout.stacks[0], seed)
    curve = analyse(
        model, corpus, [Pruning(orders, by=by)], limit=limit, max_tokens=max_tokens, layers=chosen, seed=seed, folder=inner, resume=resume,
        overwrite=overwrite, engine=engine, progress=steps.nested("pruning"),
    )  # fmt: skip
    if inner is not None:
        shutil.rmtree(inner)
    seconds = {"all": round(run.facts.total_seconds + curve.facts.total_seconds, 3)}
    return Run(replace(run.facts, seconds=seconds), {**run.tables, "pruning": curve.table("pruning")}, run.example)


def removal_orders(table: Table, stack: str, seed: int) -> dict[str, list[HeadRef]]:
    """The orders of the pruning curve: the heads whose ablation raises the loss least go first; and orders drawn at random.

    stack   of a table without a column for it
    """
    stacks = [str(name) for name in table.columns["stack"]] if "stack" in table.columns else [stack] * len(table)
    heads = [HeadRef(*key) for key in zip(stacks, table["layer"].astype(int).tolist(), table["head"].astype(int).tolist(), strict=True)]
    effect = dict(zip(heads, table["loss_change"].astype(float).tolist(), strict=True))
    orders = {"least effect first": sorted(heads, key=effect.__getitem__)}
    for number in range(RANDOM_ORDERS):
        drawn = list(heads)
        random.Random(f"{seed} {number}").shuffle(drawn)  # noqa: S311 - seeded, not a secret
        orders[f"random {number}"] = drawn
    return orders
