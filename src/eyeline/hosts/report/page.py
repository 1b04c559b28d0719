"""The report: one page without a server, with every kind of run that a folder holds."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from eyeline.hosts.report.text import PAGES, STYLE, TABLES, cell_text, column_title
from eyeline.plots.figures import record_of
from eyeline.plots.formula import formula_html
from eyeline.plots.probes.training_notes import training_notes
from eyeline.plots.space.gauges import WordTable, gauges_table
from eyeline.plots.style import provenance
from eyeline.results.facts import CircuitOptions
from eyeline.results.facts_json import facts_to_json
from eyeline.results.left_out import left_out
from eyeline.results.notable import Notable
from eyeline.results.run import Run
from eyeline.results.space.gauge_row import gauge_rows
from eyeline.results.table import Table
from eyeline.text.printable import printable
from eyeline.words import Words

VIEWS = "views"
#: Nothing may be requested from anywhere; Plotly draws with inline styles and makes pictures of its own.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "base-uri 'none'; form-action 'none'"
)


@dataclass(frozen=True)
class ReportPart:
    """A run of one kind as the report shows it: its figures as HTML, its heads worth a look, and the files in which they can be seen;
    paged: whether the folder holds its interactive page."""

    kind: str
    run: Run
    figures: Mapping[str, str]
    heads: Sequence[Notable]
    links: Mapping[Notable, str]
    paged: bool = False


def report_page(parts: Sequence[ReportPart], words: Words) -> Iterator[str]:
    from plotly.offline import get_plotlyjs

    names = words("report.and").join(dict.fromkeys(_plain(part.run.facts.model.name) for part in parts))
    yield (
        f'<!doctype html>\n<html lang="{words.language}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{words('report.title', models=names)}</title>\n<style>{STYLE}</style>\n"
    )
    yield f"<script>{get_plotlyjs().replace('</script', chr(92) + 'x3c/script')}</script>\n</head>\n<body>\n<main>\n"
    yield f"<h1>{words('report.heading', models=names)}</h1>\n"
    if len(parts) > 1:
        links = (f'<a href="#part-{part.kind}">{_part_title(words, part)}</a>' for part in parts)
        yield f"<nav>{' · '.join(links)}</nav>\n"
    yield f"<p>{words('report.about')}</p>\n"
    for part in parts:
        yield from _part(part, words, titled=len(parts) > 1)
    yield f"<h2>{words('report.sources')}</h2>\n"
    for part in parts:
        yield f"<pre>{_lines(json.dumps(facts_to_json(part.run.facts), indent=1, ensure_ascii=False))}</pre>\n"
    yield "</main>\n</body>\n</html>\n"


def _part_title(words: Words, part: ReportPart) -> str:
    return html.escape(words(f"report.part.{part.kind}"))


def _part(part: ReportPart, words: Words, *, titled: bool) -> Iterator[str]:
    yield f'<div class=part id="part-{part.kind}">\n'
    if titled:
        yield f"<h1>{_part_title(words, part)}</h1>\n"
    yield f"<p class=quiet>{_plain(provenance(part.run, words))}</p>\n{_notices(part.run, words)}{_answer(part.run, words)}"
    if part.paged:
        link, about = (html.escape(words(f"report.page.{part.kind}{suffix}")) for suffix in ("", "_about"))
        yield f'<p><a href="{PAGES[part.kind]}">{link}</a><br>{about}</p>\n'
    if part.heads:
        yield from _heads(part, words)
    for name, table in part.run.tables.items():
        if name in TABLES and len(table):
            yield from _table(name, table, words)
        if name == "space_gauges" and len(table):
            yield from _word_table(name, gauges_table(gauge_rows(table), words))
    for figure, div in part.figures.items():
        record, stack = record_of(figure)
        yield f"<section>\n<h2>{html.escape(record.title(words, stack))}</h2>\n<p>{html.escape(record.meaning(words))}</p>\n"
        yield f"<p class=formula><span>{formula_html(record.formula)}</span> {formula_html(record.symbols(words))}</p>\n"
        yield f'<div class="figure {record.name}">{div}</div>\n</section>\n'
    yield "</div>\n"


def _heads(part: ReportPart, words: Words) -> Iterator[str]:
    titles = "".join(f"<th>{words(f'report.{name}')}</th>" for name in ("head", "reason", "example"))
    yield f"<h2>{words('report.heads')}</h2>\n<table>\n<thead><tr>{titles}</tr></thead>\n<tbody>\n"
    for head in part.heads:
        link = f'<a href="{VIEWS}/{part.links[head]}">{words("report.look")}</a>' if head in part.links else "—"
        yield f"<tr><td class=mono>{html.escape(head.head.full_label)}</td><td>{_plain(head.why(words))}</td><td>{link}</td></tr>\n"
    yield "</tbody>\n</table>\n"


def _table(name: str, table: Table, words: Words) -> Iterator[str]:
    columns = {column: form for column, form in TABLES[name].items() if column in table.columns}
    title, about = (html.escape(words(f"report.table.{name}{suffix}")) for suffix in ("", "_about"))
    yield f'<section id="table-{name}">\n<h2>{title}</h2>\n<p>{about}</p>\n'
    yield "<div class=wide><table class=numbers>\n<thead><tr>"
    yield "".join(f"<th>{html.escape(column_title(words, column))}</th>" for column in columns) + "</tr></thead>\n<tbody>\n"
    for row in table.rows():
        cells = (f"<td>{_plain(cell_text(words, column, row, form))}</td>" for column, form in columns.items())
        yield f"<tr>{''.join(cells)}</tr>\n"
    yield "</tbody>\n</table></div>\n</section>\n"


def _answer(run: Run, words: Words) -> str:
    """The model's answer to the example; of a circuit, also the difference of logits on its two texts."""
    lines = []
    if isinstance(run.facts.options, CircuitOptions):
        options = run.facts.options
        metrics = {name: f"{getattr(options, name):.2f}".replace("-", "−") for name in ("clean_metric", "corrupt_metric")}
        lines.append(
            words(
                "report.contrast", clean=options.clean, corrupt=options.corrupt, answer=options.answer, against=options.against, **metrics
            )
        )
    if run.example is not None and run.example.prediction is not None:
        text = " / ".join(next(iter(run.example.stacks.values())).query_text.sources)
        lines.append(words("report.answer", text=text, answer=str(run.example.prediction)))
    return "".join(f"<p class=answer>{_plain(line)}</p>\n" for line in lines)


