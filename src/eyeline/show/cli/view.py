"""`eyeline view`: a text's attention as a page, or one head as a picture for a paper."""

from __future__ import annotations

import json
import webbrowser
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from eyeline.errors import EyelineError
from eyeline.show.cli.options import GivenText, ModelName, NamedPart, PageLanguage
from eyeline.show.cli.terminal import console, print_notices
from eyeline.text.named_pairs import named_pairs

if TYPE_CHECKING:
    from eyeline.look.trace import Trace
    from eyeline.models.model import Model


#: How the name of a page ends.
PAGES = (".html", ".htm")


class Kind(StrEnum):
    """The views of one text."""

    head = "head"
    model = "model"
    neuron = "neuron"
    sentence = "sentence"
    text = "text"


class TokenLayout(StrEnum):
    """Where a picture places the tokens."""

    columns = "columns"
    forces = "forces"
    circle = "circle"
    values = "values"
    umap = "umap"
    learned = "learned"


def view(
    text: Annotated[str | None, typer.Argument(help="The text to look at.", show_default=False)] = None,
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="x.html: a page; x.svg, x.pdf or x.png: the view as a picture.")],
    model: ModelName,
    given: GivenText,
    part: NamedPart = None,
    kind: Annotated[Kind, typer.Option("--view", help="Which view is written.")] = Kind.head,
    layer: Annotated[
        int | None,
        typer.Option(
            help="The layer to start from, counted from 0 (without it and --head: a head that shows something; model view: the row shown)."
        ),
    ] = None,
    head: Annotated[int | None, typer.Option(help="The head to start from, counted from 0 (model view, with --layer: opened).")] = None,
    stack: Annotated[str | None, typer.Option(help="encoder, decoder or cross, where a model has several.")] = None,
    words: Annotated[bool, typer.Option("--words", help="Attention between words rather than tokens.")] = False,
    red: Annotated[
        list[str] | None,
        typer.Option(help="The graph of one head, a pair in red: QUERY:KEY or QUERY → KEY (words, pieces or positions); may be repeated."),
    ] = None,
    layout: Annotated[
        TokenLayout,
        typer.Option(
            help="Graph of one head: two columns; a graph by forces or in a circle; or by the tokens' values: PCA, UMAP or learned."
        ),
    ] = TokenLayout.columns,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="How it is shown: KEY=VALUE, such as hide_special=true, threshold=0.1, theme=dark, locked=[3]; may be repeated."
        ),
    ] = None,
    effects: Annotated[
        bool, typer.Option("--effects", help="Also what the answer becomes without each head alone (models that answer).")
    ] = False,
    language: PageLanguage = "en",
    open_file: Annotated[bool, typer.Option("--open", help="Open the file when it is written.")] = False,
) -> None:
    """Show one text's attention: a page that works offline, or a picture for a paper.

    [dim]eyeline view "The cat sat on the mat because it was tired." --layer 9 --head 7 -o cat.html[/dim]
    """
    state = dict(_setting(text) for text in settings or [])
    _check(output, kind, red or [], layout, state)
    if effects and (words or red or layout is not TokenLayout.columns or output.suffix.lower() not in PAGES):
        raise EyelineError("--effects is for a page of tokens.", "Write to .html, and leave out --words, --red and --layout.")
    named_pairs(red or [])  # what is no pair is refused before a model is loaded
    from eyeline.look.trace_cache import kept_trace

    source = given.source(text, part)
    trace, opened = kept_trace(model, source, truncate=given.truncate), None
    if trace is None or effects:  # only then a model is needed, and torch is imported
        from eyeline.models.load import load

        opened = load(model, cache=True)
        trace = trace or opened.trace_source(source, truncate=given.truncate)
    if red or layout is not TokenLayout.columns:
        _save_graph(trace, output, layer or 0, head or 0, stack, words, red or [], layout, language)
    else:
        _save_view(trace.words() if words else trace, output, kind, layer, head, stack, state, language, opened if effects else None)
    print_notices(trace.notices)
    console.print(f"Saved to {escape(str(output))}", highlight=False, soft_wrap=True)
    if open_file:
        webbrowser.open(output.resolve().as_uri())


def _check(output: Path, kind: Kind, red: list[str], layout: TokenLayout, state: dict[str, Any]) -> None:
    """Refuse options that the kind of file cannot show, before a model is loaded."""
    ending = output.suffix.lower()
    if not red and layout is TokenLayout.columns:
        return
    if state:
        raise EyelineError("--set with a graph of one head.", "--set is for views: leave --red and --layout out.")
    option = "--red" if red else f"--layout {layout.value}"
    if kind is not Kind.head:
        raise EyelineError(f"{option} with --view {kind.value}.", "It draws the graph of one head: leave --view out.")
    from eyeline.look.views.page import PICTURES

    if ending not in PICTURES:
        raise EyelineError(f"{option} with {output.name}.", "Only pictures have it: write to .svg, .pdf or .png, or leave it out.")


def _setting(written: str) -> tuple[str, Any]:
    """KEY=VALUE: the value is JSON (true, 0.1, [3]), or else a word.

    >>> _setting("threshold=0.1"), _setting("theme=dark")
    (('threshold', 0.1), ('theme', 'dark'))
    """
    key, equals, value = written.partition("=")
    if not equals:
        raise EyelineError(f"--set {written}.", "Give KEY=VALUE, such as --set threshold=0.1. The keys: docs/view-format.md.")
    try:
        return key.strip(), json.loads(value)
    except ValueError:
        return key.strip(), value.strip()


def _save_view(
    trace: Trace,
    output: Path,
    kind: Kind,
    layer: int | None,
    head: int | None,
    stack: str | None,
    state: dict[str, Any],
    language: str,
    model: Model | None,
) -> None:
    """model: on which the effects of single heads are measured; None: without them."""
    from eyeline.look.views.head import head_view
    from eyeline.look.views.model import model_view
    from eyeline.look.views.neuron import neuron_view
    from eyeline.look.views.sentence import sentence_view, text_view
    from eyeline.look.views.view import first_layer, opening_head

    opens_itself = kind is Kind.model or (
        kind in (Kind.head, Kind.sentence, Kind.text) and model is not None
    )  # the latter at the head that the answer needs most
    if layer is None and head is None and not opens_itself:
        layer, head = (first_layer(trace, stack), None) if {"layer", "heads"} & state.keys() else opening_head(trace, stack)
    heads = None if head is None else [head]
    if kind is Kind.neuron:
        shown = neuron_view(trace, layer=layer, head=head, stack=stack, model=model, effects=model is not None, language=language)
    elif kind in (Kind.sentence, Kind.text):
        held = {key: state[key] for key in ("locked", "direction") if key in state}
        opened = sentence_view if kind is Kind.sentence else text_view
        shown = opened(trace, layer=layer, head=head, stack=stack, model=model, effects=model is not None, language=language, **held)
    elif kind is Kind.model:
        shown = model_view(trace, layer=layer, head=head, stack=stack, model=model, effects=model is not None, language=language)
    else:
        shown = head_view(trace, layer=layer, heads=heads, stack=stack, model=model, effects=model is not None, language=language)
    shown.starting(**state).save(output)


def _save_graph(
    trace: Trace,
    output: Path,
    layer: int,
    head: int,
    stack: str | None,
    words: bool,
    red: list[str],
    layout: TokenLayout,
    language: str,
) -> None:
    from eyeline.look.views.graph import attention_graph

    attention_graph(trace, layer, head, stack=stack, words=words, red=red, layout=layout.value, language=language).save(output)
