"""`eyeline analyse`: a corpus in, a folder of tables, figures and a report out; `eyeline merge`: several of them as one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from eyeline.analyses.corpus.statistics.usual import USUAL
from eyeline.hosts.cli.corpus_options import (
    Address,
    Column,
    CorpusPath,
    EngineOption,
    GpusPerWorker,
    Kind,
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
from eyeline.hosts.cli.models import ModelName
from eyeline.hosts.cli.progress import progress_bars, resumable
from eyeline.hosts.cli.terminal import console

if TYPE_CHECKING:
    from eyeline.results.run import Run


def analyse(
    corpus: CorpusPath,
    output: Output,
    model: ModelName,
    only: Annotated[list[str] | None, typer.Option(help=f"Only this analysis; may be repeated: {', '.join(USUAL)}.")] = None,
    pairs: Annotated[bool, typer.Option("--pairs", help="Build segments of two parts, [CLS] A [SEP] B [SEP].")] = False,
    limit: Annotated[
        int | None, typer.Option(help="Use at most this many documents (with --pairs: segments), chosen at random.", show_default=False)
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Skip longer documents; with --pairs the length of a segment (128).", show_default=False)
    ] = None,
    window: Annotated[bool, typer.Option("--window", help="Cut longer documents into windows instead of skipping them.")] = False,
    target: Annotated[
        list[str] | None, typer.Option(help="NAME=REGEX: also measure attention to tokens that match; may be repeated.")
    ] = None,
    layers: Annotated[str | None, typer.Option(help="Layers to analyse, from 0, such as 0,5. Default: all.")] = None,
    seed: Seed = 0,
    kind: Kind = None,
    paragraphs: Paragraphs = "auto",
    column: Column = None,
    pair_column: PairColumn = None,
    split: Split = None,
    pictures: Annotated[
        list[str] | None, typer.Option(help="Also draw the figures as png, svg or pdf; may be repeated. Needs a Chromium.")
    ] = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    engine: EngineOption = "local",
    workers: Workers = None,
    address: Address = None,
    gpus_per_worker: GpusPerWorker = None,
    language: Language = "en",
) -> None:
    """Where a model's heads look, how broadly, and which are alike, over a corpus.

    [dim]eyeline analyse articles.txt.gz --pairs --limit 1000 -o run[/dim]
    """
    chosen = numbers(layers)
    targets = dict(_target(option) for option in target or ())
    from eyeline.plots.pictures import check_kind

    for picture in pictures or ():
        check_kind(picture, f"--pictures {picture}")
    from eyeline.analyses.corpus.run import analyse as run_analysis
    from eyeline.analyses.corpus.statistics.catalogue import statistics_named
    from eyeline.hosts.report.write import write_report
    from eyeline.models.load import load
    from eyeline.results.run import amounts
    from eyeline.results.status import writing_run
    from eyeline.text.corpora.read import read_corpus

    statistics = statistics_named(only or USUAL, targets)
    where = chosen_engine(engine, workers, address, gpus_per_worker)
    opened = read_corpus(corpus, kind=kind, paragraphs=paragraphs, column=column, pair_column=pair_column, split=split)
    loaded = load(model)
    with resumable(output), progress_bars() as report_progress, writing_run(output, "analyse", overwrite=resume or overwrite):
        run = run_analysis(
            loaded, opened, statistics, limit=limit, max_tokens=max_tokens, pairs=pairs, window=window, layers=chosen, seed=seed,
            folder=output, resume=resume, overwrite=overwrite, engine=where, progress=report_progress,
        )  # fmt: skip
        report = write_report(run.save(output), language)
    if pictures:
        _draw(run, output, pictures, language)
    counts = run.facts.counts
    for name, reason in run.facts.left_out.items():
        console.print(f"[bold]Left out[/bold] {escape(name)}: {escape(reason)}", highlight=False)
    for what, message in (
        ("too_long", f"documents skipped: too long{'' if window or pairs else ' (--window cuts them)'}"),
        ("unreadable", "documents skipped: not readable as text"),
        ("broke", "documents skipped: each broke the worker that read it, twice (named in run.json)"),
    ):
        if counts.get(what):
            console.print(f"{counts[what]:,} of {counts['documents']:,} {message}.", highlight=False)
    for notice in run.facts.notices:
        console.print(escape(notice), highlight=False)
    console.print(f"{amounts(run)}. Report: {escape(str(report))}", highlight=False)


def merge(
    runs: Annotated[list[Path], typer.Argument(help="Folders of finished runs, each over another part of the corpus.", show_default=False)],
    output: Annotated[Path, typer.Option("-o", "--output", help="The merged run's folder, created if missing.", show_default=False)],
    overwrite: Overwrite = False,
    language: Language = "en",
) -> None:
    """Merge runs of `analyse`, `causes` or `faithfulness` over parts of a corpus, such as those of several machines, into one run.

    [dim]eyeline merge run1 run2 run3 -o run[/dim]
    """
    from eyeline.analyses.causes.faithfulness import Faithfulness
    from eyeline.analyses.corpus.merge import merge_runs
    from eyeline.hosts.report.write import write_report
    from eyeline.results.run import amounts
    from eyeline.results.status import writing_run

    with writing_run(output, "analyse", overwrite=overwrite):
        run = merge_runs(runs, own=[Faithfulness])
        report = write_report(run.save(output), language)
    console.print(f"{amounts(run)}. Report: {escape(str(report))}", highlight=False)


def sample_text(
    output: Annotated[Path, typer.Option("-o", "--output", help="The file, such as corpus.txt.", show_default=False)],
) -> None:
    """Write the built-in text, forty short paragraphs in plain English, to begin with.

    [dim]eyeline sample-text -o corpus.txt[/dim]
    """
    from eyeline.sample.text import write_text

    write_text(output)
    console.print(f"Forty paragraphs: {escape(str(output))}", highlight=False)


def _draw(run: Run, folder: Path, kinds: list[str], language: str) -> None:
    from eyeline.plots.figures import available, figure
    from eyeline.plots.pictures import save_pictures
    from eyeline.plots.style import Style
    from eyeline.words import Words

    style = Style(Words(language))
    save_pictures({folder / "figures" / f"{name}.{kind}": figure(run, name, style) for name in available(run) for kind in kinds})


def numbers(text: str | None) -> list[int] | None:
    """Layer numbers from the command line."""
    try:
        return None if text is None else [int(part) for part in text.replace(",", " ").split()]
    except ValueError:
        raise typer.BadParameter(f"{text!r}: give layer numbers with commas between them, such as 0,5.") from None


def _target(text: str) -> tuple[str, str]:
    name, equals, pattern = text.partition("=")
    if not equals or not name or not pattern:
        raise typer.BadParameter(f"{text!r}: give NAME=REGEX, such as digits=[0-9]+.")
    return name, pattern
