"""What a page and the app say to each other: limited in number and speed, checked, and without paths of the server."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.state.common import WidgetMetadata

from eyeline.show.app import page_socket
from eyeline.show.app.guard import Guard, Rules
from eyeline.show.app.kit.page import COOKIE
from eyeline.show.app.page_socket import BURST, OpenPages, PageSocket, Visits


def completed(work: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine returns, run in a thread of its own: the browser of other tests has a loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


class Socket:
    """The browser's end: what it sends, and what it gets. reads: whether it takes what it is sent."""

    def __init__(self, *messages: Any) -> None:
        self.messages, self.got, self.reads = list(messages), [], asyncio.Event()
        self.reads.set()

    async def receive(self) -> dict[str, Any]:
        if not self.messages:
            return {"type": "websocket.disconnect", "code": 1000}
        data = self.messages.pop(0)
        return {"type": "websocket.receive", "bytes" if isinstance(data, bytes) else "text": data}

    async def send(self, message: dict[str, Any]) -> None:
        await self.reads.wait()
        self.got.append(message)

    def talk(self, secret: bytes = b"", visits: Visits | None = None) -> PageSocket:
        return PageSocket(self.receive, self.send, visits or Visits(), 1_000_000, secret)


def asking(**fields: Any) -> bytes:
    message = BackMsg()
    for name, value in fields.items():
        setattr(message, name, value)
    return message.SerializeToString()


def page() -> bytes:
    message = BackMsg()
    message.rerun_script.page_name = "learn"
    return message.SerializeToString()


def test_no_visitor_is_told_where_the_script_is():
    forwarded = ForwardMsg()
    forwarded.new_session.main_script_path, forwarded.new_session.name = "/home/someone/app.py", "app"
    forwarded.new_session.initialize.session_id = "session"
    socket = Socket()
    completed(socket.talk(b"/home/someone/app.py").send({"type": "websocket.send", "bytes": forwarded.SerializeToString()}))
    heard = ForwardMsg.FromString(socket.got[0]["bytes"])
    assert (heard.new_session.main_script_path, heard.new_session.initialize.session_id) == ("", "session")
    assert b"someone" not in socket.got[0]["bytes"]


@pytest.mark.parametrize("question", ["clear_cache", "load_git_info", "set_run_on_save", "debug_shutdown_runtime"])
def test_what_is_not_a_pages_to_ask_is_passed_over(question):
    socket = Socket(asking(**{question: True}), page())
    got = completed(socket.talk().receive())
    assert BackMsg.FromString(got["bytes"]).rerun_script.page_name == "learn"


@pytest.mark.parametrize(("data", "code"), [(b"\xff" * 9, 1002), ("text", 1003), (b"\x00" * 2_000_000, 1009)])
def test_what_is_no_message_ends_the_page_without_a_traceback(data, code):
    socket = Socket(data)
    talk = socket.talk()
    assert completed(talk.receive()) == {"type": "websocket.disconnect", "code": code}
    assert socket.got == [{"type": "websocket.close", "code": code}]
    completed(talk.send({"type": "websocket.send", "bytes": b"late"}))
    assert len(socket.got) == 1


def test_a_value_that_no_widget_of_the_page_can_have_is_left_out(monkeypatch):
    text = WidgetMetadata("text", str, str, "string_value")
    number = WidgetMetadata("number", lambda value: [1, 2, 3][value], int, "int_value")
    monkeypatch.setattr(page_socket, "widgets_of", lambda _: {"text": text, "number": number})
    message = BackMsg()
    widgets = message.rerun_script.widget_states.widgets
    widgets.add(id="text", string_value="kept")
    widgets.add(id="number", int_value=2)
    widgets.add(id="number", int_value=99)  # no such choice
    widgets.add(id="number", string_value="2")  # of another kind
    widgets.add(id="elsewhere", string_value="x")
    got = completed(Socket(message.SerializeToString()).talk().receive())
    states = BackMsg.FromString(got["bytes"]).rerun_script.widget_states.widgets
    assert [(state.id, state.WhichOneof("value")) for state in states] == [("text", "string_value"), ("number", "int_value")]


def test_a_page_that_does_not_read_is_not_heard():
    async def run() -> None:
        socket = Socket(page(), page())
        talk = socket.talk()
        socket.reads.clear()
        sending = asyncio.create_task(talk.send({"type": "websocket.send", "bytes": b"a large page"}))
        await asyncio.sleep(0)
        hearing = asyncio.create_task(talk.receive())
        done, _ = await asyncio.wait([hearing], timeout=0.05)
        assert not done
        socket.reads.set()
        await sending
        assert (await hearing)["type"] == "websocket.receive"

    completed(run())


def test_who_asks_too_often_is_slowed_down_and_others_are_not():
    greedy, honest = Visits(), Visits()
    delays = [greedy.delay(100) for _ in range(int(BURST) + 40)]
    assert delays[0] == 0
    assert 1 < delays[-1] < 3
    assert honest.delay(100) == 0
    assert Visits().delay(100_000_000) > 30, "large messages count for more"
    saving = Visits()
    assert sum(saving.delay(100, "backend_operation_request") == 0 for _ in range(50)) < 6, "so do files to save, which are drawn"


