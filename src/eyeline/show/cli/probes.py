"""The commands of probes: `eyeline probe` trains them on a treebank, `eyeline parse` asks one for the tree of a sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from eyeline.measure.probes.options import ProbeOptions
from eyeline.measure.runs.options import given_options
from eyeline.show.cli.options import Computing, Language, ModelName, Output, Overwrite
from eyeline.show.cli.terminal import console, progress_bars
from eyeline.words import Words, percent

# ---- `eyeline probe`: how much grammar all heads know together


def probe(
    treebank: Annotated[Path, typer.Argument(help="The treebank to score on: .conllu, plain or .gz.", show_default=False)],
    output: Output,
    model: ModelName,
    *,
    options: ProbeOptions,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at a sentence that is not a tree, instead of skipping it.")] = False,
    overwrite: Overwrite = False,
    computing: Computing,
    language: Language = "en",
) -> None:
    """Find the governor of every word from the attention of all heads at once: a small classifier, beside baselines without attention.

    [dim]eyeline probe dev.conllu --train train.conllu --limit 3000 --glove glove -o run[/dim]
    """
    from eyeline.measure.probes.figures import epochs_text, training_notes
    from eyeline.measure.probes.run import probe as run_probe
    from eyeline.measure.runs.run import check_free, left_out, writing_run
    from eyeline.models.load import load
    from eyeline.show.report import write_report
    from eyeline.text.corpora.treebank import read_treebank
    from eyeline.words import Words

    engine = computing.chosen()
    check_free(output, "probe", overwrite=overwrite)
    scored = read_treebank(treebank, strict=strict)
    options = options if options.train is None else replace(options, train=read_treebank(str(options.train), strict=strict))
    loaded = load(model)
    with progress_bars() as report_progress, writing_run(output, "probe", overwrite=overwrite):
        run = run_probe(loaded, scored, **given_options(options), engine=engine, progress=report_progress)
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


# ---- `eyeline parse`: the tree that a trained probe gives to a sentence


#: The most digits of a word's index; a longer number is taken as a word.
LONGEST_INDEX = 9


def parse(
    text: Annotated[str, typer.Argument(help="The sentence.", show_default=False)],
    run: Annotated[Path, typer.Option(help="The folder that `eyeline probe` wrote.", show_default=False)],
    probe: Annotated[
        str | None, typer.Option(help="A row of its table, such as attention-only. Without it: the one that reads words too.")
    ] = None,
    pair: Annotated[str | None, typer.Option(help="The weight of every head for a dependent and a governor, such as The:cat.")] = None,
    model: Annotated[
        str | None, typer.Option(help="The model, if it is no longer where it was when the run was made.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Arcs and the heads of a pair: FILE.html, .png, .svg or .pdf", show_default=False)
    ] = None,
) -> None:
    """Ask a trained probe about your own sentence: the governor of every word, how likely it is, and the heads behind it.

    [dim]eyeline parse "The cat sat on the mat." --run run --pair The:cat[/dim]
    """
    from eyeline.measure.probes.figures import draw_parse_heads
    from eyeline.measure.probes.parse import open_probe
    from eyeline.measure.runs.pictures import check_kind, save_pictures
    from eyeline.storage.files import write_whole

    if output is not None and output.suffix.lower() not in (".html", ".htm"):
        check_kind(output.suffix.removeprefix(".").lower(), str(output))

    parsed = open_probe(run, probe, model=model).parse(text)
    table = Table("word", "governor", "probability", "heads that count most for it")
    for row in parsed.table().rows():
        cells = (row["word"], row["governor"], percent(float(row["probability"]), 1), row["heads"])
        table.add_row(*(escape(str(cell)) for cell in cells))
    console.print(table)
    chosen = None
    if pair is not None:
        dependent, _, governor = pair.partition(":")
        chosen = _word(dependent), _word(governor)
        weights = Table("head", "direction", "attention", "weight", "contribution")
        for weight in parsed.pair(*chosen)[:10]:
            direction = Words().name("direction", weight.direction)
            numbers = (f"{weight.attention:.3f}", f"{weight.weight:+.3f}", f"{weight.contribution:+.3f}")
            weights.add_row(str(weight.head), direction, *numbers)
        console.print(weights)
    console.print(f"[dim]{escape(parsed.probe)} on {escape(parsed.model)}. What can be read off attention, not what the model uses.[/dim]")
    if output is not None:
        drawn = draw_parse_heads(parsed, chosen)
        if output.suffix.lower() in (".html", ".htm"):
            write_whole(output, [drawn.to_html(include_plotlyjs=True).encode()])
        else:
            save_pictures({output: drawn})
        console.print(f"Saved to {escape(str(output))}", highlight=False)


def _word(given: str) -> str | int:
    """A word, or the index of one.

    >>> _word("cat"), _word("4")
    ('cat', 4)
    """
    return int(given) if given.isdecimal() and len(given) <= LONGEST_INDEX else given
