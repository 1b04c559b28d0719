"""`eyeline analyse`: a corpus in, a folder of tables, figures and a report out; `eyeline merge`: several of them as one."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from eyeline.measure.runs.options import given_options
from eyeline.measure.statistics.options import BY_NAME, USUAL, AnalyseOptions
from eyeline.show.cli.options import CorpusPath, Language, MeasuringCorpus, ModelName, Output, Overwrite
from eyeline.show.cli.terminal import console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eyeline.measure.runs.run import Run
    from eyeline.measure.statistics.statistic import Statistic
    from eyeline.models.model import Model
    from eyeline.text.corpora.corpus import Corpus


def analyse(
    corpus: CorpusPath,
    output: Output,
    model: ModelName,
    *,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Only this analysis; may be repeated: {', '.join(USUAL)}, {', '.join(BY_NAME)}. Default: all but {', '.join(BY_NAME)}."
        ),
    ] = None,
    options: AnalyseOptions,
    target: Annotated[
        list[str] | None, typer.Option(help="NAME=REGEX: also measure attention to tokens that match; may be repeated.")
    ] = None,
    part: Annotated[
        list[str] | None,
        typer.Option(help="Of conversations: also measure attention to this part, such as system, user or 'user 1'; may be repeated."),
    ] = None,
    measuring: MeasuringCorpus,
    pictures: Annotated[
        list[str] | None, typer.Option(help="Also draw the figures as png, svg or pdf; may be repeated. Needs a Chromium.")
    ] = None,
    language: Language = "en",
) -> None:
    """Where a model's heads look, how broadly, and which are alike, over a corpus.

    [dim]eyeline analyse articles.txt.gz --pairs --limit 1000 -o run[/dim]
    """
    targets = dict(_target(option) for option in target or ())
    from eyeline.measure.runs.pictures import check_kind

    for picture in pictures or ():
        check_kind(picture, f"--pictures {picture}")
    from eyeline.measure.corpus.catalogue import statistics_named
    from eyeline.measure.corpus.run import analyse as run_analysis
    from eyeline.measure.runs.run import amounts

    statistics = statistics_named(only or USUAL, targets, part or ())
    engine, opened, loaded = measuring.open(corpus, model)
    if engine == "local" and not measuring.resume:
        _say_costs(loaded, opened, statistics, options)
    run, report = measuring.write(
        output, language, partial(run_analysis, loaded, opened, statistics, **given_options(options), engine=engine)
    )
    if pictures:
        _draw(run, output, pictures, language)
    counts = run.facts.counts
    for name, reason in run.facts.left_out.items():
        console.print(f"[bold]Left out[/bold] {escape(name)}: {escape(reason)}", highlight=False)
    for what, message in (
        ("too_long", f"documents skipped: too long{'' if options.window or options.pairs else ' (--window cuts them)'}"),
        ("unreadable", "documents skipped: not readable as text"),
        ("broke", "documents skipped: each broke the worker that read it, twice (named in run.json)"),
    ):
        if counts.get(what):
            console.print(f"{counts[what]:,} of {counts['documents']:,} {message}.", highlight=False)
    for notice in run.facts.notices:
        console.print(escape(notice), highlight=False)
    console.print(f"{amounts(run)}. Report: {escape(str(report))}", highlight=False)


#: A run of at least this many documents is tried on a few of them first, and what that says is printed where it is this many seconds.
LONG_RUN, LONG_SECONDS = 100, 30.0


def _say_costs(model: Model, corpus: Corpus, statistics: Sequence[Statistic], options: AnalyseOptions) -> None:
    """Before a long run, about how long it takes, and what each analysis adds to the passes of the model."""
    known = [n for n in (options.limit, corpus.n_documents) if n is not None]
    if not known or min(known) < LONG_RUN:
        return
    from eyeline.measure.corpus.run import seconds_per_document

    costs = {name: seconds * min(known) for name, seconds in seconds_per_document(model, corpus, statistics, options).items()}
    if sum(costs.values()) >= LONG_SECONDS:
        parts = ", ".join(f"{name} {_minutes(seconds)}" for name, seconds in costs.items())
        console.print(f"About {_minutes(sum(costs.values()))} for {min(known):,} documents: {escape(parts)}.", highlight=False)


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def merge(
    runs: Annotated[list[Path], typer.Argument(help="Folders of finished runs, each over another part of the corpus.", show_default=False)],
    output: Annotated[Path, typer.Option("-o", "--output", help="The merged run's folder, created if missing.", show_default=False)],
    overwrite: Overwrite = False,
    language: Language = "en",
) -> None:
    """Merge runs of `analyse`, `causes` or `faithfulness` over parts of a corpus, such as those of several machines, into one run.

    [dim]eyeline merge run1 run2 run3 -o run[/dim]
    """
    from eyeline.measure.causes.faithfulness import Faithfulness
    from eyeline.measure.corpus.run import merge_runs
    from eyeline.measure.runs.run import amounts, writing_run
    from eyeline.show.report import write_report

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
    from eyeline.text.corpora.sample import write_text

    write_text(output)
    console.print(f"Forty paragraphs: {escape(str(output))}", highlight=False)


def _draw(run: Run, folder: Path, kinds: list[str], language: str) -> None:
    from eyeline.figures import available, figure
    from eyeline.measure.runs.figure import Style
    from eyeline.measure.runs.pictures import save_pictures
    from eyeline.words import Words

    style = Style(Words(language))
    save_pictures({folder / "figures" / f"{name}.{kind}": figure(run, name, style) for name in available(run) for kind in kinds})


def _target(text: str) -> tuple[str, str]:
    name, equals, pattern = text.partition("=")
    if not equals or not name or not pattern:
        raise typer.BadParameter(f"{text!r}: give NAME=REGEX, such as digits=[0-9]+.")
    return name, pattern
