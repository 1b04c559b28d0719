"""The options of every command that reads a corpus: what is read, which folder is written, where it is computed."""

from __future__ import annotations

from pathlib import Path
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
Paragraphs = Annotated[str, typer.Option(help="For plain text, what ends a paragraph: blank (a blank line), line (each line), or auto.")]
Column = Annotated[str | None, typer.Option(help="The column with the text, for tables, datasets and JSON lines.", show_default=False)]
PairColumn = Annotated[str | None, typer.Option(help="The column with the second text, for pairs.", show_default=False)]
Split = Annotated[str | None, typer.Option(help="The split of a dataset: train, test …", show_default=False)]
Output = Annotated[Path, typer.Option("-o", "--output", help="The run's folder, created where it is missing.", show_default=False)]
Limit = Annotated[int | None, typer.Option(help="Use at most this many documents, chosen at random.", show_default=False)]
MaxTokens = Annotated[int | None, typer.Option(help="Skip longer documents.", show_default=False)]
Seed = Annotated[int, typer.Option(help="For everything that is drawn at random.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with a run that was interrupted.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a run that the folder holds.")]
EngineOption = Annotated[str, typer.Option("--engine", help="Where to compute: local (this process), processes, or ray (many machines).")]
Workers = Annotated[int | None, typer.Option(help="How many workers; without it, as many as fit.", show_default=False)]
Address = Annotated[
    str | None,
    typer.Option(help="The address of the Ray cluster: auto or host:port. Without it, Ray is started on this machine.", show_default=False),
]
GpusPerWorker = Annotated[
    float | None, typer.Option(help="GPUs for each Ray worker: 1, or a share such as 0.5. Without it, none.", show_default=False)
]


def chosen_engine(name: str, workers: int | None, address: str | None, gpus_per_worker: float | None) -> Engine | str:
    """The engine that these options describe; one that cannot run here is refused before anything is opened."""
    engine = engine_of_options(name, workers, address, gpus_per_worker)
    if engine is None:
        return "local"
    engine.check()
    return engine


def engine_of_options(name: str, workers: int | None, address: str | None, gpus_per_worker: float | None) -> Engine | None:
    """The engine that these options describe; an option that this engine does not take is refused."""
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
