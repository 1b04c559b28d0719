"""The report of a run folder: figures and head views as pages of their own, and one page without a server with every kind of run."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eyeline.figures import FIGURES as CATALOGUE
from eyeline.figures import available, figure, record_of
from eyeline.heads import PATTERN_OF_PAGES, STACKS, HeadRef
from eyeline.kinds import RUNS
from eyeline.look.views.head import head_view
from eyeline.measure.causes.options import CircuitOptions
from eyeline.measure.heads.profile import Notable, notable_heads
from eyeline.measure.probes.figures import training_notes
from eyeline.measure.runs.facts import facts_to_json
from eyeline.measure.runs.figure import Style, formula_html, provenance
from eyeline.measure.runs.run import Run, left_out, open_run
from eyeline.measure.runs.table import Table
from eyeline.measure.space.stack import WordTable, gauge_rows, gauges_table
from eyeline.storage.files import make_folder, path_in, within, write_whole
from eyeline.text.corpora.mentions import GROUPS
from eyeline.text.tokenized import printable
from eyeline.words import Words

if TYPE_CHECKING:
    from eyeline.measure.runs.table import Cell


# ---- The files of the report


FIGURES, REPORT = "figures", "report.html"

#: The texts of nodes and cells that stand for a head are its label; Plotly fills in plot_id.
OPEN_HEAD = """
const figure = document.getElementById("{plot_id}");
const headOf = ({points}) => /^HEAD$/.test(points[0]?.text ?? "") ? points[0].text : null;
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
        make_folder(within(folder, folder / name))
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
        "<style>.plotly-graph-div { min-width: 720px }</style>"  # a phone scrolls sideways, as in the report
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
    return OPEN_HEAD.replace("HEAD", PATTERN_OF_PAGES).replace("PAGE", page)


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
    """Remove figures of a run that was replaced. Files that are not ours stay: our pages have our policy."""
    known = {name for base in CATALOGUE for name in (base, *(f"{base}_{stack}" for stack in STACKS))}
    for path in (folder / FIGURES).glob("*.html"):
        if path.stem in known and path.stem not in figures and POLICY.encode() in path.read_bytes():
            path.unlink(missing_ok=True)


# ---- The page


#: Kind of run → the interactive page that its command writes into the folder.
PAGES = {kind.name: kind.page for kind in RUNS.values() if kind.page}

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
    for figure_name, div in part.figures.items():
        record, stack = record_of(figure_name)
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
    if isinstance(options := run.facts.options, CircuitOptions):
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
        words("report.left_out.analysis", name=_analysis(name, words), reason=words.of(reason))
        for name, reason in run.facts.left_out.items()
    ]
    lines += [words("report.synthetic")] if run.facts.corpus.synthetic else []
    lines += [*left_out(run, words), *training_notes(run, words), *map(words.of, run.facts.notices)]
    return "".join(f"<p class=notice>{_lines(line)}</p>\n" for line in lines)


def _analysis(name: str, words: Words) -> str:
    """The title of a missing result: that of its figure, else of its part of the report, else its name."""
    return words.messages.get(f"figure.{name}.title") or words.messages.get(f"report.part.{name}") or name


def _plain(text: str) -> str:
    return html.escape(printable(text))


def _lines(text: str) -> str:
    """Text of several lines, harmless in a page."""
    return "\n".join(_plain(line) for line in text.splitlines())


# ---- Tables that the page prints (its words: eyeline/words/*/report.toml)


PERCENT = "{:.1f} %"

#: Tables that the report prints → their columns, and how a number of each is written. `head` is the label of the row's layer and head.
TABLES: dict[str, dict[str, str]] = {
    "syntax": {
        "relation": "", "count": "{:,}", "head": "", "direction": "", "accuracy": PERCENT, "accuracy_held_out": PERCENT,
        "baseline": PERCENT, "offset": "{:+d}", "baseline_any": PERCENT, "offset_any": "{:+d}",
    },
    "coreference": {"method": "", "head": "", **dict.fromkeys(GROUPS, "{:.1f}"), "n": "{:,}"},
    "probes": {
        "probe": "", "uas": PERCENT, "low": PERCENT, "high": PERCENT, "uas_with_punctuation": PERCENT, "spread": "{:.2f}", "n": "{:,}",
        "epochs": "",
    },
}  # fmt: skip


def column_title(words: Words, column: str) -> str:
    """The title of a column of a printed table."""
    return words.messages.get(f"report.column.{column}") or words.name("mention", column)


def cell_text(words: Words, column: str, row: dict[str, Cell], form: str) -> str:
    """A cell of a printed table; a dash for an unknown number."""
    from eyeline.measure.probes.figures import epochs_text, label_of  # with Plotly, which `eyeline --help` need not import

    value = row[column]
    if value == "" or value != value:
        return "—"
    if column == "epochs":
        return epochs_text(row)
    if column == "head":
        return str(HeadRef.of_row(row))
    if column == "probe":
        return label_of(words, str(value))
    if column in ("direction", "method", "relation"):
        return words.name(column, str(value))
    return form.format(value) if form else str(value)


# ---- Its style


STYLE = """
:root { color-scheme: light }
body { margin: 0; background: #ffffff; color: #1a1d23; font: 14px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif }
main { max-width: 1100px; margin: 0 auto; padding: 24px 16px 64px }
h1, h2 { font-size: 20px; line-height: 1.3; margin: 40px 0 8px }
h1 { margin-top: 0 }
p { max-width: 70ch; margin: 8px 0 }
a { color: #2563eb; display: inline-block; padding: 12px 0 }
.quiet { color: #5b6472 }
.notice { border-left: 3px solid #ba6412; padding-left: 12px; white-space: pre-line }
.formula { font-size: 12px; color: #5b6472; max-width: 90ch }
.formula span { font-size: 14px; color: #1a1d23; margin-right: 12px }
.mono, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-variant-numeric: tabular-nums }
table { border-collapse: collapse; margin: 8px 0 }
th { text-align: left; font-weight: 600 }
th, td a { white-space: nowrap }
:is(p, td):lang(ko) { word-break: keep-all; overflow-wrap: anywhere }
:is(p, td):lang(ja) { line-break: strict; word-break: auto-phrase }
th, td { padding: 0 24px 0 0; border-bottom: 1px solid #d9dde3; height: 44px }
.part + .part { border-top: 1px solid #d9dde3; margin-top: 48px; padding-top: 32px }
.wide { overflow-x: auto }
.numbers td, .numbers th { height: 32px; white-space: nowrap; font-variant-numeric: tabular-nums }
nav { margin: 8px 0 }
.figure { width: 100%; overflow-x: auto }
.figure .plotly-graph-div { min-width: 720px }
.figure.space_pairs .plotly-graph-div { min-width: 1060px }
pre { font-size: 12px; overflow: auto; max-height: 320px; border-top: 1px solid #d9dde3; border-bottom: 1px solid #d9dde3; padding: 8px 0 }
"""
