"""Every page of the app as it opens, in every language: the texts of its elements, and all that it sends to the browser."""

from __future__ import annotations

import base64
import logging
import os
import re
import shutil
import sys
from collections.abc import Iterator
from typing import Any

from google.protobuf.json_format import MessageToDict
from streamlit.testing.v1 import AppTest

from golden_parts.imports import LANGUAGES, PAGES, Settings, use
from golden_parts.output import LONGEST, Output, plain, wording

#: Runs of `runs.write` that the page of runs shows.
RUNS = ("analyse", "grammar", "space", "compare", "circuit", "causes")
#: Addresses of the first page.
ADDRESSES = {
    "look": {"text": "Birds sing.", "pair": "So do we.", "model": "minilm", "view": "neuron", "layer": "2", "heads": "3"},
    "refused": {"model": "no-such"},
}
#: What of an element is text for the reader.
TEXTS = ("label", "body", "value", "help", "placeholder", "options", "default", "caption", "title", "text", "data", "name", "icon")
#: Ids that Streamlit computes from the place of a script, and marks of one run of it.
IDS = ("id", "deferred_file_id", "form_id", "element_id", "page_script_hash", "script_hash", "run_on_save", "url", "component_name")
TIME = 1_760_000_000


def write(output: Output) -> None:
    workspace = output.work / "workspace"
    for folder in ("models", "runs"):
        (workspace / folder).mkdir(parents=True)
    use(Settings(workspace, model="minilm"))
    main = sys.modules["__main__"]
    logging.disable(logging.WARNING)  # Streamlit warns that there is no browser
    for language in LANGUAGES:
        for page in PAGES:
            write_page(output, f"{language}/{page.name}", page.name, language)
    for name in RUNS:
        shutil.copytree(output.saved / name, workspace / "runs" / name)
        os.utime(workspace / "runs" / name / "run.json", (TIME, TIME))
    for language in LANGUAGES:
        for name in RUNS:
            write_page(output, f"{language}/runs-{name}", "runs", language, run=name)
        for name, address in ADDRESSES.items():
            write_page(output, f"{language}/look-{name}", "look", language, **address)
        write_page(output, f"{language}/frame", "", language)
    logging.disable(logging.NOTSET)
    sys.modules["__main__"] = main  # Streamlit puts the page in its place


def one_page(page: str, language: str) -> None:
    """What AppTest runs: a page alone, or the whole app."""
    import streamlit

    from golden_parts.imports import PAGES, Say, run_app

    if page:
        next(each for each in PAGES if each.name == page).draw_with(Say(language))()
    else:
        streamlit.session_state["language"] = language
        run_app()


def write_page(output: Output, name: str, page: str, language: str, **address: str) -> None:
    at = AppTest.from_function(one_page, default_timeout=120, kwargs={"page": page, "language": language})
    for key, value in address.items():
        at.query_params[key] = value
    at.session_state["visitor"] = "somebody"
    at.run()
    if at.exception:
        raise RuntimeError(f"{name}: {at.exception[0].value}")
    elements = [(type(element).__name__, sent(element)) for element in at]
    lines = [f"{kind}: {text}" for kind, proto in elements for text in texts_of(proto)]
    output.text(f"app/{name}.txt", wording("\n".join(lines) + "\n"))
    output.number(f"app/{name}.json", [{"kind": kind, "sent": proto} for kind, proto in elements] + [dict(at.query_params)])


def sent(element: Any) -> Any:
    """What an element sends to the browser, without ids."""
    proto = getattr(element, "proto", None)
    return {} if proto is None else without_ids(MessageToDict(proto, preserving_proto_field_name=True))


def without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_ids(item) for key, item in value.items() if key not in IDS}
    if isinstance(value, list):
        return [without_ids(item) for item in value]
    if isinstance(value, str) and len(value) > LONGEST:
        return plain(value.encode())
    return value


def texts_of(proto: Any, key: str = "") -> Iterator[str]:
    """The texts of an element for its reader."""
    if isinstance(proto, dict):
        for name, item in proto.items():
            yield from texts_of(item, name)
    elif isinstance(proto, list):
        for item in proto:
            yield from texts_of(item, key)
    elif isinstance(proto, str) and key in TEXTS and not re.fullmatch(r"\d+ bytes, sha256 \w+", proto) and not _is_data(proto):
        yield f"{key}={proto}"


def _is_data(text: str) -> bool:
    """Whether a text is bytes in base64, as JSON writes them."""
    if len(text) < 60 or " " in text:
        return False
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return True
