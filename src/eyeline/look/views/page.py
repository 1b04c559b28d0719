"""A view as one self-contained HTML file: nothing is fetched, nothing in the data can run. Also its parts, for hosts of their own."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from eyeline.errors import StorageError
from eyeline.kinds import VIEWS
from eyeline.look.palette import DARK_PAGE, LIGHT_PAGE
from eyeline.look.views.data import Encoded, ViewData
from eyeline.look.views.paint import painted
from eyeline.look.views.still import SAVED, still
from eyeline.storage.files import as_path, write_whole
from eyeline.text.tokenized import printable
from eyeline.words import Words, check_language

# ---- The front end's code: files built from frontend/, which are joined end to end (frontend/build.mjs says how)


def code_of(kind: str, host: str) -> str:
    """Everything that one view needs in a host of its own: the core, the view and the host."""
    return joined("core", *VIEWS[kind].code, host)


def joined(*names: str) -> str:
    """Built files in this order, as one script."""
    return "\n".join(built(name) for name in names)


@lru_cache(maxsize=16)
def built(name: str) -> str:
    """The code of a built file of the front end."""
    try:
        return files("eyeline.look.views").joinpath("static", f"{name}.js").read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise StorageError(
            f"The front end is missing: eyeline/look/views/static/{name}.js.", "Run `make frontend`, or reinstall."
        ) from error


# ---- The page, and pictures of it


PICTURES = (".svg", ".pdf", ".png")

DECLARATION = b'<?xml version="1.0" encoding="utf-8"?>\n'

#: Nothing may be requested, from anywhere; pictures that the page itself makes are data or blob.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "worker-src blob:; base-uri 'none'; form-action 'none'"
)

LIGHT, DARK = (f"--ground: {colours.ground}; --ink: {colours.text}" for colours in (LIGHT_PAGE, DARK_PAGE))

STYLE = f"""
:root {{ color-scheme: light dark; {LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {DARK} }} }}
:root[data-theme=light] {{ color-scheme: light; {LIGHT} }}
:root[data-theme=dark] {{ color-scheme: dark; {DARK} }}
body {{ margin: 0; padding: 16px; background: var(--ground); color: var(--ink); font: 14px system-ui, sans-serif }}
@media (max-width: 560px) {{ body {{ padding: 4px }} }}
@media print {{ body {{ padding: 0 }} }}
"""


def save(view: ViewData, path: str | Path, language: str | None = None) -> None:
    """Write a page (.html), or a picture of what the state shows (.svg, .pdf, .png); whole or not at all.

    language   of the page, or of the line under a picture that says how it was made: en, ja or ko; else that of the view
    """
    language = language or view.language
    check_language(language)
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


def page(view: ViewData) -> str:
    """The page as a string."""
    return b"".join(chunks(view, view.language)).decode()


def chunks(view: ViewData, language: str) -> Iterator[bytes]:
    """The page in pieces, one array at a time, so that large arrays are not copied. The page's code has the English labels already.

    The code stands behind the arrays that the first drawing needs and before the others: it runs as soon as the browser has read it.
    """
    words = Words(language)
    title = html.escape(printable(words(f"page.title.{view.kind}", model=view.spec["model"])))
    no_script = html.escape(words("page.no_script"))
    theme = html.escape(str(view.spec["state"].get("theme", "system")))
    yield (
        f'<!doctype html>\n<html lang="{language}" data-theme="{theme}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n'
        f'<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<noscript>{no_script}</noscript>\n<main id="view"></main>\n'
        f'<script type="application/json" id="eyeline-view">'
    ).encode()
    first = first_arrays(view)
    yield from data_chunks(view, language, first)
    yield f"</script>\n<script>\n{code_of(view.kind, 'page')}</script>\n".encode()
    if len(first) < len(view.arrays):
        yield b'<script type="application/json" id="eyeline-arrays">'
        yield from array_chunks({name: array for name, array in view.arrays.items() if name not in first})
        yield b"</script>\n"
    yield b"</body>\n</html>\n"


def first_arrays(view: ViewData) -> set[str]:
    """Names of the arrays that the first drawing needs: the browser draws it before it has read the others."""
    if not VIEWS[view.kind].by_layer:
        return set(view.arrays)
    state = view.spec["state"]
    layers = [layer for stack in view.spec["stacks"] for layer in stack["layers"]]
    now = view.spec["stacks"][state["stack"]]["layers"]
    shown = [now[index] for index in {state["layer"], *state.get("combine_layers", ())}]
    return set(view.arrays) - set(names_in(layers)) | set(names_in(shown))


def names_in(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Every text in the records of layers: the names of their arrays are among them."""
    for record in records:
        for value in record.values():
            yield from (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str))


def data_chunks(view: ViewData, language: str, names: Container[str] | None = None) -> Iterator[bytes]:
    """The view as JSON, in pieces, with all its arrays or those of these names; and the labels of a page that is not in English."""
    labels = "" if language == "en" else f'"labels":{inert(Words(language).part("view"))},'
    yield f'{{"kind":{inert(view.kind)},{labels}"spec":{inert(view.spec)},"arrays":'.encode()
    yield from array_chunks({name: array for name, array in view.arrays.items() if names is None or name in names})
    yield b"}"


def array_chunks(arrays: Mapping[str, Encoded]) -> Iterator[bytes]:
    """Arrays as JSON that is safe inside a script, in pieces."""
    yield b"{"
    for number, (name, array) in enumerate(arrays.items()):
        header = inert(array.header())
        yield f'{"," if number else ""}{inert(name)}:{header[:-1]},"data":"'.encode()
        yield base64.b64encode(array.data)
        yield b'"}'
    yield b"}"


def inert(value: Any) -> str:
    """JSON that is safe inside a script element, whatever the tokens are.

    >>> inert("</script><!--")
    '"\\\\u003c/script>\\\\u003c!--"'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


def frame(page: str) -> str:
    """A page in a sandboxed frame, where its scripts cannot reach the page around it."""
    return (
        '<iframe sandbox="allow-scripts allow-downloads allow-popups" style="width:100%;height:720px;border:0" '
        f'srcdoc="{html.escape(page)}"></iframe>'
    )
