"""A view as one self-contained HTML file: nothing is fetched, nothing in the data can run."""

from __future__ import annotations

import base64
import html
import json
import os
import re
import secrets
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from sightline.errors import StorageError
from sightline.views.view import View

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
BOOT = """
const root = document.getElementById("view");
const follow = (state) => { document.documentElement.dataset.theme = state.theme ?? "system"; };
try {
  const view = JSON.parse(document.getElementById("data").textContent);
  follow(view.spec.state);
  MOUNT(root, view, { onState: follow });
} catch (error) {
  root.textContent = "This view could not be drawn: " + error;
}
"""
NO_SCRIPT = "This page draws attention with JavaScript, which is switched off here. It asks the network for nothing."


def page(view: View) -> str:
    """The page as a string."""
    return b"".join(chunks(view)).decode()


def write_page(view: View, path: str | Path) -> None:
    """Write the page, whole or not at all."""
    write_whole(path, chunks(view))


def write_whole(path: str | Path, parts: Iterator[bytes] | list[bytes]) -> None:
    """Write beside the file and move into place, so that a full disk leaves what was there before."""
    path = Path(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        try:
            with beside.open("xb") as file:
                for part in parts:
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"{path} cannot be written: {reason}.", "Nothing was changed. Choose another place, or make room.") from error


def chunks(view: View) -> Iterator[bytes]:
    """The page in pieces, one array at a time, so that a long text is never held twice."""
    title = html.escape(f"{view.spec['model']} · {view.kind} view · sightline")
    theme = html.escape(str(view.spec["state"].get("theme", "system")))
    yield (
        f'<!doctype html>\n<html lang="en" data-theme="{theme}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n'
        f'<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<noscript>{NO_SCRIPT}</noscript>\n<main id="view"></main>\n'
        f'<script type="application/json" id="data">'
    ).encode()
    yield f'{{"kind":{inert(view.kind)},"spec":{inert(view.spec)},"arrays":{{'.encode()
    for number, (name, array) in enumerate(view.arrays.items()):
        header = inert(array.header())
        yield f'{"," if number else ""}{inert(name)}:{header[:-1]},"data":"'.encode()
        yield base64.b64encode(array.data)
        yield b'"}'
    code, mount = bundle()
    yield f'}}}}</script>\n<script type="module">\n{code}\n{BOOT.replace("MOUNT", mount)}</script>\n</body>\n</html>\n'.encode()


def inert(value: Any) -> str:
    """JSON that can stand inside a script element whatever the tokens are.

    >>> inert("</script><!--")
    '"\\\\u003c/script>\\\\u003c!--"'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


@lru_cache(maxsize=1)
def bundle() -> tuple[str, str]:
    """The front end's code without its export statement, and the name that `mount` has inside it."""
    try:
        code = files("sightline.views").joinpath("static", "sightline.js").read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise StorageError("The front end is missing: sightline/views/static/sightline.js.", "Build it (make frontend), or reinstall.") from error
    return open_module(code)


def open_module(code: str) -> tuple[str, str]:
    """Take the last export statement off an ES module, so that code can follow it in the same script.

    >>> open_module("function a(){}\\nexport{a as mount};")
    ('function a(){}\\n', 'a')
    """
    found = None
    for found in re.finditer(r"export\s*\{([^{}]*)\}\s*;?", code):
        pass
    names = {} if found is None else {part.split(" as ")[-1].strip(): part.split(" as ")[0].strip() for part in found[1].split(",")}
    if found is None or "mount" not in names:
        raise StorageError("The front end exports no mount: sightline/views/static/sightline.js is not the bundle.", "Build it again.")
    code = code[: found.start()] + code[found.end() :]
    code = re.sub(r"\n?//# sourceMappingURL=.*", "", code)
    return re.sub(r"<(?=/script|!--)", r"\\x3c", code, flags=re.IGNORECASE), names["mount"]
