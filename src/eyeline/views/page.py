"""A view as one self-contained HTML file: nothing is fetched, nothing in the data can run."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eyeline.errors import StorageError
from eyeline.storage.files import write_whole
from eyeline.storage.names import as_path
from eyeline.text.printable import printable
from eyeline.views import code
from eyeline.views.data import ViewData
from eyeline.views.pictures.paint import painted
from eyeline.views.pictures.still import SAVED, still
from eyeline.words import LANGUAGES, Words

PICTURES = (".svg", ".pdf", ".png")
DECLARATION = b'<?xml version="1.0" encoding="utf-8"?>\n'
#: Nothing may be requested, from anywhere; pictures that the page itself makes are data or blob.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "worker-src blob:; base-uri 'none'; form-action 'none'"
)
STYLE = """
:root { color-scheme: light dark; --ground: #ffffff; --ink: #1a1d23 }
@media (prefers-color-scheme: dark) { :root { --ground: #0f1115; --ink: #e6e8ec } }
:root[data-theme=light] { color-scheme: light; --ground: #ffffff; --ink: #1a1d23 }
:root[data-theme=dark] { color-scheme: dark; --ground: #0f1115; --ink: #e6e8ec }
body { margin: 0; padding: 16px; background: var(--ground); color: var(--ink); font: 14px system-ui, sans-serif }
"""
NO_SCRIPT = "This page draws attention with JavaScript, which is switched off here. It loads nothing from the network."


def page(view: ViewData) -> str:
    """The page as a string."""
    return b"".join(chunks(view, view.language)).decode()


def save(view: ViewData, path: str | Path, language: str | None = None) -> None:
    """Write a page (.html), or a picture of what the state shows (.svg, .pdf, .png); whole or not at all.

    language   of the page, or of the line under a picture that says how it was made: en, ja or ko; else that of the view
    """
    language = language or view.language
    if language not in LANGUAGES:
        raise StorageError(f"language={language!r}.", f"Choices: {', '.join(LANGUAGES)}.")
    ending = as_path(path).suffix.lower()
    if ending in (".html", ".htm"):
        write_whole(path, chunks(view, language))
    elif ending in PICTURES:
        drawn = still(view, SAVED, language)
        write_whole(path, [DECLARATION + drawn.encode() if ending == ".svg" else painted(drawn, ending[1:])])
    else:
        raise StorageError(
            f"{path}: a view cannot be written as {ending or 'a nameless format'}.", f"Choices: .html, {', '.join(PICTURES)}."
        )


def chunks(view: ViewData, language: str) -> Iterator[bytes]:
    """The page in pieces, one array at a time, so that large arrays are not copied. The page's code has the English labels already."""
    title = html.escape(printable(f"{view.spec['model']} · {view.kind} view · eyeline"))
    theme = html.escape(str(view.spec["state"].get("theme", "system")))
    yield (
        f'<!doctype html>\n<html lang="{language}" data-theme="{theme}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n'
        f'<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<noscript>{NO_SCRIPT}</noscript>\n<main id="view"></main>\n'
        f'<script type="application/json" id="eyeline-view">'
    ).encode()
    yield from data_chunks(view, language)
    yield f'</script>\n<script type="module">\n{code.code_of(view.kind, "page")}</script>\n</body>\n</html>\n'.encode()


def data_chunks(view: ViewData, language: str) -> Iterator[bytes]:
    """The view as JSON that is safe inside a script, in pieces; with the labels of the page, where its language is not English."""
    labels = "" if language == "en" else f'"labels":{inert(Words(language).part("view"))},'
    yield f'{{"kind":{inert(view.kind)},{labels}"spec":{inert(view.spec)},"arrays":{{'.encode()
    for number, (name, array) in enumerate(view.arrays.items()):
        header = inert(array.header())
        yield f'{"," if number else ""}{inert(name)}:{header[:-1]},"data":"'.encode()
        yield base64.b64encode(array.data)
        yield b'"}'
    yield b"}}"


def frame(page: str) -> str:
    """A page in a sandboxed frame, where its scripts cannot reach the page around it."""
    return (
        '<iframe sandbox="allow-scripts allow-downloads allow-popups" style="width:100%;height:720px;border:0" '
        f'srcdoc="{html.escape(page)}"></iframe>'
    )


def inert(value: Any) -> str:
    """JSON that is safe inside a script element, whatever the tokens are.

    >>> inert("</script><!--")
    '"\\\\u003c/script>\\\\u003c!--"'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)
