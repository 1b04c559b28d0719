"""`eyeline paper`: all figures and tables of Clark et al. 2019 for one model, beside the published numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from eyeline.measure.grammar.options import LABELS
from eyeline.measure.paper.options import Amounts
from eyeline.show.cli.options import Language, Overwrite
from eyeline.show.cli.terminal import console, progress_bars, resumable
from eyeline.words import Words

BUILT_IN = "Without it: built-in data."


def paper(
    model: Annotated[str, typer.Argument(help="An embedded model, a local folder, or a hub id.", show_default=False)],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder, created where it is missing.", show_default=False)],
    *,
    text: Annotated[str | None, typer.Option(help=f"A corpus for figures 1 to 4 and 6. {BUILT_IN}", show_default=False)] = None,
    treebank: Annotated[
        Path | None,
        typer.Option(
            help=f"A treebank for tables 1 and 3: CoNLL-U, or CoNLL-X such as a converted Penn Treebank. {BUILT_IN}", show_default=False
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help=f"Names of relations: {', '.join(LABELS)}. Without it: stanford for CoNLL-U, as-is for CoNLL-X.", show_default=False
        ),
    ] = None,
    train: Annotated[
        Path | None, typer.Option(help="A treebank to train the probes on. Without it: one half of the treebank.", show_default=False)
    ] = None,
    coreference: Annotated[
        Path | None, typer.Option(help=f"CoNLL-2012, CoNLL-U with entities, or JSON lines, for table 2. {BUILT_IN}", show_default=False)
    ] = None,
    glove: Annotated[
        Path | None,
        typer.Option(
            help="Word vectors for table 3: a folder or GloVe's text file. Without them: the model's own embeddings.", show_default=False
        ),
    ] = None,
    amounts: Amounts,
    pictures: Annotated[
        list[str] | None, typer.Option(help="Also draw the figures at column width as pdf, svg or png; may be repeated. Needs a Chromium.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what was interrupted; finished parts are kept.")] = False,
    overwrite: Overwrite = False,
    language: Language = "en",
) -> None:
    """Figures 1 to 6 and tables 1 to 3 of "What Does BERT Look At?" for any model, beside the published numbers.

    [dim]eyeline paper e5-small-mlm -o paper[/dim]
    """
    from eyeline.measure.paper.run import Sources, measure_paper, statements
    from eyeline.measure.runs.pictures import check_kind
    from eyeline.models.load import load
    from eyeline.show.paper import write_paper
    from eyeline.show.report import write_report
    from eyeline.storage.files import make_folder, path_in

    for picture in pictures or ():
        check_kind(picture, f"--pictures {picture}")
    labels = labels or ("stanford" if treebank is None or ".conllu" in treebank.suffixes else "as-is")
    sources = Sources(text, treebank, labels, train, coreference, glove)
    folder = path_in(output, "run")
    loaded = load(model)
    make_folder(folder)
    with resumable(output), progress_bars() as report_progress:
        run = measure_paper(loaded, folder, sources, amounts, resume=resume, overwrite=overwrite, progress=report_progress)
    write_report(folder, language)
    page = write_paper(run, output, pictures=pictures or (), language=language)
    words = Words(language)
    table = Table(words("paper.of_figure"), words("paper.says"), words("paper.published"), words("paper.measured"))
    for item in statements(run):
        table.add_row(item.figure, words(f"paper.statement.{item.key}"), item.published, item.measured)
    console.print(table)
    console.print(
        f"Page: {escape(str(page))}; tables, methods and figures beside it; every number in {escape(str(folder))}", highlight=False
    )
