"""The report: one page without a server, with every kind of run that a folder holds."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from eyeline.hosts.report.text import PAGES, PARTS, SHOWN, STYLE, Shown
from eyeline.plots.figures import record_of
from eyeline.plots.formula import formula_html
from eyeline.plots.style import provenance
from eyeline.results.facts_json import facts_to_json
from eyeline.results.left_out import left_out
from eyeline.results.notable import Notable
from eyeline.results.run import Run
from eyeline.results.table import Cell, Table
from eyeline.text.printable import printable
from eyeline.words import Words

VIEWS = "views"
#: Nothing may be requested from anywhere; Plotly draws with inline styles and makes pictures of its own.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "base-uri 'none'; form-action 'none'"
)


@dataclass(frozen=True)
class Part:
    """A run of one kind as the report shows it: its figures as HTML, its heads worth a look, and the files in which they can be seen;
    paged: whether the folder holds its interactive page."""

    kind: str
    run: Run
    figures: Mapping[str, str]
    heads: Sequence[Notable]
    links: Mapping[Notable, str]
    paged: bool = False


def report_page(parts: Sequence[Part]) -> Iterator[str]:
    from plotly.offline import get_plotlyjs

    names = " and ".join(dict.fromkeys(_plain(str(part.run.facts.model.name)) for part in parts))
    yield (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{names} · attention report · eyeline</title>\n<style>{STYLE}</style>\n"
    )
    yield f"<script>{get_plotlyjs().replace('</script', chr(92) + 'x3c/script')}</script>\n</head>\n<body>\n<main>\n"
    yield f"<h1>What {names} looks at</h1>\n"
    if len(parts) > 1:
        links = (f'<a href="#part-{part.kind}">{_plain(PARTS.get(part.kind, part.kind))}</a>' for part in parts)
        yield f"<nav>{' · '.join(links)}</nav>\n"
    yield "<p>Attention shows where information may flow, not why the model decided. Heads are named layer·head, both from zero.</p>\n"
    for part in parts:
        yield from _part(part, titled=len(parts) > 1)
    yield "<h2>Where these numbers come from</h2>\n"
    for part in parts:
        yield f"<pre>{_lines(json.dumps(facts_to_json(part.run.facts), indent=1, ensure_ascii=False))}</pre>\n"
    yield "</main>\n</body>\n</html>\n"


def _part(part: Part, *, titled: bool) -> Iterator[str]:
    words = Words()
    yield f'<div class=part id="part-{part.kind}">\n'
    if titled:
        yield f"<h1>{_plain(PARTS.get(part.kind, part.kind))}</h1>\n"
    yield f"<p class=quiet>{_plain(provenance(part.run, words))}</p>\n{_notices(part.run)}"
    if part.paged:
        file, link, said = PAGES[part.kind]
        yield f'<p><a href="{file}">{html.escape(link)}</a><br>{html.escape(said)}</p>\n'
    if part.heads:
        yield "<h2>Heads worth a look</h2>\n<table>\n"
        yield "<thead><tr><th>head</th><th>what stands out</th><th>on an example</th></tr></thead>\n<tbody>\n"
        for head in part.heads:
            link = f'<a href="{VIEWS}/{part.links[head]}">look at it</a>' if head in part.links else "—"
            yield f"<tr><td class=mono>{html.escape(head.name)}</td><td>{_plain(head.why)}</td><td>{link}</td></tr>\n"
        yield "</tbody>\n</table>\n"
    for name, table in part.run.tables.items():
        if name in SHOWN and len(table):
            yield from _table(name, table, SHOWN[name])
    for figure, div in part.figures.items():
        record, stack = record_of(figure)
        yield f"<section>\n<h2>{html.escape(record.title(words, stack))}</h2>\n<p>{html.escape(record.meaning(words))}</p>\n"
        symbols = formula_html(record.symbols(words))
        yield f"<p class=formula><span>{formula_html(record.formula)}</span> {symbols}</p>\n"
        yield f"<div class=figure>{div}</div>\n</section>\n"
    yield "</div>\n"


def _table(name: str, table: Table, shown: Shown) -> Iterator[str]:
    columns = [column for column in shown.columns if column in table.columns]
    yield f'<section id="table-{name}">\n<h2>{html.escape(shown.title)}</h2>\n<p>{html.escape(shown.meaning)}</p>\n'
    yield "<div class=wide><table class=numbers>\n<thead><tr>"
    yield "".join(f"<th>{html.escape(column.replace('_', ' '))}</th>" for column in columns) + "</tr></thead>\n<tbody>\n"
    for row in table.rows():
        cells = (f"<td>{_cell(row[column], shown.columns[column])}</td>" for column in columns)
        yield f"<tr>{''.join(cells)}</tr>\n"
    yield "</tbody>\n</table></div>\n</section>\n"


def _cell(value: Cell, form: str) -> str:
    if value == "" or value != value:  # an unknown number
        return "—"
    return _plain(form.format(value) if form else str(value))


def _notices(run: Run) -> str:
    """What was left out, and what else must be known of these numbers."""
    lines = [f"{name}: {reason}" for name, reason in run.facts.left_out.items()]
    lines += [*left_out(run), *run.facts.notices]
    return "".join(f"<p class=notice>{_lines(line)}</p>\n" for line in lines)


def _plain(text: str) -> str:
    return html.escape(printable(text))


def _lines(text: str) -> str:
    """Text of several lines, harmless in a page."""
    return "\n".join(_plain(line) for line in text.splitlines())
