"""A run as a folder of files and one self-contained page: every figure, what it means, and the heads worth a look."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

from eyeline.errors import StorageError
from eyeline.hosts.report.page import POLICY, VIEWS, Part, report_page
from eyeline.hosts.report.text import PAGES, title_of
from eyeline.plots.figures import available
from eyeline.results.notable import Notable, notable_heads
from eyeline.results.run import ABOUT, TABLES, Run, example_file, files_of, open_parts
from eyeline.storage.files import write_whole

FIGURES, REPORT = "figures", "report.html"
#: A second save waits so many seconds for the first.
WAIT = 120


def save_run(run: Run, folder: Path) -> Path:
    """Write everything, run.json last: a folder with run.json is a finished run. What the folder holds of other kinds stays, and is
    shown in the same report."""
    with _only_writer(folder):
        there = (folder / ABOUT).is_file()
        before = files_of(folder, FIGURES) if there else set()
        kept = open_parts(folder, leave_out=list(run.parts)) if there else []
        whole = run.join(*kept)
        parts = [_save_part(kind, part, folder, written=kind in run.parts) for kind, part in whole.parts.items()]
        write_whole(folder / REPORT, (piece.encode() for piece in report_page(parts)))
        about = [{**part.run.about, "tables": list(part.run.tables), "figures": list(part.figures)} for part in parts]
        saved = about[0] if len(parts) == 1 else {"parts": {part.kind: one for part, one in zip(parts, about, strict=True)}}
        write_whole(folder / ABOUT, [json.dumps(saved, indent=1, ensure_ascii=False).encode(), b"\n"])
        _remove(folder, before, whole, parts)
    return folder / REPORT


@contextmanager
def _only_writer(folder: Path) -> Iterator[None]:
    """Two commands that end together write one after the other, so that neither's tables are lost."""
    try:
        for part in (folder, folder / TABLES, folder / FIGURES, folder / VIEWS):
            part.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(folder / ".save.lock")
        lock.acquire(timeout=WAIT)
    except filelock.Timeout as error:
        raise StorageError(f"{folder}: another run has been saving here for {WAIT} s.", "Wait for it, or choose another folder.") from error
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written ({error.strerror}).", "Choose another place, or make room.") from error
    try:
        yield
    finally:
        lock.release()


def _save_part(kind: str, run: Run, folder: Path, *, written: bool) -> Part:
    """The tables, figures and views of a run of one kind; what is only kept is drawn again for the report."""
    drawn = {name: run.figure(name) for name in available(run)}
    heads = notable_heads(run)
    if written:
        for name, table in run.tables.items():
            table.save(folder / TABLES / f"{name}.csv")
        for name, figure in drawn.items():
            page = figure.to_html(full_html=True, include_plotlyjs=True, config=_config(name))
            write_whole(folder / FIGURES / f"{name}.html", [_with_policy(page, title_of(name)).encode()])
        _save_views(kind, run, heads, folder)
    divs = {
        name: figure.to_html(full_html=False, include_plotlyjs=False, config=_config(name), div_id=f"figure-{name}")
        for name, figure in drawn.items()
    }
    links = {head: name for head in heads if (folder / VIEWS / (name := _view_file(kind, head))).is_file()}
    return Part(kind, run, divs, heads, links, paged=kind in PAGES and (folder / PAGES[kind][0]).is_file())


def _config(name: str) -> dict[str, object]:
    return {"displaylogo": False, "responsive": True, "toImageButtonOptions": {"format": "svg", "filename": name}}


def _with_policy(page: str, title: str) -> str:
    head = (
        f'<head><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{html.escape(title)}</title>'
    )
    return "<!doctype html>\n" + page.replace("<html>", '<html lang="en">', 1).replace("<head>", head, 1)


def _view_file(kind: str, head: Notable) -> str:
    return f"{'' if kind == 'analyse' else f'{kind}-'}{head.file}.html"


def _save_views(kind: str, run: Run, heads: list[Notable], folder: Path) -> None:
    """A head view of the example for each of these heads, where the example has its layer."""
    if run.example is None:
        return
    from eyeline.views import head_view

    run.example.save(folder / example_file(kind))
    for head in heads:
        stack = head.stack or next(iter(run.example.stacks))
        if head.layer in run.example.stacks[stack].layers:
            view = head_view(run.example, stack=stack, layer=head.layer, heads=[head.head], layers=[head.layer])
            view.save(folder / VIEWS / _view_file(kind, head))


def _remove(folder: Path, before: set[Path], whole: Run, parts: list[Part]) -> None:
    """What the run that was replaced had and this one has not."""
    figures = {name for part in parts for name in part.figures}
    for path in before:
        if path.stem not in (whole.tables if path.parent.name == TABLES else figures):
            (folder / path).unlink(missing_ok=True)
