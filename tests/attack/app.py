"""The app over the loopback address: other hosts and origins, paths that lead out, requests that are too large."""

from __future__ import annotations

import http.client
import re
import socket
from pathlib import Path
from urllib.parse import urlsplit

from eyeline.show.app.kit.page import COOKIE
from tests.attack.family import Family
from tests.attack.widgets import tracebacks
from tests.show.app.browser.serving import serving

PATHS = (
    "/../../../../etc/passwd", "/..%2f..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd", "/static/../../../etc/passwd",
    "/app/static/..%2f..%2f..%2fetc/passwd", "/media/../../../etc/passwd", "/component/../../../etc/passwd",
    "/component/x/../../etc/passwd",
    "/_stcore/../../etc/passwd", "//etc/passwd", "/\\..\\..\\etc\\passwd", "/_stcore/upload_file/../../../etc/passwd", "/look%00.html",
    "/runs?run=../../../../etc", "/runs?run=/etc", "/look?model=/etc", "/learn?step=999999999999999999999", "/?lang=../../etc",
)  # fmt: skip
#: What follows the name of this machine in a link, and must stay a page of it: a redirect to another host, and a header of its own.
ELSEWHERE = (
    "//host/",
    "/%5chost/",
    "/%5c%5chost/",
    "/%2fhost/",
    "/%2f%5chost",
    "/\t/host",
    "/x%0d%0aSet-Cookie:%20a=b",
    "/%0ahost",
    "/%00",
    "/%09/host",
)


def attack_app(folder: Path) -> list[Family]:
    """One app, started as a person starts it, and asked for what it should not give."""
    headers = Family("app: headers that keep a page to itself", "the header")
    hosts = Family("app: other hosts and origins", "a refusal")
    paths = Family("app: addresses that lead out of it", "no file of this machine, no path of it")
    sizes = Family("app: requests that are too large or never end", "a refusal, and an app that goes on answering")
    with serving(folder / "workspace") as app:
        address = urlsplit(app.url)
        assert address.hostname == "127.0.0.1"
        assert address.port is not None
        port = address.port

        def ask(path: str, method: str = "GET", body: bytes = b"", **given: str) -> tuple[int, dict[str, str], bytes]:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            try:
                connection.putrequest(method, path, skip_host="Host" in given)
                for name, value in given.items():
                    connection.putheader(name.replace("_", "-"), value)
                if body:
                    connection.putheader("Content-Length", str(len(body)))
                connection.endheaders(body or None)
                answer = connection.getresponse()
                return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read(1 << 20)
            finally:
                connection.close()

        for path in ("/", "/look", "/_stcore/health", "/_stcore/host-config"):
            got = ask(path)[1]
            headers.check(f"nosniff of {path}", lambda got=got: None if got.get("x-content-type-options") == "nosniff" else "missing")
            framed = got.get("content-security-policy", "")
            headers.check(f"frame-ancestors of {path}", lambda framed=framed: None if "frame-ancestors" in framed else "missing")
        for host in ("evil.example", f"evil.example:{port}", "169.254.169.254", f"127.0.0.1.evil.example:{port}"):
            for path in ("/", "/_stcore/health", "/_stcore/stream"):
                hosts.check(f"Host: {host}{path}", lambda host=host, path=path: refused(ask(path, Host=host)[0]))
        for origin in ("http://evil.example", "null", "http://127.0.0.1.evil.example", f"http://localhost.evil.example:{port}"):
            hosts.check(f"websocket from {origin}", lambda origin=origin: refused(websocket(port, origin)))
            hosts.check(
                f"upload from {origin}",
                lambda origin=origin: refused(ask("/_stcore/upload_file/a/b", "PUT", b"x", Origin=origin)[0]),
            )
        for path in PATHS:

            def attack(path: str = path) -> str | None:
                body = ask(path.replace("\\", "%5c"))[2]
                leaked = [word for word in (b"root:x:", str(folder).encode(), str(Path.home()).encode() + b"/") if word in body]
                return f"gave {leaked}" if leaked else None

            paths.check(path, attack)
        sizes.check("a header of a megabyte", lambda: answered(port, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * (1 << 20)))
        sizes.check("half a request", lambda: answered(port, b"GET / HTTP/1.1\r\nHost: 127."))
        sizes.check("no HTTP at all", lambda: answered(port, bytes(range(256)) * 64))
        sizes.check("an upload without a session", lambda: refused(ask("/_stcore/upload_file/a/b", "PUT", bytes(8 << 20))[0]))
        sizes.check("health afterwards", lambda: None if ask("/_stcore/health")[0] == 200 else "no answer")
        paths.check("the log", lambda: tracebacks(app.log))
    return [headers, hosts, paths, sizes, attack_links(folder)]


def attack_links(folder: Path) -> Family:
    """Links with the right token, made up so that whoever opens them goes elsewhere."""
    links = Family("app: links with a token that lead elsewhere", "a page of the app, or a refusal; no traceback in the log")
    with serving(folder / "with-token", "--token") as app:
        address, printed = urlsplit(app.url), re.search(r"token=(\S+)", app.log.read_text())
        assert printed is not None

        def follow(path: str, ending: str) -> str | None:
            with socket.create_connection((address.hostname or "", address.port or 0), timeout=20) as link:
                target = path.replace("\t", "%09") + ending.format(token=printed[1])
                link.sendall(f"GET {target} HTTP/1.1\r\nHost: {address.netloc}\r\nConnection: close\r\n\r\n".encode())
                answer = b"".join(iter(lambda: link.recv(4096), b"")).decode("latin-1")
            fields = dict(line.split(": ", 1) for line in answer.split("\r\n\r\n")[0].split("\r\n")[1:])
            location = next((value for name, value in fields.items() if name.lower() == "location"), "/")
            if not re.fullmatch(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*", location) or "a=b" in fields.get("set-cookie", ""):
                return f"leads to {location!r}"
            return None if answer.startswith("HTTP/1.1 ") else f"answered {answer[:40]!r}"

        for path in ELSEWHERE:
            for ending in ("?token={token}", "?token={token}&x=%0d%0aA:b", "?token=wrong", ""):
                links.check(f"{path}{ending}", lambda path=path, ending=ending: follow(path, ending))
        links.check("the log", lambda: tracebacks(app.log))
    return links


def refused(status: int) -> str | None:
    return None if 400 <= status < 500 else f"answered {status}"


def answered(port: int, data: bytes) -> str | None:
    """Whether raw bytes are answered with an error or a closed connection, and nothing else."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as link:
        link.settimeout(3)
        try:
            link.sendall(data)
            got = link.recv(64)
        except (TimeoutError, ConnectionError):
            return None
    return None if not got or got.split(b" ")[1:2] >= [b"400"] else f"answered {got!r}"


def websocket(port: int, origin: str) -> int:
    """The status that a websocket's opening request from this origin gets; 101 lets it in."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as link:
        lines = [
            "GET /_stcore/stream HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version: 13",
            f"Origin: {origin}", f"Cookie: {COOKIE}={'e' * 32}", "", "",
        ]  # fmt: skip
        link.sendall("\r\n".join(lines).encode())
        return int(link.recv(64).split(b" ")[1])
