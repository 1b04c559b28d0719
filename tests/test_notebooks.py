"""The notebooks are what their script writes, run from a clean kernel, and show their still pictures wherever they are read."""

from __future__ import annotations

import base64
import re
import subprocess
from pathlib import Path

import nbformat
import pytest
from scripts import repository
from scripts.notebooks import FOLDER, NOTEBOOKS, build, run

EVERY = [(name, language) for name, notebook in NOTEBOOKS.items() for language in notebook.languages]
TUTORIALS = {"bertviz", "lesson", "clark", "space", "classifier", "decoder"}


def saved(name: str, language: str) -> nbformat.NotebookNode:
    return nbformat.read(FOLDER / f"{name}.{language}.ipynb", as_version=4)


def kinds(book: nbformat.NotebookNode) -> list[str]:
    """What is shown below the cells: kinds of data, and stream for printed lines."""
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    return [kind for output in outputs for kind in output.get("data", [output.output_type])]


def test_there_is_a_notebook_for_each_tutorial_and_no_other_file():
    assert set(NOTEBOOKS) >= TUTORIALS
    assert {path.name for path in FOLDER.glob("*.ipynb")} == {f"{name}.{language}.ipynb" for name, language in EVERY}


@pytest.mark.parametrize(("name", "language"), EVERY)
def test_a_notebook_is_what_the_script_writes_and_has_still_pictures_only(name: str, language: str) -> None:
    book = saved(name, language)
    assert [cell.source for cell in book.cells] == [cell.source for cell in build(name, language).cells]
    assert len(book.cells) < 18
    shown = kinds(book)
    assert set(shown) <= {"text/plain", "image/png", "stream"}  # JupyterLab shows no SVG in a notebook that it does not trust
    assert shown.count("image/png") >= 3
    assert "widgets" not in book.metadata
    assert (FOLDER / f"{name}.{language}.ipynb").stat().st_size < 900_000


@pytest.mark.parametrize(("name", "language"), EVERY)
def test_a_notebook_opens_in_colab_and_its_badge_comes_from_nowhere_else(name: str, language: str) -> None:
    first = saved(name, language).cells[0]
    assert f"](https://colab.research.google.com/github/{repository.ADDRESS}/blob/main/notebooks/{name}.{language}.ipynb)" in first.source
    assert base64.b64decode(first.attachments["colab.png"]["image/png"]).startswith(b"\x89PNG")
    assert not re.search(r"!\[[^\]]*\]\(https?:", "\n".join(cell.source for cell in saved(name, language).cells))


@pytest.mark.parametrize(("name", "language"), [("bertviz", "en"), ("lesson", "ja"), ("space", "en")])
def test_every_still_picture_is_on_the_page_that_nbconvert_writes(name: str, language: str) -> None:
    """GitHub shows notebooks in the same way: the saved picture, and no script."""
    from nbconvert import HTMLExporter

    page, _ = HTMLExporter(template_name="basic").from_filename(str(FOLDER / f"{name}.{language}.ipynb"))
    pictures = re.findall(r'<img[^>]*src="data:image/png;base64,([^"]+)"', page)
    drawn = [output.data["image/png"] for cell in saved(name, language).cells for output in cell.get("outputs", []) if "data" in output
             and "image/png" in output.data]  # fmt: skip
    assert len(drawn) >= 3
    assert {picture.strip().replace("\n", "") for picture in drawn} <= {picture.strip().replace("\n", "") for picture in pictures}


def test_the_address_of_the_repository_is_filled_in_everywhere_by_one_command(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(f"github/{repository.ADDRESS}/blob")
    (tmp_path / "b.md").write_text("nothing")
    subprocess.run([repository.GIT, "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run([repository.GIT, "add", "."], cwd=tmp_path, check=True)
    assert repository.fill("someone/eyeline", tmp_path) == ["a.ipynb"]
    assert (tmp_path / "a.ipynb").read_text() == "github/someone/eyeline/blob"


def test_the_lesson_has_a_cell_for_the_readers_own_sentences() -> None:
    for language in NOTEBOOKS["lesson"].languages:
        sources = [cell.source for cell in build("lesson", language).cells]
        assert any("sentence_a = " in source and 'sentence_b = ""' in source for source in sources)


def test_the_papers_notebook_has_every_figure_and_table() -> None:
    for language in NOTEBOOKS["papers"].languages:
        book = saved("papers", language)
        code = "\n".join(cell.source for cell in book.cells if cell.cell_type == "code")
        drawn = ("model_view", "head_view", "neuron_view", "attention_graph", "space_view", 'of="shared"', "syntax_examples", "importance")
        measured = ('"average_attention"', '"entropy"', '"head_map"', 'table("syntax")', 'table("coreference")', 'table("probes")')
        assert [name for name in (*drawn, *measured) if name not in code] == []
        assert kinds(book).count("image/png") == 14


TRANSLATED = [name for name, notebook in NOTEBOOKS.items() if len(notebook.languages) > 1]


@pytest.mark.parametrize("name", TRANSLATED)
def test_languages_share_all_code_except_the_line_that_names_the_language(name: str) -> None:
    lines = {
        language: [line for cell in saved(name, language).cells if cell.cell_type == "code" for line in cell.source.splitlines()]
        for language in ("en", "ja")
    }
    differing = [(english, japanese) for english, japanese in zip(lines["en"], lines["ja"], strict=True) if english != japanese]
    assert len(differing) == 1
    assert all(f'language = "{language}"' in line for language, line in zip(("en", "ja"), differing[0], strict=True))


@pytest.mark.parametrize("name", TRANSLATED)
def test_every_view_and_figure_of_a_notebook_is_in_the_language_of_its_texts(name: str) -> None:
    code = "\n".join(cell.source for cell in build(name, "ja").cells if cell.cell_type == "code")
    drawn = re.findall(r"el\.(?:\w+_view|figure|figures\.attention_graph)\(.*", code)
    assert len(drawn) >= 4
    assert [line for line in drawn if "language=language" not in line] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", list(NOTEBOOKS))
def test_a_notebook_runs_from_a_clean_kernel(name: str, tmp_path: Path) -> None:
    book = run(build(name, NOTEBOOKS[name].languages[-1]), tmp_path)  # the code differs in one line
    assert all(cell.execution_count for cell in book.cells if cell.cell_type == "code")
