"""`eyeline gallery`: a folder of plain pages with every head of some models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from eyeline.measure.heads.options import GalleryOptions
from eyeline.measure.runs.options import given_options
from eyeline.show.cli.options import Language
from eyeline.show.cli.terminal import console, progress_bars


def gallery(
    models: Annotated[list[str], typer.Argument(help="Embedded models, local folders or hub ids; `all`: every embedded model.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The gallery's folder, created where it is missing.", show_default=False)],
    *,
    options: GalleryOptions,
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
            measured = measure_heads(load(name), **given_options(options), progress=report_progress)
        make_folder(folder)
        measured.save(folder)
    page = write_gallery(output, about, language)
    console.print(f"Gallery: {escape(str(page))}", highlight=False)
