"""`eyeline coreference`: a corpus of marked mentions in, tables, figures and a report out."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from eyeline.heads import HeadRef
from eyeline.hosts.cli.corpus import numbers
from eyeline.hosts.cli.corpus_options import Address, EngineOption, GpusPerWorker, Limit, Output, Workers, chosen_engine
from eyeline.hosts.cli.language import Language
from eyeline.hosts.cli.models import ModelName
from eyeline.hosts.cli.progress import progress_bars
from eyeline.hosts.cli.terminal import console
from eyeline.text.coreference.mention import GROUPS


def coreference(
    file: Annotated[
        Path, typer.Argument(help="CoNLL-2012 columns, CoNLL-U with Entity= in MISC, or JSON lines; plain or .gz.", show_default=False)
    ],
    output: Output,
    model: ModelName,
    max_tokens: Annotated[int, typer.Option(help="Tokens in a window: documents are read in windows, cut between sentences.")] = 128,
    first_window: Annotated[bool, typer.Option("--first-window", help="Only the first window of each document, as in the paper.")] = False,
    limit: Limit = None,
    layers: Annotated[str | None, typer.Option(help="Layers to score, from 0, such as 0,5. Default: all.")] = None,
    seed: Annotated[int, typer.Option(help="For the limit, and the halves of the held-out head.")] = 0,
    kind: Annotated[
        str | None, typer.Option(help="conll2012, conllu or jsonl, where the file's first lines do not say.", show_default=False)
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at what cannot be used, instead of counting it.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the coreference run that the folder holds.")] = False,
    engine: EngineOption = "local",
    workers: Workers = None,
    address: Address = None,
    gpus_per_worker: GpusPerWorker = None,
    language: Language = "en",
) -> None:
    """How often each head attends from a mention to its antecedent, beside three rules.

    [dim]eyeline coreference dev.v4_gold_conll -o run[/dim]
    """
    chosen = numbers(layers)
    from eyeline.analyses.coreference.run import coreference as score
    from eyeline.hosts.report.write import write_report
    from eyeline.models.load import load
    from eyeline.results.folder import check_free
    from eyeline.results.left_out import left_out
    from eyeline.results.status import writing_run
    from eyeline.text.coreference.read import read_coreference

    where = chosen_engine(engine, workers, address, gpus_per_worker)
    check_free(output, "coreference", overwrite=overwrite)
    corpus = read_coreference(file, kind=kind, strict=strict)
    loaded = load(model)
    with progress_bars() as report_progress, writing_run(output, "coreference", overwrite=overwrite):
        run = score(
            loaded, corpus, limit=limit, max_tokens=max_tokens, first_window=first_window, layers=chosen, seed=seed, strict=strict,
            engine=where, progress=report_progress,
        )  # fmt: skip
        report = write_report(run.save(output), language)
    table = Table("method", "head", *(f"{name} (%)" for name in GROUPS), box=None, header_style="bold")
    for row in run.table("coreference").rows():
        head = "" if math.isnan(float(row["layer"])) else str(HeadRef("", int(row["layer"]), int(row["head"])))
        scores = (float(row[name]) for name in GROUPS)
        table.add_row(str(row["method"]), head, *("–" if math.isnan(score) else f"{score:.1f}" for score in scores))
    console.print(table)
    for notice in [*left_out(run), *run.facts.notices]:
        console.print(f"[dim]{escape(notice)}[/dim]", highlight=False)
    console.print(f"Report: {escape(str(report))}", highlight=False, soft_wrap=True)
