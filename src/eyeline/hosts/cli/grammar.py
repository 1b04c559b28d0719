"""`eyeline syntax`: how well single heads find relations of a treebank. `eyeline sample-treebank`: writes the built-in treebank."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table as Printed

from eyeline.heads import HeadRef
from eyeline.hosts.cli.corpus import numbers
from eyeline.hosts.cli.corpus_options import Address, EngineOption, GpusPerWorker, Output, Workers, chosen_engine
from eyeline.hosts.cli.language import Language
from eyeline.hosts.cli.models import ModelName
from eyeline.hosts.cli.progress import progress_bars
from eyeline.hosts.cli.terminal import console
from eyeline.words import Words

#: Relations that are printed; the rest is in the table.
PRINTED = 16


def syntax(
    treebank: Annotated[Path, typer.Argument(help="A .conllu file, plain or .gz.", show_default=False)],
    output: Output,
    model: ModelName,
    labels: Annotated[
        str, typer.Option(help="ud (subtypes cut, except nmod:poss, aux:pass …), stanford (its names, prep and pobj) or as-is.")
    ] = "ud",
    min_count: Annotated[int, typer.Option(help="Relations with fewer words get no row.")] = 100,
    limit: Annotated[int | None, typer.Option(help="Use at most this many sentences, chosen at random.", show_default=False)] = None,
    max_tokens: Annotated[int, typer.Option(help="Drop sentences of more tokens.")] = 128,
    layers: Annotated[str | None, typer.Option(help="Layers to score, from 0, such as 0,5. Default: all.")] = None,
    seed: Annotated[int, typer.Option(help="For the choice of sentences and the two halves.")] = 0,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at a sentence that is not a tree, instead of skipping it.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the syntax run that the folder holds.")] = False,
    engine: EngineOption = "local",
    workers: Workers = None,
    address: Address = None,
    gpus_per_worker: GpusPerWorker = None,
    language: Language = "en",
) -> None:
    """How well single heads find the governor of a word (the word it depends on), for every relation of a treebank.

    [dim]eyeline syntax en_ewt-dev.conllu.gz -o run[/dim]
    """
    chosen = numbers(layers)
    from eyeline.analyses.grammar.run import syntax as run_syntax
    from eyeline.hosts.report.write import write_report
    from eyeline.models.load import load
    from eyeline.results.folder import check_free
    from eyeline.results.left_out import left_out
    from eyeline.results.status import writing_run
    from eyeline.text.treebank.read import read_treebank

    where = chosen_engine(engine, workers, address, gpus_per_worker)
    check_free(output, "syntax", overwrite=overwrite)
    opened = read_treebank(treebank, strict=strict)
    loaded = load(model)
    with progress_bars() as report_progress, writing_run(output, "syntax", overwrite=overwrite):
        run = run_syntax(
            loaded,
            opened,
            labels=labels,
            min_count=min_count,
            limit=limit,
            max_tokens=max_tokens,
            layers=chosen,
            seed=seed,
            engine=where,
            progress=report_progress,
        )
        report = write_report(run.save(output), language)
    table = run.table("syntax")
    printed = Printed(box=None, pad_edge=False)
    for name in ("relation", "words", "head", "direction", "accuracy", "held out", "baseline", "any offset"):
        printed.add_column(name, justify="left" if name in ("relation", "head", "direction") else "right")
    for row in list(table.rows())[:PRINTED]:
        head = str(HeadRef("", int(row["layer"]), int(row["head"])))
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
    from eyeline.sample.treebank import write_sample

    write_sample(output, n, seed)
    console.print(f"{n:,} made-up sentences: {escape(str(output))}", highlight=False, soft_wrap=True)
