"""`eyeline coreference`: a corpus of marked mentions in, tables, figures and a report out."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from eyeline.heads import HeadRef
from eyeline.measure.coreference.options import CoreferenceOptions
from eyeline.measure.runs.options import given_options
from eyeline.show.cli.options import Computing, Language, ModelName, Output, Overwrite
from eyeline.show.cli.terminal import console, progress_bars
from eyeline.text.corpora.mentions import GROUPS


def coreference(
    file: Annotated[
        Path, typer.Argument(help="CoNLL-2012 columns, CoNLL-U with Entity= in MISC, or JSON lines; plain or .gz.", show_default=False)
    ],
    output: Output,
    model: ModelName,
    *,
    options: CoreferenceOptions,
    kind: Annotated[
        str | None, typer.Option(help="conll2012, conllu or jsonl, where the file's first lines do not say.", show_default=False)
    ] = None,
    overwrite: Overwrite = False,
    computing: Computing,
    language: Language = "en",
) -> None:
    """How often each head attends from a mention to its antecedent, beside three rules.

    [dim]eyeline coreference dev.v4_gold_conll -o run[/dim]
    """
    from eyeline.measure.coreference.run import coreference as score
    from eyeline.measure.runs.run import check_free, left_out, writing_run
    from eyeline.models.load import load
    from eyeline.show.report import write_report
    from eyeline.text.corpora.coreference import read_coreference

    engine = computing.chosen()
    check_free(output, "coreference", overwrite=overwrite)
    corpus = read_coreference(file, kind=kind, strict=options.strict)
    loaded = load(model)
    with progress_bars() as report_progress, writing_run(output, "coreference", overwrite=overwrite):
        run = score(loaded, corpus, **given_options(options), engine=engine, progress=report_progress)
        report = write_report(run.save(output), language)
    table = Table("method", "head", *(f"{name} (%)" for name in GROUPS), box=None, header_style="bold")
    for row in run.table("coreference").rows():
        head = "" if math.isnan(float(row["layer"])) else str(HeadRef.of_row(row))
        scores = (float(row[name]) for name in GROUPS)
        table.add_row(str(row["method"]), head, *("–" if math.isnan(score) else f"{score:.1f}" for score in scores))
    console.print(table)
    for notice in [*left_out(run), *run.facts.notices]:
        console.print(f"[dim]{escape(notice)}[/dim]", highlight=False)
    console.print(f"Report: {escape(str(report))}", highlight=False, soft_wrap=True)
