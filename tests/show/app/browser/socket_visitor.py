"""A visitor without a browser: speaks Streamlit's own messages over a websocket, and keeps every byte that it was sent."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from eyeline.show.app.kit.page import COOKIE

#: The largest message that a page sends: the front end's code.
LARGEST = 64 * 1024 * 1024


class SocketVisitor:
    """One visit to a running app. `seen`: all bytes received. `elements`: the page as last drawn, by position; `ids`: widgets by key."""

    def __init__(self, url: str, patience: float = 120, **headers: str) -> None:
        self.patience = patience
        headers.setdefault("Cookie", f"{COOKIE}={secrets.token_hex(16)}")  # a browser got it with the page
        self.seen: list[bytes] = []
        self.session = ""
        self.elements: dict[tuple[int, ...], Any] = {}
        self._open = ExitStack()
        address = url.replace("http", "ws", 1) + "/_stcore/stream"
        self._socket: ClientConnection = self._open.enter_context(
            connect(address, max_size=LARGEST, additional_headers=headers, proxy=None)
        )

    def __enter__(self) -> SocketVisitor:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._open.close()

    def open(self, page: str = "", **query: str) -> float:
        """Open a page; seconds until all of it was sent."""
        return self._run(page, query, {})

    def submit(self, page: str, button: str, **values: str) -> float:
        """Fill in text fields, by their keys, and press a button; seconds until all of the answer was sent."""
        return self._run(page, {}, {**values, button: True})

    def _run(self, page: str, query: Mapping[str, str], values: Mapping[str, str | bool]) -> float:
        message = BackMsg()
        message.rerun_script.page_name = page
        message.rerun_script.query_string = urlencode(query)
        message.rerun_script.context_info.locale = "en-US"
        for key, value in values.items():
            state = message.rerun_script.widget_states.widgets.add(id=self.ids[key])
            if isinstance(value, bool):
                state.trigger_value = value
            else:
                state.string_value = value
        begun = time.perf_counter()
        self.send(message)
        while self.next_of("script_finished").script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            continue
        return time.perf_counter() - begun

    def send(self, message: BackMsg) -> None:
        self.send_raw(message.SerializeToString())

    def send_raw(self, data: bytes | str) -> None:
        self._socket.send(data)

    def next_of(self, wanted: str) -> ForwardMsg:
        """The next message of one kind; what comes before it is noted."""
        end = time.monotonic() + self.patience
        while True:
            data = self.receive(max(0.0, end - time.monotonic()))
            self.seen.append(data)
            message = ForwardMsg.FromString(data)
            kind = message.WhichOneof("type")
            if kind == "new_session":
                self.elements, self.session = {}, message.new_session.initialize.session_id
            if kind == "delta" and message.delta.WhichOneof("type") == "new_element":
                self.elements[tuple(message.metadata.delta_path)] = message.delta.new_element
            if kind == wanted:
                return message

    def receive(self, patience: float | None = None) -> bytes:
        """The next message as it came."""
        data = self._socket.recv(timeout=self.patience if patience is None else patience)
        assert isinstance(data, bytes)
        return data

    def closed_by_the_app(self) -> bool:
        """Whether the app ends this visit, after whatever it still sends."""
        end = time.monotonic() + self.patience
        try:
            while True:
                self._socket.recv(timeout=max(0.0, end - time.monotonic()))
        except ConnectionClosed:
            return True
        except TimeoutError:
            return False

    @property
    def ids(self) -> dict[str, str]:
        """Widgets of the page by the keys that the code gave them."""
        results = {}
        for element in self.elements.values():
            inner = getattr(element, element.WhichOneof("type"))
            if key := getattr(inner, "id", ""):
                results[key.split("-", 2)[-1]] = key
        return results

    def kinds(self, kind: str) -> list[Any]:
        """All elements of one kind: `heading`, `exception`, `alert` …"""
        return [getattr(element, kind) for element in self.elements.values() if element.WhichOneof("type") == kind]

    def was_sent(self, text: str) -> bool:
        return any(text.encode() in data for data in self.seen)
