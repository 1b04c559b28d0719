"""The configuration of docs/app.md: visitors come to both apps, and each stays with theirs. Two small servers stand in for the apps."""

from __future__ import annotations

import os
import shutil
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from websockets.sync.client import connect
from websockets.sync.server import ServerConnection, serve

from tests.show.app.browser.behind_nginx import proxied

pytestmark = pytest.mark.skipif(
    shutil.which("nginx") is None and not os.path.exists("/usr/sbin/nginx"), reason="nginx is not installed (apt-get install nginx-light)"
)


class Answer(BaseHTTPRequestHandler):
    """Says on which port it was asked, and for which host."""

    def do_GET(self) -> None:
        body = f"{self.server.server_port} {self.headers['Host']}".encode()  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Nothing is printed."""


@contextmanager
def pages() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def ask(url: str, cookie: str = "") -> tuple[str, str]:
    """What was answered, and the cookie that came with it."""
    request = urllib.request.Request(url, headers={"Cookie": cookie} if cookie else {})  # noqa: S310 - our own address
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return answer.read().decode(), answer.headers["Set-Cookie"].split(";")[0]


def test_visitors_come_to_both_apps_and_stay_with_theirs_and_go_to_the_other_while_theirs_is_down(tmp_path):
    with ExitStack() as stack:
        first, second = stack.enter_context(pages()), stack.enter_context(pages())
        url = stack.enter_context(proxied([first.server_port, second.server_port], tmp_path))
        cookies = {}
        for _ in range(60):
            answer, cookie = ask(url)
            port, host = answer.split()
            assert f"http://{host}" == url
            cookies[port] = cookie
            if len(cookies) == 2:
                break
        assert set(cookies) == {str(first.server_port), str(second.server_port)}
        for port, cookie in cookies.items():
            assert {ask(url, cookie)[0].split()[0] for _ in range(5)} == {port}
        first.shutdown()
        first.server_close()
        assert ask(url, cookies[str(first.server_port)])[0].split()[0] == str(second.server_port)


def test_the_connection_of_a_page_goes_through(tmp_path):
    def echo(page: ServerConnection) -> None:
        for message in page:
            page.send(message)

    with serve(echo, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.socket.getsockname()[1]
        with proxied([port, port], tmp_path) as url, connect(url.replace("http", "ws") + "/_stcore/stream", proxy=None) as page:
            page.send(b"hello" * 100_000)
            assert page.recv(timeout=30) == b"hello" * 100_000
