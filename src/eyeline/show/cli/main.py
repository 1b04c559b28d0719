"""The command line. It parses, calls, prints; what it prints is computed elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer
from rich.markup import escape

from eyeline.errors import EyelineError
from eyeline.measure.runs.progress import StopRequestedError
from eyeline.show.app.serve import app as app_command
from eyeline.show.cli.causes import attribute, causes, circuit, faithfulness
from eyeline.show.cli.compare import compare
from eyeline.show.cli.coreference import coreference
from eyeline.show.cli.corpus import analyse, merge, sample_text
from eyeline.show.cli.gallery import gallery
from eyeline.show.cli.generate import generate, replay
from eyeline.show.cli.grammar import sample_treebank, syntax
from eyeline.show.cli.models import app as models_commands
from eyeline.show.cli.options import with_options
from eyeline.show.cli.paper import paper
from eyeline.show.cli.probes import parse, probe
from eyeline.show.cli.space import space
from eyeline.show.cli.terminal import PlainCommand, PlainGroup, new_console
from eyeline.show.cli.trace import trace
from eyeline.show.cli.view import view
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
    "One text": (view, attribute, trace),
    "What it looked at while it wrote": (generate, replay),
    "A corpus": (analyse, merge, space, compare, gallery),
    "Causes": (causes, circuit, faithfulness),
    "Grammar and coreference": (syntax, coreference, probe, parse, paper),
    "Texts to start with": (sample_text, sample_treebank),
}
for group, commands in GROUPS.items():
    for command in commands:
        app.command(no_args_is_help=True, cls=PlainCommand, rich_help_panel=group)(with_options(command))
app.command(cls=PlainCommand, rich_help_panel="In the browser")(app_command)
app.add_typer(models_commands, name="models", rich_help_panel="Models")
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
