"""`eyeline probe`: measures on a treebank how much grammar all heads know together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from eyeline.hosts.cli.corpus import numbers
from eyeline.hosts.cli.corpus_options import Address, EngineOption, GpusPerWorker, Output, Seed, Workers, chosen_engine
from eyeline.hosts.cli.language import Language
from eyeline.hosts.cli.models import ModelName
from eyeline.hosts.cli.progress import progress_bars
from eyeline.hosts.cli.terminal import console


def probe(
    treebank: Annotated[Path, typer.Argument(help="The treebank to score on: .conllu, plain or .gz.", show_default=False)],
    output: Output,
    model: ModelName,
    train: Annotated[
        Path | None,
        typer.Option(help="The treebank to train on. Without it: one half of TREEBANK, and the other is scored.", show_default=False),
    ] = None,
    glove: Annotated[
        Path | None,
        typer.Option(help="Word vectors: a folder or GloVe's text file. Without them: the model's own embeddings.", show_default=False),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Use at most this many training sentences, chosen at random.", show_default=False)
    ] = None,
    max_tokens: Annotated[int, typer.Option(help="Longer sentences are left out and counted.")] = 128,
    layers: Annotated[str | None, typer.Option(help="Only the heads of these layers, from 0, such as 0,5.")] = None,
    seeds: Annotated[int, typer.Option(help="How many times each probe is trained; the tables give the mean.")] = 3,
    epochs: Annotated[
        int, typer.Option(help="The most passes over the training sentences; training ends earlier where it no longer helps.")
    ] = 100,
    seed: Seed = 0,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at a sentence that is not a tree, instead of skipping it.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the probe run that the folder holds.")] = False,
    engine: EngineOption = "local",
    workers: Workers = None,
    address: Address = None,
    gpus_per_worker: GpusPerWorker = None,
    language: Language = "en",
) -> None:
    """Find the governor of every word from the attention of all heads at once: a small classifier, beside baselines without attention.

    [dim]eyeline probe dev.conllu --train train.conllu --limit 3000 --glove glove -o run[/dim]
    """
    chosen = numbers(layers)
    from eyeline.analyses.probes.run import probe as run_probe
    from eyeline.hosts.report.write import write_report
    from eyeline.models.load import load
    from eyeline.plots.probes.probes import epochs_text
    from eyeline.plots.probes.training_notes import training_notes
    from eyeline.results.folder import check_free
    from eyeline.results.left_out import left_out
    from eyeline.results.status import writing_run
    from eyeline.text.treebank.read import read_treebank
    from eyeline.words import Words

    where = chosen_engine(engine, workers, address, gpus_per_worker)
    check_free(output, "probe", overwrite=overwrite)
    scored = read_treebank(treebank, strict=strict)
    learnt = None if train is None else read_treebank(train, strict=strict)
    loaded = load(model)
    with progress_bars() as report_progress, writing_run(output, "probe", overwrite=overwrite):
        run = run_probe(
            loaded, scored, train=learnt, glove=glove, limit=limit, max_tokens=max_tokens, layers=chosen, seeds=seeds, epochs=epochs,
            seed=seed, engine=where, progress=report_progress,
        )  # fmt: skip
        report = write_report(run.save(output), language)
    table = Table("probe", "governors found", "95 %", "with punctuation", "epochs")
    for row in run.table("probes").rows():
        interval = f"{row['low']:.1f} – {row['high']:.1f}"
        table.add_row(escape(str(row["probe"])), f"{row['uas']:.1f} %", interval, f"{row['uas_with_punctuation']:.1f} %", epochs_text(row))
    console.print(table)
    made_up = [Words()("report.synthetic")] if run.facts.corpus.synthetic else []
    for line in [*made_up, *left_out(run), *training_notes(run), *run.facts.notices]:
        console.print(f"[dim]{escape(line)}[/dim]", highlight=False)
    counts = run.facts.counts
    console.print(
        f"{counts['sentences']:,} sentences, {counts['words']:,} words. Report: {escape(str(report))}", highlight=False, soft_wrap=True
    )
