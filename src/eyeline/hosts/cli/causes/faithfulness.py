"""`eyeline faithfulness`: how faithful each quantity is to a model's answers, over a corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from eyeline.hosts.cli.corpus_options import (
    Address,
    Column,
    CorpusPath,
    EngineOption,
    GpusPerWorker,
    Kind,
    Limit,
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


def faithfulness(
    corpus: CorpusPath,
    output: Output,
    model: AnsweringModel = ANSWERING_DEFAULT,
    method: Annotated[
        list[str] | None, typer.Option(help="Only this quantity; may be repeated. Default: all that the model allows, except flow.")
    ] = None,
    limit: Limit = None,
    max_tokens: Annotated[int, typer.Option(help="Skip longer documents.")] = 128,
    seed: Seed = 0,
    paragraphs: Paragraphs = "auto",
    kind: Kind = None,
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
    """How faithful each quantity is to the model's answers: the tokens that it ranks first are erased, or left alone.

    For classifiers, masked language models and decoders. Runs over parts of a corpus are merged by: eyeline merge

    [dim]eyeline faithfulness reviews.txt --model e5-small-sentiment --limit 200 -o run[/dim]
    """
    from eyeline.analyses.causes.faithfulness import Faithfulness
    from eyeline.analyses.corpus.run import analyse
    from eyeline.hosts.report.write import write_report
    from eyeline.models.load import load
    from eyeline.results.status import writing_run
    from eyeline.text.corpora.read import read_corpus

    statistic = Faithfulness(method, longest=max_tokens)
    where = chosen_engine(engine, workers, address, gpus_per_worker)
    opened = read_corpus(corpus, kind=kind, paragraphs=paragraphs, column=column, pair_column=pair_column, split=split)
    loaded = load(model)
    with resumable(output), progress_bars() as report_progress, writing_run(output, "analyse", overwrite=resume or overwrite):
        run = analyse(
            loaded, opened, [statistic], limit=limit, max_tokens=max_tokens, seed=seed, folder=output, resume=resume,
            overwrite=overwrite, engine=where, progress=report_progress,
        )  # fmt: skip
        report = write_report(run.save(output), language)
    console.print(printed(run))
    for name, reason in statistic.refused.items():
        console.print(f"[bold]Left out[/bold] {escape(name)}: {escape(reason.splitlines()[0])}", highlight=False)
    console.print(f"Report: {escape(str(report))}", highlight=False)


def printed(run: Run) -> Table:
    """The table of a run, the most faithful quantity first."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    names = ("method", "comprehensiveness", "sufficiency", "aopc", "texts")
    for name in names:
        table.add_column(name, justify="left" if name == "method" else "right")
    for row in sorted(run.table("faithfulness").rows(), key=lambda row: -float(row["aopc"])):
        table.add_row(*(f"{row[name]:.3f}" if isinstance(row[name], float) else str(row[name]) for name in names))
    return table
