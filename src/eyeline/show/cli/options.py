"""Options that several commands share: what is read, which folder is written, where it is computed, and in which language."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer

from eyeline.errors import EyelineError
from eyeline.look.embedded import DEFAULTS, default_model
from eyeline.measure.runs.options import Argument, Options, arguments_of, option
from eyeline.words import LANGUAGES

if TYPE_CHECKING:
    from eyeline.measure.engines.processes import Engine
    from eyeline.measure.runs.run import Run
    from eyeline.models.model import Model
    from eyeline.text.corpora.corpus import Corpus
    from eyeline.text.source import Source


# ---- The model


#: The option of every command that opens a model.
ModelName = Annotated[
    str,
    typer.Option(help="An embedded model, a local folder, or a hub id.", default_factory=default_model, show_default=DEFAULTS[0]),
]

#: The same for commands about the model's answer: their default has a head that answers.
AnsweringModel = Annotated[str, typer.Option("--model", help="An embedded model, a local folder, or a hub id; one that answers.")]

ANSWERING_DEFAULT = "e5-small-mlm"


# ---- One text


TRUNCATE = "Cut a text that is longer than the model takes."

Truncate = Annotated[bool, typer.Option("--truncate", help=TRUNCATE)]


@dataclass(frozen=True)
class GivenText(Options):
    """A text that is looked at, beside its words on the command line."""

    pair: str | None = option(None, "A second text (or what an encoder-decoder model has written).")
    messages: str | None = option(
        None, "In place of the text, a conversation: a JSON file with a list of messages (role and content), or with messages and tools."
    )
    truncate: bool = option(False, TRUNCATE)

    def source(self, text: str | None, parts: list[str] | None = None) -> Source:
        """The text, the pair or the conversation, with the parts that a user names."""
        from eyeline.text.conversation import Conversation
        from eyeline.text.source import Source

        named = named_parts(parts)
        if self.messages is None:
            if text is None:
                raise EyelineError("No text.", 'Give one: "The cat sat on the mat." Or a conversation: --messages chat.json.')
            return Source(text, self.pair, parts=named)
        if text is not None:
            raise EyelineError("A text and --messages.", "Give one of them.")
        try:
            given = json.loads(Path(self.messages).read_text(encoding="utf-8"))
        except OSError as error:
            raise EyelineError(f"{self.messages}: cannot be read ({error.strerror or error}).") from error
        except (ValueError, RecursionError) as error:
            raise EyelineError(f"{self.messages}: no JSON ({error}).", 'Needed: [{"role": "user", "content": "Hello."}].') from error
        holds_messages = isinstance(given, dict) and "messages" in given
        chat = Conversation.of(given["messages"], given.get("tools")) if holds_messages else Conversation.of(given)
        return Source(None, self.pair, conversation=chat, parts=named)


#: Names for parts of the text; a list, which records of options do not have.
NamedPart = Annotated[
    list[str] | None,
    typer.Option(
        "--part",
        help="NAME=WORDS: names a part of the text, by words that stand in it once, or by characters (NAME=3:10); may be repeated.",
    ),
]


def named_parts(given: Iterable[str] | None) -> dict[str, tuple[int, int] | str] | None:
    """The parts that `--part` names; None where it names none."""
    return dict(map(_named_part, given or ())) or None


def _named_part(given: str) -> tuple[str, tuple[int, int] | str]:
    """NAME=WORDS, or NAME=FIRST:END.

    >>> _named_part("question=Who sat?"), _named_part("start=0:7")
    (('question', 'Who sat?'), ('start', (0, 7)))
    """
    name, equals, words = given.partition("=")
    if not (equals and name and words):
        raise EyelineError(f"--part {given}.", 'Give NAME=WORDS, such as --part "question=Who sat?", or NAME=FIRST:END in characters.')
    span = re.fullmatch(r"(\d+):(\d+)", words)
    return name, (words if span is None else (int(span[1]), int(span[2])))


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

        return read_corpus(corpus, **{name: getattr(self, name) for name in arguments_of(Reading)})


# ---- The run's folder


Output = Annotated[Path, typer.Option("-o", "--output", help="The run's folder, created where it is missing.", show_default=False)]

OVERWRITE = "Replace a run of this kind that the folder holds."

Overwrite = Annotated[bool, typer.Option("--overwrite", help=OVERWRITE)]


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


# ---- A corpus measured into a folder that holds what was measured so far


@dataclass(frozen=True)
class MeasuringCorpus(Computing, Reading):
    """How a corpus is read, where it is computed, and what becomes of a run that the folder holds."""

    resume: bool = option(False, "Go on with a run that was interrupted.")
    overwrite: bool = option(False, OVERWRITE)

    def open(self, corpus: str, model: str) -> tuple[Engine | str, Corpus, Model]:
        """The engine, the corpus and the model; an engine that cannot run here is refused first."""
        from eyeline.models.load import load

        engine = self.chosen()
        return engine, self.read(corpus), load(model)

    def write(self, output: Path, language: str, measure: Callable[..., Run]) -> tuple[Run, Path]:
        """Measure into the folder and write the run there; gives the run and its report. measure: takes the folder and how it is used."""
        from eyeline.measure.runs.run import writing_run
        from eyeline.show.cli.terminal import progress_bars, resumable
        from eyeline.show.report import write_report

        replaces = self.resume or self.overwrite
        with resumable(output), progress_bars() as report_progress, writing_run(output, "analyse", overwrite=replaces):
            run = measure(folder=output, resume=self.resume, overwrite=self.overwrite, progress=report_progress)
            return run, write_report(run.save(output), language)


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
    """Numbers of layers, of heads or of tokens from the command line."""
    try:
        return None if text is None else tuple(int(part) for part in text.replace(",", " ").split())
    except ValueError:
        raise typer.BadParameter(f"{text!r}: give numbers with commas between them, such as 0,5.") from None


# ---- Records of options as options of a command


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command as typer takes it: a parameter that is a record of options becomes an option for each of them that the command has not."""
    hints = get_type_hints(command, include_extras=True)
    records = {name: hint for name, hint in hints.items() if isinstance(hint, type) and issubclass(hint, Options)}
    options = {
        name: [argument for argument in arguments_of(record).values() if argument.name not in hints] for name, record in records.items()
    }
    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if name in records:
            parameters += map(_parameter, options[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))

    def run(**values: Any) -> None:
        for name, record in records.items():
            given = {argument.name: values.pop(argument.name) for argument in options[name]}
            lists = [argument.name for argument in options[name] if argument.is_list]
            values[name] = record(**given | {argument: numbers(given[argument]) for argument in lists})
        command(**values)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {}
    return run


def _parameter(argument: Argument) -> Parameter:
    """An option as typer takes it."""
    about, default = argument.option, argument.default
    kind: Any = str if argument.is_list or str in get_args(argument.type) else Path if argument.type is object else argument.type
    kind = kind | None if default is None else kind
    names = [argument.command_name] if default is False else []  # else also --no-…
    shown = about.default_help or default is not None
    annotation: Any = Annotated[kind, typer.Option(*names, help=about.help, show_default=shown)]
    return Parameter(argument.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
