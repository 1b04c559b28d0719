"""Good manners of the running app: who may come, what they may send, and what they can do to others."""

from __future__ import annotations

import contextlib
import http.client
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import streamlit as st
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from eyeline import EyelineError
from eyeline.show.app.jobs.queue import job_queue
from eyeline.show.app.kit.models import open_model
from eyeline.show.app.kit.page import COOKIE
from eyeline.show.app.kit.settings import Limits
from eyeline.show.app.options import streamlit_options
from eyeline.show.app.serve import check_port_is_free
from tests.show.app.browser.serving import free_port
from tests.show.app.browser.socket_visitor import SocketVisitor
from tests.show.app.conftest import MARKUP

pytestmark = pytest.mark.slow


#: The cookie that a browser gets with its first page.
VISITOR = f"{COOKIE}={'d' * 32}"


def handshake(url: str, **headers: str) -> int:
    """The answer to a browser that asks for a websocket: 101 is yes. Without other cookies, with that of a visitor."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
    connection.putrequest("GET", "/_stcore/stream", skip_host="Host" in headers)
    requested = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "c2lnaHRsaW5lc2lnaHRsaQ==",
        "Cookie": VISITOR,
    }
    for name, value in {**requested, **headers}.items():
        connection.putheader(name, value)
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    return status


def test_it_listens_on_this_machine_alone(served):
    port = urlsplit(served.url).port
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.2", port), timeout=5):
        pass


def test_a_page_of_elsewhere_is_not_let_in(served):
    own = urlsplit(served.url).netloc
    assert handshake(served.url, Origin=served.url) == 101
    assert handshake(served.url, Origin="http://elsewhere.example") == 403
    assert handshake(served.url, Host="elsewhere.example", Origin="http://elsewhere.example") == 403, "a name made to point here"
    assert handshake(served.url, Host=own) == 101
    assert handshake(served.url, Cookie="") == 403, "who has not asked for a page"


def test_no_usage_statistics_are_asked_for_and_nobody_is_asked_at_the_start(served):
    with SocketVisitor(served.url) as me:
        me.open()
        begun = next(message.new_session for data in me.seen if (message := ForwardMsg.FromString(data)).HasField("new_session"))
    assert begun.config.gather_usage_stats is False
    assert streamlit_options("0.0.0.0", 1)["logger.hideWelcomeMessage"] is True  # noqa: S104 - Streamlit's welcome would ask for the address outside
    assert streamlit_options("127.0.0.1", 1)["runner.postScriptGC"] is False, "a full collection after every run holds up everybody"
    printed = served.log.read_text()
    assert f"eyeline is at {served.url}" in printed
    assert "Streamlit" not in printed


def test_a_visitor_cannot_have_anything_installed_on_the_server(served):
    with SocketVisitor(served.url) as me:
        me.open()
        for name in ("install_skills", "dismiss_skills_nudge"):
            request = BackMsg()
            request.backend_operation_request.request_id, request.backend_operation_request.session_id = name, me.session
            getattr(request.backend_operation_request, name).SetInParent()
            me.send(request)
            answer = me.next_of("backend_operation_response").backend_operation_response
            assert answer.request_id == name
            assert "not available" in answer.error_msg


def test_what_all_share_survives_a_visitor_who_empties_streamlits_caches(minilm):
    before, model = job_queue(), open_model("minilm")
    st.cache_resource.clear()
    st.cache_data.clear()
    assert job_queue() is before
    assert open_model("minilm") is model


def test_an_upload_above_the_limit_is_refused_before_it_is_read(served):
    with SocketVisitor(served.url) as me:
        me.open("corpus")
        request = BackMsg()
        request.file_urls_request.request_id = "one"
        request.file_urls_request.file_names.append("large.txt")
        me.send(request)
        upload_path = me.next_of("file_urls_response").file_urls_response.file_urls[0].upload_url
        for size, fits in ((1000, True), (Limits().upload + 2 * 1024 * 1024, False)):
            assert uploaded(served.url + upload_path, size) == (204 if fits else 413)


def uploaded(url: str, size: int) -> int:
    """The server's answer to a file of so many bytes, sent as a form; it may come before all of it was sent."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
    connection.request("GET", "/_stcore/health")
    first = connection.getresponse()
    cookie = str(first.getheader("Set-Cookie")).split(";")[0]
    first.read()
    head, tail = b'--x\r\nContent-Disposition: form-data; name="f"; filename="large.txt"\r\n\r\n', b"\r\n--x--\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=x", "Cookie": cookie, "X-Xsrftoken": cookie.partition("=")[2]}
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.request("PUT", address.path, head + b"a" * size + tail, headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_message_that_is_far_too_large_ends_the_visit_and_not_the_app(served):
    with SocketVisitor(served.url) as me:
        me.open()
        request = BackMsg()
        request.rerun_script.query_string = "text=" + "a" * (9 * 1024 * 1024)
        me.send(request)
        assert me.closed_by_the_app()
    with SocketVisitor(served.url) as other:
        other.open()
        assert other.kinds("heading")


@pytest.mark.parametrize("name", ["../../etc", "/etc/passwd", "..", "\u202egnp.exe", "ﬀ/..", "a\x00b", "%2e%2e", "~root", MARKUP])
def test_names_of_any_kind_open_nothing_and_harm_nothing(served, name):
    before = sorted(path for path in served.workspace.rglob("*"))
    with SocketVisitor(served.url) as me:
        for page, query in (("runs", {"run": name}), ("", {"model": name}), ("learn", {"step": name}), ("corpus", {"lang": name})):
            me.open(page, **query)
            assert not me.kinds("exception")
            assert me.kinds("heading")
        assert not me.was_sent("root:")
    assert sorted(path for path in served.workspace.rglob("*")) == before


def test_a_port_that_is_taken_is_named_with_another(tmp_path: Path):
    port = free_port()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        with pytest.raises(EyelineError, match=f"port {port} .*\n.*--port {port + 1}"):
            check_port_is_free("127.0.0.1", port)
    check_port_is_free("127.0.0.1", port)
