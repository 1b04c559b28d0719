"""The options of every command that reads a corpus."""

from __future__ import annotations

from typing import Annotated

import typer

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
