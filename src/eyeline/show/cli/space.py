"""`eyeline space`: the queries and keys of a corpus in one picture, and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from eyeline.measure.runs.options import given_options
from eyeline.measure.space.options import SpaceOptions
from eyeline.show.cli.options import Computing, CorpusPath, Language, ModelName, Output, Overwrite, Reading
from eyeline.show.cli.terminal import console, print_notices, progress_bars
from eyeline.text.named_pairs import NamedPair, named_pairs
from eyeline.words import Words, percent

if TYPE_CHECKING:
    from eyeline.measure.space.result import FidelitySummary, Space
    from eyeline.measure.space.stack import GaugeRow

Pictures = Annotated[
    Path | None,
    typer.Option(help="Also pictures of each head and layer (PNG, SVG, PDF, HTML), in this folder.", show_default=False),
]

Red = Annotated[
    list[str] | None,
    typer.Option(
        help="A pair in red, as wide as its weight, in heads in which the key is the query's most attended one, such as it → cat or "
        "brown:##bara; may be repeated.",
        show_default=False,
    ),
]


def space(
    corpus: CorpusPath,
    output: Output,
    model: ModelName,
    *,
    options: SpaceOptions,
    shared: Annotated[bool, typer.Option("--shared", help="One space for all heads and layers, as --of shared.")] = False,
    reading: Reading,
    vectors: Annotated[bool, typer.Option(help="Keep the vectors too, for search and other projections (large).")] = True,
    pictures: Pictures = None,
    red: Red = None,
    every_red: Annotated[
        bool, typer.Option("--every-red", help="Pairs in red also in heads in which the query attends more to another key.")
    ] = False,
    overwrite: Overwrite = False,
    computing: Computing,
    language: Language = "en",
) -> None:
    """The queries and keys of every head in one picture, so that near means attends, and how far each picture can be trusted.

    [dim]eyeline space articles.txt --limit 50 -o run[/dim]
    """
    pairs = named_pairs(red or [])
    if shared and options.of not in ("queries-keys", "shared"):
        raise typer.BadParameter(f"--shared and --of {options.of} do not go together.")
    options = replace(options, of="shared") if shared else options
    from eyeline.measure.runs.facts import present
    from eyeline.measure.runs.run import check_free, writing_run
    from eyeline.measure.space.result import summarise_fidelity
    from eyeline.measure.space.run import check_red_pairs
    from eyeline.measure.space.run import space as joint_space
    from eyeline.measure.space.view import space_view
    from eyeline.models.load import load
    from eyeline.show.report import PAGES, write_report

    engine = computing.chosen()
    check_free(output, "space", overwrite=overwrite)
    opened, loaded = reading.read(corpus), load(model)
    check_red_pairs(loaded, opened, pairs, options)
    with progress_bars() as report_progress, writing_run(output, "space", overwrite=overwrite):
        result = joint_space(loaded, opened, **given_options(options), engine=engine, progress=report_progress)
        result.save(output, vectors=vectors)
        space_view(result, pairs=pairs, every_pair=every_red, language=language).save(output / PAGES["space"])
        report = write_report(output, language)  # last: it links to the page
    for name, stack in result.stacks.items():
        if result.of != "values":
            table = replace(result, stacks={name: stack}).table()
            console.print(f"{escape(name)}: {_summary(summarise_fidelity(table), result.held_out)}", highlight=False)
    facts = present(result.facts, "facts")
    check = facts.gauge_check
    if check is not None:
        checked = f"Attention recomputed from the gauged vectors is within {check.largest_difference:.0e} of the model's."
        doubt = "" if check.holds else " [bold]That is a large difference: is the model in half precision?[/bold]"
        console.print(f"{checked}{doubt}", highlight=False)
    print_gauges(result.gauges)
    counts = facts.counts
    _skipped(counts)
    print_notices(facts.notices)
    amount = f"{Words().count('texts', counts['texts'])}, {Words().count('tokens', counts['tokens'])}"
    console.print(f"{amount}. Pictures: {escape(str(output / PAGES['space']))}", highlight=False)
    console.print(f"Report: {escape(str(report))}", highlight=False)
    if pictures is not None:
        _save_pictures(result, pictures, pairs, every_red, language)


def _save_pictures(shown: Space, folder: Path, red: tuple[NamedPair, ...], every_pair: bool, language: str) -> None:
    from eyeline.measure.space.figures import save_pictures
    from eyeline.measure.space.view import save_sheets

    paths = save_pictures(shown, folder, red=red, every_pair=every_pair)
    paths += save_sheets(shown, folder, red=red, every_pair=every_pair, language=language)
    console.print(f"{len(paths)} pictures of {escape(shown.model)}: {escape(str(folder))}", highlight=False)


def _summary(trust: FidelitySummary | None, held_out: str) -> str:
    if trust is None:
        return "no fidelity: every head attends to all keys alike." if held_out else "no held-out fidelity can be measured."
    from eyeline.measure.space.stack import UNSEEN

    unseen = " on unseen text" if held_out in UNSEEN else ""
    nearest, among_five, before = (percent(share, 1) for share in (trust.top1, trust.top5, trust.top1_full))
    return (
        f"the most attended key is the nearest for {nearest} of queries{unseen}, among the nearest five for {among_five};"
        f" before projection {before}. Rank correlation {trust.rank:.2f}."
    )


def _skipped(counts: Mapping[str, int]) -> None:
    for what, reason in (
        ("too_long", "longer than --max-tokens or the model allows"),
        ("unreadable", "not readable as text"),
        ("broke", "each broke the worker that read it, twice (named in run.json)"),
    ):
        if counts.get(what):
            console.print(f"{counts[what]:,} of {counts['documents']:,} documents skipped: {reason}.", highlight=False)


def print_gauges(rows: Sequence[GaugeRow]) -> None:
    """The table that compares every gauge with none; nothing where no gauge was measured."""
    from eyeline.measure.space.stack import COLUMNS, gauges_table

    if not rows:
        return
    shown = gauges_table(rows, Words())
    console.print(f"{shown.title}. {shown.about}", highlight=False)
    table = Table(box=None)
    for name, heading in zip(COLUMNS, shown.columns, strict=True):
        table.add_column(heading, justify="right" if name in ("before", "after") else "left")
    for row in shown.rows:
        table.add_row(*row)
    console.print(table)
