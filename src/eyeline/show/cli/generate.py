"""`eyeline generate` and `eyeline replay`: what a model looked at while it wrote, as a page, a picture, a file or tables."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from eyeline.errors import EyelineError
from eyeline.show.cli.options import NamedPart, PageLanguage, named_parts
from eyeline.show.cli.terminal import console, print_notices
from eyeline.text.tokenized import printable

if TYPE_CHECKING:
    from eyeline.look.generation import Generation
    from eyeline.models.model import Model

#: The model of these commands unless another is named: the embedded one that writes.
WRITER = "smollm2"

WritingModel = Annotated[str, typer.Option("--model", help="An embedded model, a local folder, or a hub id; one that writes.")]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", help="x.html: a page; x.svg, x.pdf or x.png: a picture; x.safetensors: all numbers.", show_default=False
    ),
]
Tables = Annotated[
    Path | None, typer.Option(help="A folder for written.csv (a row a token) and heads.csv (a row a head).", show_default=False)
]
Heads = Annotated[list[str] | None, typer.Option("--head", help="Keep the whole rows of this head: LAYER,HEAD; may be repeated.")]
Effects = Annotated[bool, typer.Option("--effects", help="Also what becomes of every written token without each part of the prompt.")]
OpenFile = Annotated[bool, typer.Option("--open", help="Open the file when it is written.")]


def generate(
    prompt: Annotated[str | None, typer.Argument(help="The text to go on from.", show_default=False)] = None,
    messages: Annotated[
        Path | None,
        typer.Option(
            help="A conversation in place of a text: a JSON file with a list of messages, each with a role and a content.",
            show_default=False,
        ),
    ] = None,
    output: Output = None,
    model: WritingModel = WRITER,
    max_new_tokens: Annotated[int, typer.Option(min=1, help="How many tokens to write at most.")] = 64,
    sample: Annotated[bool, typer.Option("--sample", help="Draw tokens at random, by their probability.")] = False,
    temperature: Annotated[float | None, typer.Option(help="Of --sample: above 1 more is drawn that is less probable.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of --sample. Default: a new one, which is printed.")] = None,
    parts: NamedPart = None,
    heads: Heads = None,
    effects: Effects = False,
    tables: Tables = None,
    language: PageLanguage = "en",
    open_file: OpenFile = False,
) -> None:
    """Let a model write, and show what it looked at while it wrote. Ctrl-C stops writing, and shows what was written.

    [dim]eyeline generate --messages chat.json --head 18,6 -o chat.html[/dim]
    """
    if (prompt is None) == (messages is None):
        raise EyelineError("A prompt or a conversation is needed, and not both.", 'eyeline generate "The cat" -o cat.html, or --messages.')
    if temperature is not None and not sample:
        raise EyelineError(f"--temperature {temperature:g} without --sample.", "Add --sample.")
    given: Any = prompt if messages is None else _messages(messages)
    named, kept = named_parts(parts), _heads(heads or [])
    _check_output(output)
    from eyeline.models.load import load

    opened = load(model)
    sampling = {"do_sample": True, **({} if temperature is None else {"temperature": temperature})} if sample else {"do_sample": False}
    generation = opened.generate(given, max_new_tokens=max_new_tokens, parts=named, heads=kept, seed=seed, **sampling)
    _show(opened, generation, output, effects, tables, language, open_file)


def replay(
    prompt: Annotated[Path, typer.Argument(help="A file with the prompt; .json: with a conversation.", show_default=False)],
    completion: Annotated[Path, typer.Argument(help="A file with what was written after it.", show_default=False)],
    output: Output = None,
    model: WritingModel = WRITER,
    parts: NamedPart = None,
    heads: Heads = None,
    effects: Effects = False,
    tables: Tables = None,
    language: PageLanguage = "en",
    open_file: OpenFile = False,
) -> None:
    """What a model looks at while it writes a text that is there already, of vLLM or of an API: the text is read once, not written again.

    [dim]eyeline replay prompt.txt completion.txt -o answer.html[/dim]
    """
    given: Any = _messages(prompt) if prompt.suffix.lower() == ".json" else _text(prompt)
    written = _text(completion)
    named, kept = named_parts(parts), _heads(heads or [])
    _check_output(output)
    from eyeline.models.load import load

    opened = load(model)
    generation = opened.replay(given, written, parts=named, heads=kept)
    _show(opened, generation, output, effects, tables, language, open_file)


def _show(
    model: Model,
    generation: Generation,
    output: Path | None,
    effects: bool,
    tables: Path | None,
    language: str,
    open_file: bool,
) -> None:
    """Print what was written and the shares, and write what was asked for."""
    if effects:
        from eyeline.measure.causes.parts import part_effects

        generation = generation.with_effects(part_effects(model, generation))
    console.print(escape(printable_lines(generation.completion)), highlight=False, soft_wrap=True)
    console.print(_table(generation))
    if "seed" in generation.about:
        console.print(f"Seed {generation.about['seed']}", highlight=False)
    print_notices(generation.notices)
    written: list[Path] = []
    if tables is not None:
        written += generation.save_tables(tables)
    if output is not None:
        if output.suffix.lower() == ".safetensors":
            generation.save(output)
        else:
            from eyeline.look.views.generation import generation_view

            kept = generation.main.kept_heads
            layer, head = (kept[0].layer, kept[0].head) if kept else (None, None)
            generation_view(generation, layer=layer, head=head, language=language).save(output)
        written.append(output)
    for path in written:
        console.print(f"Saved to {escape(str(path))}", highlight=False, soft_wrap=True)
    if open_file and output is not None:
        webbrowser.open(output.resolve().as_uri())


def printable_lines(text: str) -> str:
    """The lines of a text without what a terminal cannot show."""
    return "\n".join(map(printable, text.split("\n")))


def _table(generation: Generation) -> Table:
    """The share of each part, as the mean of all heads and written tokens; with what each part did, where it was measured."""
    stack, effects = generation.main, generation.effects
    shares = stack.shares_at().mean(0)
    table = Table(title="Where it looked while it wrote", title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for name in ("part", "share", *(("removed", "not looked at") if effects is not None else ())):
        table.add_column(name, justify="left" if name == "part" else "right")
    for part, share in zip(stack.parts, shares, strict=True):
        did: list[str] = []
        if effects is not None:
            at = effects.parts.index(part) if part in effects.parts else None
            did = ["" if at is None else f"{numbers[:, at].mean():+.2f} nats" for numbers in (effects.removed, effects.cut)]
        table.add_row(escape(printable(part)), f"{share:.3f}", *did)
    return table


def _check_output(output: Path | None) -> None:
    """Refuse a format that cannot be written, before a model is opened."""
    from eyeline.look.views.page import PICTURES

    endings = (".html", ".htm", ".safetensors", *PICTURES)
    if output is not None and output.suffix.lower() not in endings:
        raise EyelineError(
            f"{output}: a generation cannot be written as {output.suffix or 'a nameless format'}.", f"Choices: {', '.join(endings)}."
        )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EyelineError(
            f"{path}: cannot be read ({getattr(error, 'strerror', None) or error}).", "Give a file with text in UTF-8."
        ) from None


def _messages(path: Path) -> Any:
    """The messages of a JSON file: a list, or an object with `messages`."""
    try:
        data = json.loads(_text(path))
    except ValueError as error:
        raise EyelineError(f"{path}: no JSON ({error}).", 'Give a list of messages: [{"role": "user", "content": "Hello."}].') from None
    found = data.get("messages") if isinstance(data, dict) else data
    if not isinstance(found, list):
        raise EyelineError(f"{path}: holds no messages.", 'Give a list of messages: [{"role": "user", "content": "Hello."}].')
    return found


def _heads(given: list[str]) -> list[tuple[int, int]] | None:
    """LAYER,HEAD.

    >>> _heads(["18,6"])
    [(18, 6)]
    """
    heads = []
    for each in given:
        try:
            layer, head = map(int, each.split(","))
        except ValueError:
            raise EyelineError(f"--head {each}.", "Give LAYER,HEAD, counted from 0, such as --head 18,6.") from None
        heads.append((layer, head))
    return heads or None
