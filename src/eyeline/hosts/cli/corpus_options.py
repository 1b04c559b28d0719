"""The options of every command that reads a corpus, and of where it is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

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
    from eyeline.analyses.engines.choose import engine_of_options

    engine = engine_of_options(name, workers, address, gpus_per_worker)
    if engine is None:
        return "local"
    engine.check()
    return engine
