"""`eyeline parse`: the tree that a trained probe gives to a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from eyeline.hosts.cli.terminal import console
from eyeline.words import Words
from eyeline.words.percent import percent

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
    from eyeline.analyses.probes.parse import open_probe
    from eyeline.plots.pictures import check_kind, save_pictures
    from eyeline.plots.probes.parse_heads import draw_parse_heads
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
