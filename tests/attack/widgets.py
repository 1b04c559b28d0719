"""The app and a page that was made up: values that its widgets cannot have, messages that are none, and what the app tells its visitors."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed

import eyeline as el
from eyeline.show.app.shell import PAGES
from tests.attack.family import Family
from tests.show.app.browser.serving import serving
from tests.show.app.browser.socket_visitor import SocketVisitor
from tests.show.app.small_runs import TEXTS, grammar_run, save_shallow, space_run

#: Values of every kind that a message can hold. "DIGEST" stands for that of the view on the page.
VALUES: tuple[tuple[str, Any], ...] = (
    ("trigger_value", True), ("bool_value", True), ("int_value", -1), ("int_value", 2**53), ("double_value", float("nan")),
    ("string_value", "\ud7ff<b>\x00"), ("string_value", ""), ("bytes_value", b"\xff\x00"), ("string_array_value", ["a", "b"]),
    ("int_array_value", [-5, 10**9]), ("double_array_value", [float("inf")]), ("nothing", None),
    ("json_value", "{"), ("json_value", "[]"), ("json_value", "9" * 5000), ("json_trigger_value", "[" * 100_000),
    ("json_value", json.dumps({"reading": 7, "seen": [1], "head": [1e300, "x"], "theme": {}})),
    ("json_value", json.dumps({"reading": {"digest": "DIGEST", "state": [1]}, "head": [99, 99, "none"]})),
    ("json_value", json.dumps({"reading": {"digest": "DIGEST", "state": {"layer": 10**30, "heads": [99], "stack": 7, "off": "L9H99"}}})),
    ("json_value", json.dumps({"reading": {"digest": "DIGEST", "state": {"layer": {}, "heads": "x", "off": [1], "query": -1, "as": 5}}})),
)  # fmt: skip
#: Messages that are none, and what a page has no right to ask.
RAW = (b"", b"\xff" * 50, b"\x00" * 1000, bytes(range(256)) * 10)
UNASKED = ("clear_cache", "load_git_info", "set_run_on_save", "debug_shutdown_runtime", "debug_disconnect_websocket")


def attack_widgets(folder: Path) -> list[Family]:
    """One app with a run of each kind, and visitors whose browsers say what they like."""
    values = Family("app: values that no widget of the page can have", "a page, and no traceback in the log")
    messages = Family("app: messages that are none, or ask for what is not a page's", "a page for others, and no traceback in the log")
    secrets_sent = Family("app: what visitors are told of the server", "no path of it, no name of its files")
    workspace = folder / "workspace"
    model = el.load(save_shallow(el.load("minilm"), folder / "shallow"))
    el.analyse(model, TEXTS).save(workspace / "runs" / "corpus")
    grammar_run(model, workspace / "runs" / "grammar")
    space_run(model, workspace / "runs" / "space")
    pages: list[tuple[str, str, dict[str, str]]] = [
        (page.name, "" if page.default else page.name, {}) for page in PAGES if page.name != "runs"
    ]
    pages += [(f"the run {run}", "runs", {"run": run}) for run in ("corpus", "grammar", "space")]
    secrets = (str(Path(el.__file__).parent), str(folder), str(Path.home()) + "/")
    with serving(workspace, "--model", "minilm") as app:
        for called, name, query in pages:
            with SocketVisitor(app.url) as first:
                first.open(name, **query)
                ids = {key: widget for key, widget in first.ids.items() if not key.endswith("-run")}  # what starts an analysis
                for secret in secrets:
                    secrets_sent.check(f"{called}: {secret}", lambda first=first, secret=secret: "told" if first.was_sent(secret) else None)
            for key, widget in ids.items():
                with SocketVisitor(app.url) as visitor:
                    visitor.open(name, **query)
                    digest = next(
                        (matches[1].decode() for data in visitor.seen if (matches := re.search(rb'"digest":"([0-9a-f]{16})"', data))), ""
                    )
                    for kind, value in VALUES:
                        given = value.replace("DIGEST", digest) if isinstance(value, str) else value
                        values.check(
                            f"{called}, {key}: {kind} {str(value)[:60]!r}",
                            lambda visitor=visitor, name=name, widget=widget, kind=kind, given=given: sent(
                                visitor, name, widget, kind, given
                            ),
                        )
            with SocketVisitor(app.url) as other:  # of a page that is not drawn yet
                for key, widget in ids.items():
                    values.check(
                        f"{called}, first {key}",
                        lambda other=other, name=name, widget=widget: sent(other, name, widget, "int_array_value", [-5]),
                    )
        for data in RAW:
            messages.check(f"bytes {data[:10]!r}", lambda data=data: ended(app.url, data))
        messages.check("text", lambda: ended(app.url, "text"))
        for question in UNASKED:
            messages.check(question, lambda question=question: unanswered(app.url, question))
        for family in (values, messages):
            family.check("the log", lambda: tracebacks(app.log))
    return [values, messages, secrets_sent]


def sent(visitor: SocketVisitor, page: str, widget: str, kind: str, value: Any) -> str | None:
    """Send a value of a widget, and look at the page that follows."""
    message = BackMsg()
    message.rerun_script.page_name = page
    state = message.rerun_script.widget_states.widgets.add(id=widget)
    if kind.endswith("array_value"):
        getattr(state, kind).data.extend(value)
    elif kind != "nothing":
        setattr(state, kind, value)
    visitor.seen.clear()
    visitor.send(message)
    while visitor.next_of("script_finished").script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
        continue
    return "an exception on the page" if visitor.kinds("exception") else None


def ended(url: str, data: bytes | str) -> str | None:
    """Send something that is no message; then the next visitor gets a page."""
    with SocketVisitor(url) as visitor:
        visitor.open()
        try:
            visitor.send_raw(data)
            visitor.open()
        except ConnectionClosed:
            pass
    with SocketVisitor(url) as other:
        other.open()
        return None if other.kinds("heading") else "no page for the next visitor"


def unanswered(url: str, question: str) -> str | None:
    with SocketVisitor(url) as visitor:
        visitor.open()
        visitor.seen.clear()
        message = BackMsg()
        setattr(message, question, True)
        visitor.send(message)
        visitor.open()
        kinds = {ForwardMsg.FromString(data).WhichOneof("type") for data in visitor.seen}
        return "answered" if "git_info_changed" in kinds else None


def tracebacks(log: Path) -> str | None:
    """How many tracebacks a log holds, with the first; they may be coloured."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(encoding="utf-8", errors="replace"))
    matches = [match.start() for match in re.finditer(r"Traceback \(most recent call last\)", text)]
    return f"{len(matches)} tracebacks, the first: {text[matches[0] :][-1500:]}" if matches else None
