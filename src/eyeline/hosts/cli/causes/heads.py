"""`eyeline causes`: which heads of a model matter for its answers, over a corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from eyeline.hosts.cli.corpus import numbers
from eyeline.hosts.cli.corpus_options import (
    Address,
    Column,
    CorpusPath,
    EngineOption,
    GpusPerWorker,
    Kind,
    Limit,
    MaxTokens,
    Output,
    Overwrite,
    PairColumn,
    Paragraphs,
    Resume,
    Seed,
    Split,
    Workers,
    chosen_engine,
)
from eyeline.hosts.cli.language import Language
from eyeline.hosts.cli.models import ANSWERING_DEFAULT, AnsweringModel
from eyeline.hosts.cli.progress import progress_bars, resumable
from eyeline.hosts.cli.terminal import console

if TYPE_CHECKING:
    from eyeline.results.run import Run

#: Heads that are printed.
SHOWN = 5


def causes(
    corpus: CorpusPath,
    output: Output,
    model: AnsweringModel = ANSWERING_DEFAULT,
    by: Annotated[str, typer.Option(help="How a head is ablated: zero, or mean (its mean over the text).")] = "zero",
    limit: Limit = None,
    max_tokens: MaxTokens = None,
    layers: Annotated[str | None, typer.Option(help="Layers to ablate, from 0, such as 0,5. Default: all.")] = None,
    pruning: Annotated[bool, typer.Option("--pruning/--no-pruning", help="Also remove more and more heads together.")] = True,
    seed: Seed = 0,
    kind: Kind = None,
    paragraphs: Paragraphs = "auto",
    column: Column = None,
    pair_column: PairColumn = None,
    split: Split = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    engine: EngineOption = "local",
    workers: Workers = None,
    address: Address = None,
    gpus_per_worker: GpusPerWorker = None,
    language: Language = "en",
) -> None:
    """What each head does to the model's answers: ablated one at a time, estimated by gradients, and pruned together.

    [dim]eyeline causes corpus.txt --model e5-small-mlm --limit 100 -o run[/dim]
    """
    from eyeline.analyses.causes.run import causes as run_causes
    from eyeline.hosts.report.write import write_report
    from eyeline.models.load import load
    from eyeline.results.run import amounts
    from eyeline.results.status import writing_run
    from eyeline.text.corpora.read import read_corpus

    if by not in ("zero", "mean"):
        raise typer.BadParameter(f"{by!r}: give zero or mean.")
    where = chosen_engine(engine, workers, address, gpus_per_worker)
    opened = read_corpus(corpus, kind=kind, paragraphs=paragraphs, column=column, pair_column=pair_column, split=split)
    loaded, chosen = load(model), numbers(layers)
    with resumable(output), progress_bars() as report_progress, writing_run(output, "analyse", overwrite=resume or overwrite):
        run = run_causes(
            loaded, opened, by=by, pruning=pruning, limit=limit, max_tokens=max_tokens, layers=chosen, seed=seed, folder=output,  # type: ignore[arg-type]
            resume=resume, overwrite=overwrite, engine=where, progress=report_progress,
        )  # fmt: skip
        report = write_report(run.save(output), language)
    _print(run)
    console.print(f"{amounts(run)}. Report: {escape(str(report))}", highlight=False)


def _print(run: Run) -> None:
    """The heads that the answers need most, and how well the estimates agree with the ablations."""
    from eyeline.results.effects import correlation, effects

    every = effects(run)
    needed = [effect for effect in every if effect.loss_change > 0]
    title = f"The loss rises without {len(needed)} of {len(every)} heads{'; most without these' if len(needed) > 1 else ''}"
    table = Table(title=title, title_justify="left", title_style="bold", box=None)
    for name in ("head", "change of the loss", "standard error", "answer less probable by"):
        table.add_column(name, justify="left" if name == "head" else "right")
    for effect in needed[:SHOWN]:
        table.add_row(effect.head.full_label, f"{effect.loss_change:+.4f} nats", f"{effect.error:.4f}", f"{effect.answer_change:+.4f}")
    console.print(table)
    for first, second, about in (
        ("loss_change", "attribution", "Change of the loss, by ablation and by attribution patching"),
        ("|loss_change|", "gradient", "Size of that change, by ablation and by the gradient"),
        ("|loss_change|", "entropy", "Size of that change, and how broadly a head looks (entropy)"),
    ):
        value = correlation(run, first, second)
        if value is not None:
            console.print(f"{about}: rank correlation {value:+.2f}.", highlight=False)
