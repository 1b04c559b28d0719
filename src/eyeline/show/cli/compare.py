"""`eyeline compare`: two models side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer
from rich.markup import escape

from eyeline.measure.compare.options import CompareOptions
from eyeline.measure.runs.options import given_options
from eyeline.measure.space.options import SpaceOptions
from eyeline.show.cli.options import CorpusPath, Language, ModelName, Output, Overwrite, Reading
from eyeline.show.cli.space import Pictures, Red, _save_pictures
from eyeline.show.cli.terminal import console, print_notices, progress_bars
from eyeline.text.named_pairs import named_pairs
from eyeline.words import Words


def compare(
    corpus: CorpusPath,
    output: Output,
    model: ModelName,
    *,
    other: Annotated[
        str | None, typer.Option("--with", help="The second model: embedded, a local folder, or a hub id.", show_default=False)
    ] = None,
    untrained: Annotated[
        bool, typer.Option("--untrained", help="Instead of --with: a copy of the model with its embeddings, all other weights random.")
    ] = False,
    options: CompareOptions,
    reading: Reading,
    pictures: Pictures = None,
    red: Red = None,
    overwrite: Overwrite = False,
    language: Language = "en",
) -> None:
    """How far the attention of two models lies apart, head by head: for example before and after fine-tuning.

    [dim]eyeline compare articles.txt --model base --with tuned -o run[/dim]
    [dim]eyeline compare articles.txt --untrained -o run[/dim]
    """
    pairs = named_pairs(red or [])
    if pairs and not options.spaces:
        raise typer.BadParameter("--red and --no-spaces do not go together: pairs are drawn in the spaces.")
    if (other is None) is not untrained:
        raise typer.BadParameter("Give the second model: either --with MODEL or --untrained.")
    from eyeline.measure.compare.result import summarise_divergence
    from eyeline.measure.compare.run import compare as run_compare
    from eyeline.measure.runs.run import check_free, writing_run
    from eyeline.measure.space.result import distinct_names
    from eyeline.measure.space.run import check_red_pairs
    from eyeline.measure.space.view import space_view
    from eyeline.models.load import load
    from eyeline.models.reinitialise import reinitialised
    from eyeline.show.report import PAGES, write_report

    check_free(output, "compare", overwrite=overwrite)
    opened, first = reading.read(corpus), load(model)
    second = reinitialised(first, options.seed) if other is None else load(other)
    check_red_pairs([first, second], opened, pairs, SpaceOptions(limit=options.limit, max_tokens=options.max_tokens, seed=options.seed))
    with progress_bars() as report_progress, writing_run(output, "compare", overwrite=overwrite):
        result = run_compare(first, second, opened, **given_options(options), progress=report_progress)
        result.save(output)
        (output / PAGES["compare"]).unlink(missing_ok=True)
        if result.spaces is not None:
            space_view(*result.spaces, pairs=pairs, language=language).save(output / PAGES["compare"])
        report = write_report(output, language)  # last: it links to the page
    for name, reason in result.facts.left_out.items():
        console.print(f"[bold]Left out[/bold] {escape(name)}: {escape(reason)}", highlight=False)
    print_notices(result.facts.notices)
    divergence = summarise_divergence(result.table)
    console.print(
        f"Divergence between {result.facts.level}s, in nats: mean {divergence.mean:.4f},"
        f" most {divergence.largest:.4f} ({divergence.head}).",
        highlight=False,
    )
    if result.spaces is not None:
        console.print(f"Both spaces: {escape(str(output / PAGES['compare']))}", highlight=False)
    console.print(f"{Words().count('texts', result.facts.counts['texts'])}. Report: {escape(str(report))}", highlight=False)
    if result.spaces is not None:
        from eyeline.measure.space.figures import came_nearer

        before, after = result.spaces
        if pictures is not None:
            named = distinct_names(before.model, after.model)
            for name, space, folder in zip(named, (before, after), ("first", "second"), strict=True):
                _save_pictures(replace(space, model=name), pictures / folder, pairs, False, language)
        for line in came_nearer(before, after, pairs):
            console.print(escape(line), highlight=False)
