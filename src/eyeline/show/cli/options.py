"""Options that several commands share: what is read, which folder is written, where it is computed, and in which language."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from eyeline.errors import EyelineError
from eyeline.look.embedded import DEFAULTS, default_model
from eyeline.measure.runs.options import Argument, Options, arguments_of, given_options, option
from eyeline.words import LANGUAGES

if TYPE_CHECKING:
    from eyeline.measure.engines.processes import Engine
    from eyeline.text.corpora.corpus import Corpus


# ---- The model


#: The option of every command that opens a model.
ModelName = Annotated[
    str,
    typer.Option(help="An embedded model, a local folder, or a hub id.", default_factory=default_model, show_default=DEFAULTS[0]),
]

#: The same for commands about the model's answer: their default has a head that answers.
AnsweringModel = Annotated[str, typer.Option("--model", help="An embedded model, a local folder, or a hub id; one that answers.")]

ANSWERING_DEFAULT = "e5-small-mlm"


# ---- The corpus


CorpusPath = Annotated[
    str,
    typer.Argument(
        metavar="CORPUS",
        help="A .txt, .jsonl, .conllu, .csv, .parquet or .arrow file (plain, .gz or .zst), a folder, a pattern, an address such as "
        "s3://bucket/texts.jsonl, or a dataset.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Reading(Options):
    """How a corpus is read."""

    kind: str | None = option(None, "text, jsonl, conllu, csv, parquet, arrow or dataset, where the file's ending does not say.")
    paragraphs: str = option("auto", "For plain text, what ends a paragraph: blank (a blank line), line (each line), or auto.")
    column: str | None = option(None, "The column with the text, for tables, datasets and JSON lines.")
    pair_column: str | None = option(None, "The column with the second text, for pairs.")
    split: str | None = option(None, "The split of a dataset: train, test …")

    def read(self, corpus: str) -> Corpus:
        """Open the corpus."""
        from eyeline.text.corpora.read import read_corpus

        return read_corpus(corpus, **given_options(self))


# ---- The run's folder


Output = Annotated[Path, typer.Option("-o", "--output", help="The run's folder, created where it is missing.", show_default=False)]

Resume = Annotated[bool, typer.Option("--resume", help="Go on with a run that was interrupted.")]

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a run that the folder holds.")]


# ---- Where it is computed


@dataclass(frozen=True)
class Computing(Options):
    """Where texts go through the model."""

    engine: str = option("local", "Where to compute: local (this process), processes, or ray (many machines).")
    workers: int | None = option(None, "How many workers; without it, as many as fit.")
    address: str | None = option(None, "The address of the Ray cluster: auto or host:port. Without it, Ray is started on this machine.")
    gpus_per_worker: float | None = option(None, "GPUs for each Ray worker: 1, or a share such as 0.5. Without it, none.")

    def chosen(self) -> Engine | str:
        """The engine that these options describe; one that cannot run here is refused before anything is opened."""
        engine = engine_of_options(self.engine, self.workers, self.address, self.gpus_per_worker)
        if engine is None:
            return "local"
        engine.check()
        return engine


def engine_of_options(name: str, workers: int | None, address: str | None, gpus_per_worker: float | None) -> Engine | None:
    """The engine that these options describe; an option that this engine does not take is refused."""
    from eyeline.measure.engines.local import as_engine
    from eyeline.measure.engines.processes import Processes
    from eyeline.measure.engines.ray import Ray

    engine = as_engine(name)
    if workers is not None and not isinstance(engine, Processes | Ray):
        raise EyelineError(f"--workers {workers} with --engine {name}.", "Give --engine processes, or --engine ray.")
    for name_of, value in (("--address", address), ("--gpus-per-worker", gpus_per_worker)):
        if value is not None and not isinstance(engine, Ray):
            raise EyelineError(f"{name_of} {value} with --engine {name}.", "Give --engine ray.")
    if isinstance(engine, Ray):
        return Ray(workers, address, gpus_per_worker or 0)
    return Processes(workers) if isinstance(engine, Processes) else engine


# ---- The language of reports, pages and pictures


def known_language(language: str) -> str:
    """The language, if we have words in it."""
    if language not in LANGUAGES:
        raise typer.BadParameter(f"{language!r}: choose one of {', '.join(LANGUAGES)}.")
    return language


Language = Annotated[str, typer.Option(help=f"Language of figures and report: {', '.join(LANGUAGES)}.", callback=known_language)]

PageLanguage = Annotated[str, typer.Option(help=f"Language of the page or the picture: {', '.join(LANGUAGES)}.", callback=known_language)]


# ---- Layers and heads


def numbers(text: str | None) -> tuple[int, ...] | None:
    """Layer numbers from the command line."""
    try:
        return None if text is None else tuple(int(part) for part in text.replace(",", " ").split())
    except ValueError:
        raise typer.BadParameter(f"{text!r}: give layer numbers with commas between them, such as 0,5.") from None


# ---- Records of options as options of a command


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command as typer takes it: a parameter that is a record of options becomes an option for each of them."""
    hints = get_type_hints(command, include_extras=True)
    records = {name: hint for name, hint in hints.items() if isinstance(hint, type) and issubclass(hint, Options)}
    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if name in records:
            parameters += map(_parameter, arguments_of(records[name]).values())
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))

    def run(**values: Any) -> None:
        for name, record in records.items():
            given = {argument: values.pop(argument) for argument in arguments_of(record)}
            lists = [argument.name for argument in arguments_of(record).values() if argument.is_list]
            values[name] = record(**given | {argument: numbers(given[argument]) for argument in lists})
        command(**values)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {}
    return run


def _parameter(argument: Argument) -> Parameter:
    """An option as typer takes it."""
    about, default = argument.option, argument.default
    kind: Any = str | None if argument.is_list else argument.type | None if default is None else argument.type
    names = [argument.command_name] if default is False else []  # else also --no-…
    shown = about.default_help or default is not None
    annotation: Any = Annotated[kind, typer.Option(*names, help=about.help, show_default=shown)]
    return Parameter(argument.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
