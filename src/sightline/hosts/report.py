"""A run as a folder of files and one self-contained page: every figure, what it means, and the heads worth a look."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path

from sightline.capture.files import write_whole
from sightline.errors import StorageError
from sightline.hosts.report_text import MEANING, STYLE, TITLES
from sightline.plots.figures import available
from sightline.plots.style import provenance
from sightline.results.notable import Notable, notable_heads
from sightline.results.run import ABOUT, EXAMPLE, TABLES, Run
from sightline.text.printable import printable

FIGURES, VIEWS, REPORT = "figures", "views", "report.html"
#: Nothing may be requested from anywhere; Plotly draws with inline styles and makes pictures of its own.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def save_run(run: Run, folder: Path) -> Path:
    """Write everything, run.json last: a folder with run.json is a finished run."""
    try:
        for part in (folder, folder / TABLES, folder / FIGURES, folder / VIEWS):
            part.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written ({error.strerror}).", "Choose another place, or make room.") from error
    for name, table in run.tables.items():
        table.save(folder / TABLES / f"{name}.csv")
    names = available(run)
    drawn = {name: run.figure(name) for name in names}
    for name, figure in drawn.items():
        page = figure.to_html(full_html=True, include_plotlyjs=True, config=_config(name))
        write_whole(folder / FIGURES / f"{name}.html", [_with_policy(page, TITLES[name]).encode()])
    heads = notable_heads(run)
    linked = _save_views(run, heads, folder)
    divs = {
        name: figure.to_html(full_html=False, include_plotlyjs=False, config=_config(name), div_id=f"figure-{name}")
        for name, figure in drawn.items()
    }
    write_whole(folder / REPORT, (part.encode() for part in _report(run, divs, heads, linked)))
    about = {**run.about, "tables": list(run.tables), "figures": names}
    write_whole(folder / ABOUT, [json.dumps(about, indent=1, ensure_ascii=False).encode(), b"\n"])
    return folder / REPORT


def _config(name: str) -> dict[str, object]:
    return {"displaylogo": False, "responsive": True, "toImageButtonOptions": {"format": "svg", "filename": name}}


def _with_policy(page: str, title: str) -> str:
    head = (
        f'<head><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{html.escape(title)}</title>'
    )
    return "<!doctype html>\n" + page.replace("<html>", '<html lang="en">', 1).replace("<head>", head, 1)


def _save_views(run: Run, heads: list[Notable], folder: Path) -> set[str]:
    """A head view of the example for each of these heads; which of them could be written."""
    if run.example is None:
        return set()
    from sightline.views import head_view

    run.example.save(folder / EXAMPLE)
    written = set()
    for head in heads:
        stack = head.stack or next(iter(run.example.stacks))
        if head.layer not in run.example.stacks[stack].layers:
            continue
        head_view(run.example, stack=stack, layer=head.layer, heads=[head.head], layers=[head.layer]).save(
            folder / VIEWS / f"{head.file}.html"
        )
        written.add(head.file)
    return written


def _report(run: Run, figures: dict[str, str], heads: list[Notable], linked: set[str]) -> Iterator[str]:
    from plotly.offline import get_plotlyjs

    name = html.escape(printable(str(run.about["model"]["name"])))
    yield (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{name} · attention report · sightline</title>\n<style>{STYLE}</style>\n"
    )
    yield f"<script>{get_plotlyjs().replace('</script', chr(92) + 'x3c/script')}</script>\n</head>\n<body>\n<main>\n"
    yield f"<h1>What {name} looks at</h1>\n<p class=quiet>{html.escape(printable(provenance(run)))}</p>\n"
    yield _notices(run)
    yield "<p>Attention shows where information may flow, not why the model decided. Heads are named layer·head, both from zero.</p>\n"
    if heads:
        yield "<h2>Heads worth a look</h2>\n<table>\n"
        yield "<thead><tr><th>head</th><th>what stands out</th><th>on an example</th></tr></thead>\n<tbody>\n"
        for head in heads:
            link = f'<a href="{VIEWS}/{head.file}.html">look at it</a>' if head.file in linked else "—"
            yield f"<tr><td class=mono>{html.escape(head.name)}</td><td>{html.escape(head.why)}</td><td>{link}</td></tr>\n"
        yield "</tbody>\n</table>\n"
    for figure, div in figures.items():
        yield f"<section>\n<h2>{html.escape(TITLES[figure])}</h2>\n<p>{html.escape(MEANING[figure])}</p>\n"
        yield f"<div class=figure>{div}</div>\n</section>\n"
    about = _lines(json.dumps(dict(run.about), indent=1, ensure_ascii=False))
    yield f"<h2>Where these numbers come from</h2>\n<pre>{about}</pre>\n</main>\n</body>\n</html>\n"


def _notices(run: Run) -> str:
    """What was left out, counted: nothing is dropped in silence."""
    counts = run.about["counts"]
    lines = [f"{name}: {reason}" for name, reason in run.about.get("left_out", {}).items()]
    if counts.get("too_long"):
        lines.append(
            f"{counts['too_long']:,} of {counts['documents']:,} documents were too long for the model and are not in these numbers."
        )
    if counts.get("unreadable"):
        lines.append(f"{counts['unreadable']:,} of {counts['documents']:,} documents could not be tokenised and are not in these numbers.")
    for what in ("distances", "importance"):
        if number := counts.get(f"too_long_for_{what}"):
            lines.append(f"{number:,} of {counts['texts']:,} texts are too long for {what}, and missing there alone.")
    return "".join(f"<p class=notice>{_lines(line)}</p>\n" for line in lines)


def _lines(text: str) -> str:
    """Text of several lines, harmless in a page."""
    return "\n".join(html.escape(printable(line)) for line in text.splitlines())
