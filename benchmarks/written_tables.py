"""The tables of benchmarks/README.md, README.md and docs/how-to/scale.md, from the JSON of the benchmarks: no number is typed by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.cost import as_tables as of_costs
from benchmarks.output import made_line, put_section
from benchmarks.pages import as_tables as of_pages
from benchmarks.peers import as_tables as of_peers

HERE = Path(__file__).parent
BENCHMARKS, README = HERE / "README.md", HERE.parent / "README.md"
SCALE = HERE.parent / "docs" / "how-to" / "scale.md"


def read(name: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((HERE / name).read_text(encoding="utf-8"))
    return result


#: A section → the JSON it is written from, how, and on which page.
TABLES: dict[str, tuple[str, Callable[[dict[str, Any]], str], Path]] = {
    "start": ("cost/start.json", of_costs.start, BENCHMARKS),
    "engines": ("cost/engines.json", of_costs.engines, SCALE),
    "capture": ("cost/capture.json", of_costs.capture, BENCHMARKS),
    "probe": ("cost/probe.json", of_costs.probe, BENCHMARKS),
    "views": ("pages/views.json", of_pages.views, BENCHMARKS),
    "opening": ("pages/opening.json", of_pages.opening, BENCHMARKS),
    "gallery": ("pages/gallery.json", of_pages.gallery, BENCHMARKS),
    "corpus": ("cost/corpus.json", of_costs.corpus, BENCHMARKS),
    "gpu": ("cost/gpu.json", of_costs.gpu, BENCHMARKS),
    "grammar": ("cost/grammar.json", of_costs.grammar, BENCHMARKS),
    "space": ("cost/space.json", of_costs.space, BENCHMARKS),
    "space_view": ("pages/space_view.json", of_pages.space_view, BENCHMARKS),
    "app": ("pages/app.json", of_pages.app, BENCHMARKS),
    "two_apps": ("pages/two_apps.json", of_pages.two_apps, BENCHMARKS),
    "clicks": ("pages/clicks.json", of_pages.clicks, BENCHMARKS),
    "causes": ("cost/causes.json", of_costs.causes, BENCHMARKS),
    "switched_off": ("cost/switched_off.json", of_costs.switched_off, BENCHMARKS),
    "peers_causes": ("peers/causes.json", of_peers.causes, BENCHMARKS),
    "comparison": ("pages/views.json", of_pages.comparison, README),
}


def section_text(name: str) -> str:
    """The table of a section, and where its numbers come from."""
    file, table, _ = TABLES[name]
    data = read(file)
    return f"{table(data)}\n\n{made_line(data.get('made_with'))}"


def write() -> None:
    """Every table whose JSON is there; one that was never measured keeps what stands."""
    for name, (file, _, page) in TABLES.items():
        if (HERE / file).exists():
            put_section(name, section_text(name), page, origin=None)


if __name__ == "__main__":
    write()
