"""The notebooks are what their script writes, keep still pictures, and run from a clean kernel."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from scripts.notebooks import FOLDER, LANGUAGES, NOTEBOOKS, build, run

EVERY = [(name, language) for name in NOTEBOOKS for language in LANGUAGES]


@pytest.mark.parametrize(("name", "language"), EVERY)
def test_a_notebook_is_what_the_script_writes_and_has_still_pictures_only(name: str, language: str) -> None:
    book = nbformat.read(FOLDER / f"{name}.{language}.ipynb", as_version=4)
    assert [cell.source for cell in book.cells] == [cell.source for cell in build(NOTEBOOKS[name], language).cells]
    assert len(book.cells) < 15
    kinds = [kind for cell in book.cells if cell.cell_type == "code" for output in cell.outputs for kind in output.data]
    assert set(kinds) <= {"text/plain", "image/png"}  # JupyterLab shows no SVG in a notebook that it does not trust
    assert sum(kind.startswith("image/") for kind in kinds) >= 3
    assert "widgets" not in book.metadata


def test_the_lesson_has_a_cell_for_the_readers_own_sentences() -> None:
    for language in LANGUAGES:
        sources = [cell.source for cell in build(NOTEBOOKS["lesson"], language).cells]
        assert any("sentence_a = " in source and 'sentence_b = ""' in source for source in sources)


def test_the_papers_notebook_has_every_figure_and_table_and_is_small() -> None:
    for language in LANGUAGES:
        path = FOLDER / f"papers.{language}.ipynb"
        book = nbformat.read(path, as_version=4)
        code = "\n".join(cell.source for cell in book.cells if cell.cell_type == "code")
        drawn = ("model_view", "head_view", "neuron_view", "attention_graph", "space_view", 'of="shared"', "syntax_examples", "importance")
        measured = ('"average_attention"', '"entropy"', '"head_map"', 'table("syntax")', 'table("coreference")', 'table("probes")')
        assert [name for name in (*drawn, *measured) if name not in code] == []
        pictures = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs if "image/png" in output.data]
        assert len(pictures) == 14
        assert path.stat().st_size < 900_000


def test_languages_share_code_but_for_the_line_that_names_the_language() -> None:
    for name in NOTEBOOKS:
        books = {language: nbformat.read(FOLDER / f"{name}.{language}.ipynb", as_version=4) for language in LANGUAGES}
        lines = {
            language: [line for cell in book.cells if cell.cell_type == "code" for line in cell.source.splitlines()]
            for language, book in books.items()
        }
        differing = [(english, japanese) for english, japanese in zip(lines["en"], lines["ja"], strict=True) if english != japanese]
        assert len(differing) == 1
        assert all(f'language = "{language}"' in line for language, line in zip(("en", "ja"), differing[0], strict=True))


def test_every_view_and_figure_of_a_notebook_is_in_the_language_of_its_texts() -> None:
    for name in NOTEBOOKS:
        code = "\n".join(cell.source for cell in build(NOTEBOOKS[name], "ja").cells if cell.cell_type == "code")
        drawn = re.findall(r"el\.(?:\w+_view|figure|figures\.attention_graph)\(.*", code)
        assert len(drawn) >= 4
        assert [line for line in drawn if "language=language" not in line] == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "language"), [("lesson", "ja"), ("papers", "en")])  # the code differs in one line
def test_a_notebook_runs_from_a_clean_kernel(name: str, language: str, tmp_path: Path) -> None:
    book = run(build(NOTEBOOKS[name], language), tmp_path)
    assert all(cell.execution_count for cell in book.cells if cell.cell_type == "code")
