"""`eyeline syntax`: how well single heads find relations of a treebank. `eyeline sample-treebank`: writes the built-in treebank."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table as Printed

from eyeline.heads import HeadRef
from eyeline.measure.grammar.options import SyntaxOptions
from eyeline.measure.runs.options import given_options
from eyeline.show.cli.options import Computing, Language, ModelName, Output, Overwrite
from eyeline.show.cli.terminal import console, progress_bars
from eyeline.words import Words

#: Relations that are printed; the rest is in the table.
PRINTED = 16


def syntax(
    treebank: Annotated[Path, typer.Argument(help="A .conllu file, plain or .gz.", show_default=False)],
    output: Output,
    model: ModelName,
    *,
    options: SyntaxOptions,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at a sentence that is not a tree, instead of skipping it.")] = False,
    overwrite: Overwrite = False,
    computing: Computing,
    language: Language = "en",
) -> None:
    """How well single heads find the governor of a word (the word it depends on), for every relation of a treebank.

    [dim]eyeline syntax en_ewt-dev.conllu.gz -o run[/dim]
    """
    from eyeline.measure.grammar.run import syntax as run_syntax
    from eyeline.measure.runs.run import check_free, left_out, writing_run
    from eyeline.models.load import load
    from eyeline.show.report import write_report
    from eyeline.text.corpora.treebank import read_treebank

    engine = computing.chosen()
    check_free(output, "syntax", overwrite=overwrite)
    opened = read_treebank(treebank, strict=strict)
    loaded = load(model)
    with progress_bars() as report_progress, writing_run(output, "syntax", overwrite=overwrite):
        run = run_syntax(loaded, opened, **given_options(options), engine=engine, progress=report_progress)
        report = write_report(run.save(output), language)
    table = run.table("syntax")
    printed = Printed(box=None, pad_edge=False)
    for name in ("relation", "words", "head", "direction", "accuracy", "held out", "baseline", "any offset"):
        printed.add_column(name, justify="left" if name in ("relation", "head", "direction") else "right")
    for row in list(table.rows())[:PRINTED]:
        head = str(HeadRef.of_row(row))
        baselines = (f"{row['baseline']:.1f} % ({row['offset']:+d})", f"{row['baseline_any']:.1f} % ({row['offset_any']:+d})")
        held_out = float(row["accuracy_held_out"])
        shares = (f"{row['accuracy']:.1f} %", "–" if math.isnan(held_out) else f"{held_out:.1f} %", *baselines)
        printed.add_row(escape(str(row["relation"])), f"{row['count']:,}", head, Words().name("direction", str(row["direction"])), *shares)
    console.print(printed)
    console.print("[dim]baseline: the best of the paper's offsets; any offset: the best of all, the fair one for words far apart.[/dim]")
    for line in [*left_out(run), *run.facts.notices]:
        console.print(f"[dim]{escape(line)}[/dim]", highlight=False)
    counts = run.facts.counts
    more = f"{len(table) - PRINTED} more relations in tables/syntax.csv. " if len(table) > PRINTED else ""
    console.print(
        f"{counts['sentences']:,} sentences, {counts['words']:,} words. {more}Report: {escape(str(report))}",
        highlight=False,
        soft_wrap=True,
    )


def sample_treebank(
    output: Annotated[Path, typer.Option("-o", "--output", help="The file, FILE.conllu or FILE.conllu.gz.", show_default=False)],
    n: Annotated[int, typer.Option("-n", help="How many sentences.")] = 500,
    seed: Annotated[int, typer.Option(help="The same seed gives the same sentences.")] = 0,
) -> None:
    """Make up English sentences with exact dependencies and coreference, as CoNLL-U.

    [dim]eyeline sample-treebank -n 500 -o sample.conllu[/dim]
    """
    from eyeline.text.corpora.sample_treebank import write_sample

    write_sample(output, n, seed)
    console.print(f"{n:,} made-up sentences: {escape(str(output))}", highlight=False, soft_wrap=True)
