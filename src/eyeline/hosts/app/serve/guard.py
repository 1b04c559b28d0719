"""Which requests are accepted, and how large they may be: checked before Streamlit sees them."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

TOKEN_COOKIE = "eyeline_token"  # noqa: S105 - the name of a cookie
#: Answers whether the app is up, and nothing else.
HEALTH = "/_stcore/health"
#: No other site may show the app in a frame; a file is what its type says; the address, which may hold a text, goes to no other site.
HEADERS = (
    (b"content-security-policy", b"frame-ancestors 'self'; object-src 'none'; base-uri 'self'"),
    (b"x-frame-options", b"SAMEORIGIN"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
NO_TOKEN = "This app needs its access token. Open the whole link that `eyeline app` printed, with ?token=… at its end.\n"  # noqa: S105
WRONG_HOST = "This app does not answer under this name. Open it by its IP address, or start it with --allow-host NAME.\n"


@dataclass(frozen=True)
class Rules:
    """What the guard lets in.

    hosts       names under which the app may be opened, beside IP addresses where any_address is true
    token       what a visitor must know; empty: nobody needs it
    message     bytes of one message of a page at most
    body        bytes of one request's body at most
    """

    hosts: frozenset[str]
    any_address: bool = False
    token: str = ""
    message: int = 8 * 1024 * 1024
    body: int = 4 * 1024 * 1024

    def allows_host(self, host: str) -> bool:
        """Refuses a foreign name that resolves to this machine, so that pages under that name cannot use the app (DNS rebinding).

        >>> rules = Rules(frozenset({"localhost"}), any_address=True)
        >>> [rules.allows_host(host) for host in ("localhost:8501", "192.168.1.7:8501", "[::1]:80", "evil.example", "")]
        [True, True, True, False, False]
        """
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            return False
        return name in self.hosts or (self.any_address and _is_address(name))

    def allows_token(self, token: str) -> bool:
        return not self.token or hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """ASGI middleware: checks Host, Origin, token and sizes, and adds the headers above to every answer."""

    def __init__(self, app: Application, rules: Rules) -> None:
        self.app, self.rules = app, rules

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _http(self, scope: Message, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        refusal = self._refusal(headers)
        if refusal is not None:
            await _answer(send, *refusal)
            return
        query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
        if self.rules.token and "token" in query and self.rules.allows_token(query["token"]):
            await _redirect(send, scope["path"], query, self.rules.token)
            return
        if scope["path"] != HEALTH and not self.rules.allows_token(_cookie(headers, TOKEN_COOKIE)):
            await _answer(send, 403, NO_TOKEN)
            return
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self.rules.body:
            await _answer(send, 413, "This is too large for the app.\n")
            return
        await self.app(scope, _bounded(receive, self.rules.body), _with_headers(send))

    async def _websocket(self, scope: Message, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        if self._refusal(headers) is not None or not self.rules.allows_token(_cookie(headers, TOKEN_COOKIE)):
            await receive()
            await send({"type": "websocket.close", "code": 1008})  # before the handshake: answered with 403
            return

        async def receive_bounded() -> Message:
            message = await receive()
            if len(message.get("bytes") or b"") > self.rules.message or len(message.get("text") or "") > self.rules.message:
                await send({"type": "websocket.close", "code": 1009})
                return {"type": "websocket.disconnect", "code": 1009}
            return message

        await self.app(scope, receive_bounded, send)

    def _refusal(self, headers: MutableMapping[str, str]) -> tuple[int, str] | None:
        """Status and text where Host or Origin is not ours. A browser sends Origin, the site of the page; other programs send none."""
        if not self.rules.allows_host(headers.get("host", "")):
            return 403, WRONG_HOST
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != headers.get("host"):
            return 403, "Only pages of this app may use it.\n"
        return None


def _headers(scope: Message) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _cookie(headers: MutableMapping[str, str], name: str) -> str:
    try:
        cookies = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return ""
    return cookies[name].value if name in cookies else ""


def _bounded(receive: Receive, most: int) -> Receive:
    """Count the bytes that a request really sends; a body over the limit ends as if the visitor had disconnected."""
    size = 0

    async def receive_counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        return message if size <= most else {"type": "http.disconnect"}

    return receive_counted


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            ours = {name for name, _ in HEADERS}
            message["headers"] = [*(pair for pair in message.get("headers", ()) if pair[0].lower() not in ours), *HEADERS]
        await send(message)

    return send_with_headers


async def _answer(send: Send, status: int, text: str, *headers: tuple[bytes, bytes]) -> None:
    body = text.encode()
    kind = ((b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": [*kind, *headers, *HEADERS]})
    await send({"type": "http.response.body", "body": body})


async def _redirect(send: Send, path: str, query: dict[str, str], token: str) -> None:
    """To the same page without the token in its address; the browser keeps the token in a cookie that no script can read."""
    rest = urlencode({name: value for name, value in query.items() if name != "token"})
    location = "/" + path.lstrip("/") + (f"?{rest}" if rest else "")
    cookie = f"{TOKEN_COOKIE}={token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000"
    await _answer(send, 303, "", (b"location", location.encode("latin-1", "replace")), (b"set-cookie", cookie.encode()))
