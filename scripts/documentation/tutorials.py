"""The notebooks as pages of the site, with the pictures that they were saved with."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "notebooks"
#: The badge of a notebook and its line for Colab: on the site there is nothing to open.
BADGE = re.compile(r"^\[!\[Open in Colab\].*\n", re.MULTILINE)
INDEX = """# Tutorials

Each is a notebook in `notebooks/`, executed from its first cell to its last by the tests. Here you see its text, its code and still
pictures; open the notebook itself to point, click and change the sentence.

"""


def pages() -> dict[str, str | bytes]:
    """The path of each page in the site → its text."""
    return {name: content for name, content in _converted().items() if name.endswith(".md")}


def pictures() -> dict[str, str | bytes]:
    """The path of each picture in the site → its bytes."""
    return {name: content for name, content in _converted().items() if not name.endswith(".md")}


@cache
def _converted() -> dict[str, str | bytes]:
    from nbconvert import MarkdownExporter

    written: dict[str, str | bytes] = {}
    rows = []
    for path in sorted(FOLDER.glob("*.ipynb")):
        name = path.stem
        text, resources = MarkdownExporter().from_filename(str(path), {"output_files_dir": name, "unique_key": name})
        text = BADGE.sub("", text)
        written[f"tutorials/{name}.md"] = text
        written |= {f"tutorials/{file}": content for file, content in resources["outputs"].items() if not file.endswith("colab.png")}
        rows.append(f"- [{heading(text)}]({name}.md) (`notebooks/{path.name}`)")
    written["tutorials/index.md"] = INDEX + "\n".join(rows) + "\n"
    return written


def heading(markdown: str) -> str:
    r"""The first heading of a page.

    >>> heading("badge\n\n# A lesson\n\nText.")
    'A lesson'
    """
    title = re.search(r"^# (.+)$", markdown, re.MULTILINE)
    return title[1] if title else "Untitled"
