"""`eyeline attribute`: a quantity beside attention, printed token by token, or written as a page, a picture or a trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from eyeline.hosts.cli.language import PageLanguage
from eyeline.hosts.cli.models import ANSWERING_DEFAULT, AnsweringModel
from eyeline.hosts.cli.terminal import console, print_notices

if TYPE_CHECKING:
    from eyeline.capture.trace import Trace


def attribute(
    text: Annotated[str, typer.Argument(help="The text to look at; [MASK] where a masked model is to answer.", show_default=False)],
    model: AnsweringModel = ANSWERING_DEFAULT,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="norms, rollout, value-zeroing, gradient, integrated-gradients, alti, decompx …; may be repeated. Default: norms."
        ),
    ] = None,
    pair: Annotated[str | None, typer.Option(help="A second text.")] = None,
    answer: Annotated[
        str | None, typer.Option(help="The token or label that it is about. Default: the model's own first choice.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="x.html: a page; x.svg, x.pdf, x.png: a picture; x.safetensors: a trace.", show_default=False),
    ] = None,
    truncate: Annotated[bool, typer.Option("--truncate", help="Cut a text that is longer than the model takes.")] = False,
    language: PageLanguage = "en",
) -> None:
    """What counts for what, beside attention: one number a token, and the maps on a page with a switch "what is drawn".

    [dim]eyeline attribute "The cat sat on the [MASK]." --model e5-small-mlm --method decompx -o cat.html[/dim]
    """
    from eyeline.analyses.causes.attribute import attribute as compute
    from eyeline.analyses.causes.attribute import chosen_method
    from eyeline.models.load import load

    names = method or ["norms"]
    for name in names:
        chosen_method(name)
    loaded = load(model)
    traces = [compute(loaded, text, pair, method=name, answer=answer, truncate=truncate) for name in names]
    console.print(score_table(traces))
    if traces[0].prediction is not None:
        console.print(f"The model answers: {escape(str(traces[0].prediction))}", highlight=False)
    print_notices(tuple(dict.fromkeys(notice for trace in traces for notice in trace.notices)))
    if output is None:
        return
    if output.suffix == ".safetensors":
        traces[0].save(output)
    else:
        from eyeline.views import head_view

        attention = loaded.trace(text, pair, truncate=truncate)
        head_view(attention, also=traces, drawn=1, layer=traces[0].layers[-1], language=language).save(output)
    console.print(f"Saved to {escape(str(output))}", highlight=False, soft_wrap=True)


def score_table(traces: list[Trace]) -> Table:
    """A row for each token, a column for each quantity."""
    quantities = [quantity for trace in traces if (quantity := trace.quantity) is not None]
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("token")
    for quantity in quantities:
        about = f" → {quantity.answer.strip()}" if quantity.answer.strip() else ""
        table.add_column(escape(quantity.name + about), justify="right")
    for position, token in enumerate(traces[0].text.tokens):
        table.add_row(escape(token), *(f"{quantity.scores[position]:.3f}" for quantity in quantities))
    return table
