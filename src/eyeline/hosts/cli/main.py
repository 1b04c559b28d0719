"""The command line. It parses, calls, prints; what it prints is computed elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from eyeline.analyses.progress import StopRequestedError
from eyeline.errors import EyelineError
from eyeline.hosts.app.serve import command as app_command
from eyeline.hosts.cli import coreference as coreference_command
from eyeline.hosts.cli import corpus as corpus_commands
from eyeline.hosts.cli import grammar as grammar_commands
from eyeline.hosts.cli import models as model_commands
from eyeline.hosts.cli import parse as parse_command
from eyeline.hosts.cli import probe as probe_command
from eyeline.hosts.cli import space as space_commands
from eyeline.hosts.cli import view as view_command
from eyeline.hosts.cli.causes import attribute as attribute_command
from eyeline.hosts.cli.causes import circuit as circuit_command
from eyeline.hosts.cli.causes import faithfulness as faithfulness_command
from eyeline.hosts.cli.causes import heads as causes_command
from eyeline.hosts.cli.corpus import numbers
from eyeline.hosts.cli.gallery import command as gallery_command
from eyeline.hosts.cli.models import ModelName
from eyeline.hosts.cli.plain_help import PlainCommand, PlainGroup
from eyeline.hosts.cli.terminal import console, new_console, print_notices
from eyeline.version import __version__

app = typer.Typer(
    cls=PlainGroup,
    help="See what a Transformer looks at.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
#: The commands in the groups of `eyeline --help`.
GROUPS: dict[str, tuple[Callable[..., None], ...]] = {
    "One text": (view_command.view, attribute_command.attribute),
    "A corpus": (
        corpus_commands.analyse,
        corpus_commands.merge,
        space_commands.space,
        space_commands.compare,
        gallery_command.gallery,
    ),
    "Causes": (causes_command.causes, circuit_command.circuit, faithfulness_command.faithfulness),
    "Grammar and coreference": (grammar_commands.syntax, coreference_command.coreference, probe_command.probe, parse_command.parse),
    "Texts to start with": (corpus_commands.sample_text, grammar_commands.sample_treebank),
}
for group, commands in GROUPS.items():
    for command in commands:
        app.command(no_args_is_help=True, cls=PlainCommand, rich_help_panel=group)(command)
app.command(cls=PlainCommand, rich_help_panel="In the browser")(app_command.app)
app.add_typer(model_commands.app, name="models", rich_help_panel="Models")
#: What a program that was stopped by Ctrl-C exits with.
STOPPED = 130
#: Set by --traceback, read by `main`.
_show_traceback = False


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"eyeline {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")] = False,
    traceback: Annotated[bool, typer.Option("--traceback", help="On an error, show where in the code it arose.")] = False,
) -> None:
    """See what a Transformer looks at."""
    global _show_traceback
    _show_traceback = traceback


@app.command(no_args_is_help=True, cls=PlainCommand, rich_help_panel="One text")
def trace(
    text: Annotated[str, typer.Argument(help="The text to look at.", show_default=False)],
    model: ModelName,
    pair: Annotated[str | None, typer.Option(help="A second text (or what an encoder-decoder model has written).")] = None,
    layers: Annotated[str | None, typer.Option(help="Layers to keep, from 0, such as 0,5. Default: all.")] = None,
    words: Annotated[bool, typer.Option("--words", help="Attention between words rather than tokens.")] = False,
    truncate: Annotated[bool, typer.Option("--truncate", help="Cut a text that is longer than the model takes.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Save the trace: FILE.safetensors", show_default=False)] = None,
    cache: Annotated[bool, typer.Option(help="Keep traces on disk, and take them from there.")] = True,
) -> None:
    """Record one text's attention, and print how broad it is and where it goes, layer by layer.

    [dim]eyeline trace "The cat sat on the mat." --pair "It purred." -o cat.safetensors[/dim]
    """
    chosen = numbers(layers)
    from eyeline.hosts.cli.summary import summary_tables
    from eyeline.models.load import load

    traced = load(model, cache=cache).trace(text, pair, layers=chosen, truncate=truncate)
    traced = traced.words() if words else traced
    if output is not None:
        traced.save(output)
    for table in summary_tables(traced):
        console.print(table)
    console.print("[dim]Means over heads and queries. Attention shows where information may flow, not why the model decided.[/dim]")
    if traced.prediction is not None:
        console.print(f"The model answers: {escape(str(traced.prediction))}", highlight=False)
    print_notices(traced.notices)
    if output is not None:
        console.print(f"Saved to {escape(str(output))}", highlight=False)


def main() -> None:
    """Entry point: our own errors are printed as they are and exit 2; anything else is a bug and shows its traceback."""
    try:
        app()
    except EyelineError as error:
        if _show_traceback:
            raise
        new_console(stderr=True).print(f"[bold red]Error:[/bold red] {escape(error.for_command_line)}", highlight=False, soft_wrap=True)
        sys.exit(2)
    except SystemExit as end:
        if end.code == STOPPED:  # Ctrl-C outside the steps of an analysis; typer ends without a word
            new_console(stderr=True).print("Stopped.", highlight=False)
        raise
    except StopRequestedError as stop:
        new_console(stderr=True).print(escape(str(stop) or "Stopped. Nothing was saved."), highlight=False, soft_wrap=True)
        sys.exit(STOPPED)