def _word_table(name: str, table: WordTable) -> Iterator[str]:
    yield f'<section id="table-{name}">\n<h2>{html.escape(table.title)}</h2>\n<p>{html.escape(table.about)}</p>\n'
    yield "<div class=wide><table class=numbers>\n<thead><tr>"
    yield "".join(f"<th>{html.escape(column)}</th>" for column in table.columns) + "</tr></thead>\n<tbody>\n"
    for row in table.rows:
        yield f"<tr>{''.join(f'<td>{_plain(cell)}</td>' for cell in row)}</tr>\n"
    yield "</tbody>\n</table></div>\n</section>\n"


def _notices(run: Run, words: Words) -> str:
    """What was left out, and what else a reader of these numbers must know."""
    lines = [
        words("report.left_out.analysis", name=_analysis(name, words), reason=words.translated(reason))
        for name, reason in run.facts.left_out.items()
    ]
    lines += [words("report.synthetic")] if run.facts.corpus.synthetic else []
    lines += [*left_out(run, words), *training_notes(run, words), *map(words.translated, run.facts.notices)]
    return "".join(f"<p class=notice>{_lines(line)}</p>\n" for line in lines)


def _analysis(name: str, words: Words) -> str:
    """The title of a missing result: that of its figure, else of its part of the report, else its name."""
    return words.messages.get(f"figure.{name}.title") or words.messages.get(f"report.part.{name}") or name


def _plain(text: str) -> str:
    return html.escape(printable(text))


def _lines(text: str) -> str:
    """Text of several lines, harmless in a page."""
    return "\n".join(_plain(line) for line in text.splitlines())
