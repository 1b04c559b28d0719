"""The options of every command that reads a corpus, and of where it is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from eyeline.errors import EyelineError

if TYPE_CHECKING:
    from eyeline.analyses.engines.engine import Engine

CorpusPath = Annotated[
    str,
    typer.Argument(
        metavar="CORPUS",
        help="A .txt, .jsonl, .conllu, .csv, .parquet or .arrow file (plain, .gz or .zst), a folder, a pattern, an address such as "
        "s3://bucket/texts.jsonl, or a dataset.",
        show_default=False,
    ),
]
Kind = Annotated[
    str | None,
    typer.Option(help="text, jsonl, conllu, csv, parquet, arrow or dataset, where the file's ending does not say.", show_default=False),
]
Paragraphs = Annotated[str, typer.Option(help="Of a plain text: auto, blank (a blank line ends one) or line.")]
Column = Annotated[str | None, typer.Option(help="Of a table, a dataset or JSON lines: the column of the text.", show_default=False)]
PairColumn = Annotated[str | None, typer.Option(help="The column of the second text, for pairs.", show_default=False)]
Split = Annotated[str | None, typer.Option(help="Of a dataset: train, test …", show_default=False)]
EngineOption = Annotated[str, typer.Option("--engine", help="Where: local (this process), processes, or ray (many machines).")]
Workers = Annotated[int | None, typer.Option(help="How many workers; as many as there is room for otherwise.", show_default=False)]
Address = Annotated[
    str | None,
    typer.Option(help="Of the Ray cluster: auto or host:port. Ray is started on this machine otherwise.", show_default=False),
]
GpusPerWorker = Annotated[
    float | None, typer.Option(help="Of a Ray cluster: 1, or a share such as 0.5. None otherwise.", show_default=False)
]


def chosen_engine(name: str, workers: int | None, address: str | None, gpus_per_worker: float | None) -> Engine | str:
    """The engine that these options describe; one that cannot work is refused before anything is opened."""
    engine = engine_of_options(name, workers, address, gpus_per_worker)
    if engine is None:
        return "local"
    engine.check()
    return engine


def engine_of_options(name: str, workers: int | None, address: str | None, gpus_per_worker: float | None) -> Engine | None:
    """The engine that these options describe; an option that it has no use for is refused."""
    from eyeline.analyses.engines.choose import as_engine
    from eyeline.analyses.engines.engine import Processes
    from eyeline.analyses.engines.ray import Ray

    engine = as_engine(name)
    if engine is None and workers is not None:
        raise EyelineError(f"--workers {workers} with --engine {name}.", "Give --engine processes, or --engine ray.")
    for option, value in (("--address", address), ("--gpus-per-worker", gpus_per_worker)):
        if value is not None and not isinstance(engine, Ray):
            raise EyelineError(f"{option} {value} with --engine {name}.", "Give --engine ray.")
    if isinstance(engine, Ray):
        return Ray(workers, address, gpus_per_worker or 0)
    return Processes(workers) if isinstance(engine, Processes) else None
