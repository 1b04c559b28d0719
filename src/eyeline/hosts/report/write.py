"""The report of a run folder: figures and head views as pages of their own, and one page with everything."""

from __future__ import annotations

import html
from pathlib import Path

from eyeline.capture.stack import STACKS
from eyeline.hosts.report.page import POLICY, VIEWS, ReportPart, report_page
from eyeline.hosts.report.text import PAGES
from eyeline.plots.figures import FIGURES as CATALOGUE
from eyeline.plots.figures import available, figure, record_of
from eyeline.plots.style import Style
from eyeline.results.notable import Notable, notable_heads
from eyeline.results.run import Run, open_run
from eyeline.storage.files import make_folder, write_whole
from eyeline.storage.names import path_in
from eyeline.views import head_view
from eyeline.words import Words

FIGURES, REPORT = "figures", "report.html"
#: The texts of nodes and cells that stand for a head are its label; Plotly fills in plot_id.
OPEN_HEAD = """
const figure = document.getElementById("{plot_id}");
const headOf = ({points}) => /^(encoder |decoder |cross )?L\\d+·H\\d+$/.test(points[0]?.text ?? "") ? points[0].text : null;
const point = (cursor) => figure.querySelectorAll(".nsewdrag").forEach((area) => { area.style.cursor = cursor; });
figure.on("plotly_click", (event) => { if (headOf(event)) location.href = "PAGE#" + encodeURIComponent(headOf(event)); });
figure.on("plotly_hover", (event) => point(headOf(event) ? "pointer" : ""));
figure.on("plotly_unhover", () => point(""));
"""


def write_report(folder: str | Path, language: str = "en") -> Path:
    """Read a run folder and write figures/*.html, views/*.html and report.html into it; the report's path.

    language   of figures, views and report: en, ja or ko
    """
    words = Words(language)
    folder = Path(folder)
    run = open_run(folder)
    for name in (FIGURES, VIEWS):
        make_folder(folder / name)
    parts = [_write_part(kind, part, folder, words) for kind, part in run.parts.items()]
    write_whole(folder / REPORT, (piece.encode() for piece in report_page(parts, words)))
    _remove_old(folder, {name for part in parts for name in part.figures})
    return folder / REPORT


def _write_part(kind: str, run: Run, folder: Path, words: Words) -> ReportPart:
    """The figures and views of a run of one kind."""
    figures = {name: figure(run, name, Style(words)) for name in available(run)}
    heads = notable_heads(run)
    page_of_heads = _write_page_of_heads(kind, run, folder, words)
    for name, drawn in figures.items():
        record, stack = record_of(name)
        click = _open_head(f"../{page_of_heads}") if page_of_heads else None
        page = drawn.to_html(full_html=True, include_plotlyjs=True, config=_config(name), post_script=click)
        write_whole(folder / FIGURES / f"{name}.html", [_with_policy(page, record.title(words, stack), words.language).encode()])
    links = _write_views(kind, run, heads, folder, words)
    divs = {
        name: drawn.to_html(
            full_html=False,
            include_plotlyjs=False,
            config=_config(name),
            div_id=f"figure-{name}",
            post_script=_open_head(page_of_heads) if page_of_heads else None,
        )
        for name, drawn in figures.items()
    }
    return ReportPart(kind, run, divs, heads, links, paged=kind in PAGES and (folder / PAGES[kind]).is_file())


def _config(name: str) -> dict[str, object]:
    return {"displaylogo": False, "responsive": True, "toImageButtonOptions": {"format": "svg", "filename": name}}


def _with_policy(page: str, title: str, language: str) -> str:
    head = (
        f'<head><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{html.escape(title)}</title>'
    )
    return "<!doctype html>\n" + page.replace("<html>", f'<html lang="{language}">', 1).replace("<head>", head, 1)


def _view_file(kind: str, head: Notable) -> str:
    return f"{'' if kind == 'analyse' else f'{kind}-'}{head.file}.html"


def _write_page_of_heads(kind: str, run: Run, folder: Path, words: Words) -> str:
    """One page with all heads on the text of a circuit: a click on a node opens it there. Its path; empty for other runs."""
    if kind != "circuit" or run.example is None:
        return ""
    head_view(run.example, language=words.language).save(path_in(folder / VIEWS, f"{kind}.html"))
    return f"{VIEWS}/{kind}.html"


def _open_head(page: str) -> str:
    """A click on a node or a cell that stands for a head opens that head."""
    return OPEN_HEAD.replace("PAGE", page)


def _write_views(kind: str, run: Run, heads: list[Notable], folder: Path, words: Words) -> dict[Notable, str]:
    """A head view of the example for each of these heads, where the example has its layer; the file of each."""
    links: dict[Notable, str] = {}
    if run.example is None:
        return links
    for head in heads:
        stack, layer = head.head.stack or next(iter(run.example.stacks)), head.head.layer
        if stack in run.example.stacks and layer in run.example.stacks[stack].layers:
            links[head] = _view_file(kind, head)
            view = head_view(run.example, stack=stack, layer=layer, heads=[head.head.head], layers=[layer], language=words.language)
            view.save(path_in(folder / VIEWS, links[head]))
    return links


def _remove_old(folder: Path, figures: set[str]) -> None:
    """Remove figures of a run that was replaced. Files that are not ours stay."""
    known = {name for base in CATALOGUE for name in (base, *(f"{base}_{stack}" for stack in STACKS))}
    for path in (folder / FIGURES).glob("*.html"):
        if path.stem in known and path.stem not in figures:
            path.unlink(missing_ok=True)