def test_the_pages_of_one_visitor_and_of_all_are_counted_as_long_as_they_are_open():
    pages = OpenPages(each=2, most=3)
    with pages.opened("a"), pages.opened("a"):
        assert pages.all_open_of("a")
        assert not pages.all_open_of("b")
        assert not pages.all_open()
        with pages.opened("b"):
            assert pages.all_open()
            assert not pages.all_open_of("c")
        assert not pages.all_open()
    assert not pages.all_open_of("a")
    assert not pages._visits, "who is gone is forgotten"


# ---- The guard


def response_to(guard: Guard, path: str, query: str = "", **headers: str) -> dict[str, Any]:
    """The guard's answer to a request: its status, its body, and its fields by name."""
    got: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        got.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    fields = [(name.encode(), value.encode()) for name, value in {"host": "localhost", **headers}.items()]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": fields}
    completed(guard(scope, receive, send))  # type: ignore[arg-type]
    body = b"".join(message.get("body", b"") for message in got).decode()
    return {"status": got[0]["status"], "body": body, **{name.decode(): value.decode() for name, value in got[0]["headers"]}}


async def html(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html; charset=utf-8")]})
    await send({"type": "http.response.body", "body": b"<html>"})


@pytest.mark.parametrize("path", ["/\\host/", "/\\\\host", "/x\r\nSet-Cookie: a=b", "/\n", "/\x00", "/\t/host"])
def test_an_address_that_no_page_has_is_refused_and_leads_nowhere(path):
    assert response_to(Guard(html, Rules(frozenset({"localhost"}), token="T")), path, "token=T")["status"] == 400


@pytest.mark.parametrize("path", ["//host/", "///host", "/ä?b"])
def test_a_link_with_a_token_leads_to_a_page_of_the_app(path):
    answer = response_to(Guard(html, Rules(frozenset({"localhost"}), token="T")), path, "token=T&x=%0d%0aA:b")
    assert answer["status"] == 303
    assert not answer["location"].startswith(("//", "/\\"))
    assert answer["location"].isprintable()
    assert answer["location"].isascii()


def test_a_browser_without_a_cookie_gets_one_with_its_first_page():
    guard = Guard(html, Rules(frozenset({"localhost"})))
    first = response_to(guard, "/")["set-cookie"]
    assert first.startswith(f"{COOKIE}=")
    assert "SameSite=Lax" in first, "who comes back by a link of another site is still known"
    assert "set-cookie" not in response_to(guard, "/", cookie=f"{COOKIE}={'a' * 32}")
    assert "set-cookie" in response_to(guard, "/", cookie=f"{COOKIE}=made-up")


def test_a_browser_that_kept_the_page_and_not_the_cookie_gets_one_too():
    async def unchanged(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 304, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    guard = Guard(unchanged, Rules(frozenset({"localhost"})))
    assert response_to(guard, "/", accept="text/html,*/*")["set-cookie"].startswith(f"{COOKIE}=")
    assert "set-cookie" not in response_to(guard, "/static/a.js", accept="*/*")


A = f"{COOKIE}={'a' * 32}"


@pytest.mark.parametrize(
    ("most", "status", "language", "word"),
    [
        ({"pages_each": 1}, 429, "en-GB", "Close one"), ({"pages_each": 1}, 429, "ja", "閉じて"), ({"pages_each": 1}, 429, "ko-KR", "닫은"),
        ({"pages": 1}, 503, "en-GB", "Try again"), ({"pages": 1}, 503, "ja", "数分後"), ({"pages": 1}, 503, "ko-KR", "몇 분 뒤"),
    ],
)  # fmt: skip
def test_a_visitor_with_too_many_pages_and_one_of_a_full_app_are_told_which_it_is_in_their_language(most, status, language, word):
    guard = Guard(html, Rules(frozenset({"localhost"}), **most))
    fields = {"accept": "text/html", "accept-language": language}
    with guard.pages.opened("a" * 32):
        answer = response_to(guard, "/", cookie=A, **fields)
        assert answer["status"] == status
        assert word in answer["body"]
        other = response_to(guard, "/", **fields)["status"]
        assert other == (503 if status == 503 else 200), "only a full app is full for a new visitor"
        assert not lets_in(guard, A)
    assert response_to(guard, "/", cookie=A, **fields)["status"] == 200


def lets_in(guard: Guard, cookie: str = "") -> bool:
    """Whether a websocket with this cookie reaches the app."""
    got: list[str] = []

    async def send(message: dict[str, Any]) -> None:
        got.append(message["type"])

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    fields = [(b"host", b"localhost"), *([(b"cookie", cookie.encode())] if cookie else [])]
    completed(guard({"type": "websocket", "path": "/_stcore/stream", "headers": fields}, receive, send))  # type: ignore[arg-type]
    assert got in (["websocket.accept"], ["websocket.close"])
    return got == ["websocket.accept"]


@pytest.mark.parametrize("cookie", ["", f"{COOKIE}=", f"{COOKIE}=made-up", f"{COOKIE}={'A' * 32}", "other=1"])
def test_a_websocket_without_a_visitor_is_refused_and_takes_nobodys_place(cookie):
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await (accepts if scope["type"] == "websocket" else html)(scope, receive, send)

    guard = Guard(app, Rules(frozenset({"localhost"}), pages_each=1))
    assert not lets_in(guard, cookie)
    assert not guard.pages._visits
    first = response_to(guard, "/", accept="text/html")
    assert first["status"] == 200
    assert lets_in(guard, first["set-cookie"].partition(";")[0])


async def accepts(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "websocket.accept"})
