"""Write notebooks/*.ipynb, execute them, and keep small still pictures as their outputs. Their cells are in scripts/notebook_cells.

python -m scripts.notebooks                  (all of them)
python -m scripts.notebooks lesson decoder   (these)
"""

from __future__ import annotations

import base64
import io
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import plotly.io
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image, ImageDraw, ImageFont
from scripts.notebook_cells import bertviz, clark, classifier, decoder, lesson, papers, space, writing
from scripts.notebook_cells.cell import Cell
from scripts.repository import ADDRESS

from eyeline.look.views.paint import painted

FOLDER = Path(__file__).parents[1] / "notebooks"
#: Pixels of a still picture across.
WIDEST = 1200
#: Behind a notebook's first text. The address works once the repository is public (scripts/repository.py).
COLAB = (
    "[![Open in Colab](attachment:colab.png)](https://colab.research.google.com/github/{address}/blob/main/notebooks/{file}) "
    '`%pip install "eyeline[notebook,plots] @ git+https://github.com/{address}"`'
)
PLOTLY = "application/vnd.plotly.v1+json"
WIDGET = "application/vnd.jupyter.widget-view+json"


@dataclass(frozen=True)
class Notebook:
    """The cells of a notebook, and the languages in which its texts are written."""

    cells: tuple[Cell, ...]
    languages: tuple[str, ...] = ("en",)


NOTEBOOKS = {
    "lesson": Notebook(lesson.CELLS, ("en", "ja", "ko")),
    "papers": Notebook(papers.CELLS, ("en", "ja", "ko")),
    "bertviz": Notebook(bertviz.CELLS),
    "clark": Notebook(clark.CELLS),
    "space": Notebook(space.CELLS),
    "classifier": Notebook(classifier.CELLS),
    "decoder": Notebook(decoder.CELLS),
    "writing": Notebook(writing.CELLS, ("en", "ja")),
}


def build(name: str, language: str) -> NotebookNode:
    """A notebook without outputs. Cells are named by their index, so that the same text gives the same file."""
    book = new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}})
    for index, cell in enumerate(NOTEBOOKS[name].cells):
        result = new_code_cell(cell.replace("{language}", language)) if isinstance(cell, str) else new_markdown_cell(cell[language])
        result["id"] = f"cell-{index}"
        book.cells.append(result)
    first = book.cells[0]
    first.source = f"{first.source}\n\n{COLAB.format(address=ADDRESS, file=f'{name}.{language}.ipynb')}"
    first["attachments"] = {"colab.png": {"image/png": badge()}}
    return book


@cache
def badge() -> str:
    """A small picture that says "Open in Colab", as base64. It is part of the notebook, so that opening one needs no network."""
    picture = Image.new("RGB", (124, 24), "#f5a623")
    ImageDraw.Draw(picture).text((12, 5), "Open in Colab", fill="#111", font=ImageFont.load_default(14))
    file = io.BytesIO()
    picture.quantize(16).save(file, "png", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def run(book: NotebookNode, folder: Path, timeout: int = 600) -> NotebookNode:
    """Execute a notebook in a clean kernel."""
    NotebookClient(book, timeout=timeout, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    return book


def keep_pictures(book: NotebookNode) -> None:
    """Outputs as still pictures and plain text: no scripts, no state of widgets."""
    book.metadata.pop("widgets", None)
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.metadata.pop("execution", None)
            cell.outputs = [still for output in cell.outputs if (still := _still(output)) is not None]


def _still(output: NotebookNode) -> NotebookNode | None:
    data = output.get("data", {})
    if output.output_type == "stream" and output.name == "stdout":
        return output
    if PLOTLY in data:
        picture = plotly.io.from_json(plotly.io.json.to_json_plotly(data[PLOTLY]), skip_invalid=True).to_image("png", width=900)
        return _png(picture)
    if "image/png" in data:
        return _png(base64.b64decode(data["image/png"]))
    inside = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', data.get("text/html", ""))
    if inside:
        return _png(painted(base64.b64decode(inside[1]).decode(), "png"))
    if WIDGET in data:  # a progress bar
        return None
    return new_output("display_data", {"text/plain": data["text/plain"]}) if data.get("text/plain") else None


def _png(picture: bytes) -> NotebookNode:
    """A picture that every program shows: JupyterLab leaves an SVG out of a notebook that came from somebody else."""
    small = io.BytesIO()
    opened = Image.open(io.BytesIO(picture)).convert("RGB")
    if opened.width > WIDEST:
        opened = opened.resize((WIDEST, round(opened.height * WIDEST / opened.width)), Image.Resampling.LANCZOS)
    opened.quantize(64).save(small, "png", optimize=True)
    return new_output("display_data", {"image/png": base64.b64encode(small.getvalue()).decode()})


def main(names: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in names or NOTEBOOKS:
        for language in NOTEBOOKS[name].languages:
            with TemporaryDirectory() as folder:  # files that a notebook writes do not stay
                book = run(build(name, language), Path(folder))
            keep_pictures(book)
            nbformat.write(book, FOLDER / f"{name}.{language}.ipynb")


if __name__ == "__main__":
    main(sys.argv[1:])
