"""The files that a visitor can save, as bytes: written in memory, or in a temporary folder that is deleted at once."""

from __future__ import annotations

import base64
import io
import tempfile
import threading
import zipfile
from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path

from eyeline.capture.trace import Trace
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.sharing.cache import Cache
from eyeline.plots.graph.attention_graph import attention_graph
from eyeline.plots.palette import head_colour
from eyeline.views.view import View

#: Weights below this are not drawn: they are hardly visible, and are most of the drawing time.
LEAST_WEIGHT = 0.01
#: matplotlib draws one picture at a time.
_drawing = threading.Lock()
_PICTURES = Cache(32_000_000)


def graph_file(say: Say, trace: Trace, key: tuple[Hashable, ...], ending: str) -> bytes:
    """The attention graph of one head, in its colour; `key`: model, texts, stack, layer and head."""
    stack, layer, head = str(key[-3]), int(str(key[-2])), int(str(key[-1]))

    def draw() -> bytes:
        with _drawing, tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"head.{ending}"
            colour, language = head_colour(head), say.language
            attention_graph(trace, layer, head, stack=stack, threshold=LEAST_WEIGHT, colour=colour, language=language).save(path)
            return path.read_bytes()

    return _PICTURES.get((key, ending, say.language), draw, len)


def drawn(svg: bytes) -> str:
    """An SVG file as an image's address: in an image nothing can run, whatever the tokens are."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"


def view_file(say: Say, view: Callable[[], View], ending: str) -> bytes:
    """The view as its reader has set it, as a picture."""
    with _drawing, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"view.{ending}"
        view().save(path, language=say.language)
        return path.read_bytes()


def page_file(say: Say, view: View) -> bytes:
    """The view as one page that works offline, in the language of the app."""
    return replace(view, language=say.language).html().encode()


def trace_file(trace: Trace) -> bytes:
    """The trace as `el.open` reads it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.safetensors"
        trace.save(path)
        return path.read_bytes()


def zipped(folder: Path, pattern: str) -> bytes:
    """The plain files of a folder that match, in one archive; links are left out."""
    archived = io.BytesIO()
    with zipfile.ZipFile(archived, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.glob(pattern)):
            if path.is_file() and not path.is_symlink() and path.resolve().is_relative_to(folder.resolve()):
                archive.write(path, path.relative_to(folder))
    return archived.getvalue()
