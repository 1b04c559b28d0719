"""What pages and the app say to each other over websockets: how many pages a visitor has open, how often they ask, and for what."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

if TYPE_CHECKING:
    from streamlit.proto.WidgetStates_pb2 import WidgetState
    from streamlit.runtime.state.common import WidgetMetadata

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

#: What a page may ask for. Streamlit also answers questions about the server's Git repository, and empties the caches of all visitors.
ANSWERED_MESSAGES = ("rerun_script", "stop_script", "app_heartbeat", "file_urls_request", "backend_operation_request")

# ---- How many pages a visitor has open, and how often they ask


#: Requests a second that one visitor may make for long, and how many at once; bytes that count as one request, and how many requests a file
#: to save counts for, which is made outside of the turns.
RATE, BURST, BYTES, FILE_COST = 20.0, 100.0, 100_000, 20.0


@dataclass
class Visits:
    """One visitor's open pages. credit: how many requests may come at once, when it was last counted."""

    pages: int = 0
    credit: float = BURST
    counted: float = field(default_factory=time.monotonic)

    def spend(self, cost: float) -> float:
        """The credit that is left after a request of this cost; below 0 where the visitor asks too often."""
        now = time.monotonic()
        self.credit = min(BURST, self.credit + RATE * (now - self.counted)) - cost
        self.counted = now
        return self.credit

    def delay(self, size: int, kind: str | None = None) -> float:
        """Seconds until a request of this kind and so many bytes may be passed on."""
        return max(0.0, -self.spend((FILE_COST if kind == "backend_operation_request" else 1) + size / BYTES) / RATE)


class OpenPages:
    """The pages that all visitors have open, each a websocket; not more than `each` of one visitor, nor than `most` of all."""

    def __init__(self, each: int, most: int) -> None:
        self.each, self.most = each, most
        self._visits: dict[str, Visits] = {}

    def all_open(self) -> bool:
        """Whether the app has no room for one page more, whoever asks."""
        return sum(visits.pages for visits in self._visits.values()) >= self.most

    def all_open_of(self, visitor: str) -> bool:
        """Whether this visitor may open no page more."""
        known = self._visits.get(visitor)
        return known is not None and known.pages >= self.each

    @contextmanager
    def opened(self, visitor: str) -> Iterator[Visits]:
        """A page of this visitor, as long as it is open."""
        visits = self._visits.setdefault(visitor, Visits())
        visits.pages += 1
        try:
            yield visits
        finally:
            visits.pages -= 1
            for name in [name for name, known in self._visits.items() if not known.pages and known.spend(0) == BURST]:
                del self._visits[name]  # nothing is left to remember


# ---- One page's conversation


class PageSocket:
    """Passes on what one page and the app say to each other.

    receive, send   of the websocket
    visits          of its visitor
    most            bytes of one message at most
    secret          bytes that no visitor is told: the path of the app's script, which Streamlit writes into the first message

    A page is heard only while it reads: what is sent to one that does not read would otherwise pile up here.
    """

    def __init__(self, receive: Receive, send: Send, visits: Visits, most: int, secret: bytes) -> None:
        self._receive, self._send, self._visits, self._most, self._secret = receive, send, visits, most, secret
        self._session = ""
        self._gone = False
        self._reads = asyncio.Event()
        self._reads.set()

    async def send(self, message: Message) -> None:
        if self._gone:
            return
        if self._secret and self._secret in (message.get("bytes") or b""):
            message["bytes"] = self._without_secret(message["bytes"])
        self._reads.clear()
        try:
            await self._send(message)
        except OSError:  # the page was closed: `receive` says so
            self._gone = True
        finally:
            self._reads.set()

    async def receive(self) -> Message:
        while True:
            message = await self._receive()
            if message["type"] != "websocket.receive":
                return message
            data = message.get("bytes")
            if data is None or len(data) > self._most:
                return await self._end(1003 if data is None else 1009)
            try:
                message_back = BackMsg.FromString(data)
            except DecodeError:
                return await self._end(1002)
            kind = message_back.WhichOneof("type")
            await asyncio.sleep(self._visits.delay(len(data), kind))
            await self._reads.wait()
            if self._gone:
                return {"type": "websocket.disconnect", "code": 1006}
            if kind in ANSWERED_MESSAGES:
                return {**message, "bytes": self._with_known_values(message_back).SerializeToString()}

    async def _end(self, code: int) -> Message:
        await self.send({"type": "websocket.close", "code": code})
        self._gone = True
        return {"type": "websocket.disconnect", "code": code}

    def _without_secret(self, data: bytes) -> bytes:
        message = ForwardMsg.FromString(data)
        if message.HasField("new_session"):
            message.new_session.main_script_path = ""
            self._session = message.new_session.initialize.session_id
        return bytes(message.SerializeToString())

    def _with_known_values(self, message_back: BackMsg) -> BackMsg:
        """Without values that no widget of this page can have: Streamlit would fail on them, or hand them to the page as they are.

        A page that has not been drawn yet has no widgets. It sends all its values again with the next change.
        """
        states = message_back.rerun_script.widget_states.widgets
        if states:
            known = widgets_of(self._session)
            fitting = [state for state in states if state.id in known and fits(state, known[state.id])]
            if len(fitting) < len(states):
                del states[:]
                states.extend(fitting)
        return message_back


def widgets_of(session: str) -> Mapping[str, WidgetMetadata[Any]]:
    """The widgets that a session's pages have drawn, by id."""
    from streamlit import runtime

    known = runtime.get_instance().get_app_session(session) if session else None
    return {} if known is None else known.session_state._new_widget_state.widget_metadata


def fits(state: WidgetState, widget: WidgetMetadata[Any]) -> bool:
    """Whether a widget can have this value: of its kind, and one that the widget itself can read."""
    from streamlit.runtime.state.common import unpack_widget_state_value

    kind = state.WhichOneof("value")
    try:
        if kind not in (None, widget.value_type):
            return False
        widget.deserializer(None if kind is None else unpack_widget_state_value(state))
    except Exception:  # noqa: BLE001 - whatever it raises, it could not read the value
        return False
    return True
