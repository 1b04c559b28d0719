"""`eyeline gallery`: a folder of plain pages with every head of some models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from eyeline.show.cli.options import Language
from eyeline.show.cli.terminal import console, progress_bars


def gallery(
    models: Annotated[list[str], typer.Argument(help="Embedded models, local folders or hub ids; `all`: every embedded model.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The gallery's folder, created where it is missing.", show_default=False)],
    texts: Annotated[int, typer.Option(help="Paragraphs of the built-in text, for statistics and effects.")] = 16,
    sentences: Annotated[int, typer.Option(help="Sentences of the built-in treebank, for grammar and reference.")] = 500,
    min_count: Annotated[int, typer.Option(help="Leave out relations with fewer words.")] = 50,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Measure models again that the folder holds.")] = False,
    language: Language = "en",
) -> None:
    """Every head of some models, as plain pages that need no server: what each does, measured, and live on two texts.

    [dim]eyeline gallery minilm e5-small-mlm -o gallery[/dim]
    """
    from eyeline.look.embedded import EMBEDDED
    from eyeline.measure.gallery import measure_heads
    from eyeline.models.load import load
    from eyeline.show.gallery.pages import RUN, write_gallery
    from eyeline.storage.files import make_folder, path_in

    about = {model.name: model.about for model in EMBEDDED}
    for name in about if models == ["all"] else models:
        folder = path_in(output, Path(name).name) / RUN
        if (folder / "run.json").is_file() and not overwrite:
            console.print(f"{escape(name)}: measured before; --overwrite measures it again.", highlight=False)
            continue
        with progress_bars() as report_progress:
            measured = measure_heads(load(name), texts=texts, sentences=sentences, min_count=min_count, progress=report_progress)
        make_folder(folder)
        measured.save(folder)
    page = write_gallery(output, about, language)
    console.print(f"Gallery: {escape(str(page))}", highlight=False)
