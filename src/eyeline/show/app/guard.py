"""Which requests are accepted, and how large they may be: checked before Streamlit sees them."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from eyeline.show.app.kit.page import COOKIE, VISITOR_ID
from eyeline.show.app.page_socket import Message, OpenPages, PageSocket, Receive, Send
from eyeline.words import Words, language_of

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
    uploads     bytes of files that the visitors of all open pages may have uploaded
    pages_each  pages that one visitor may have open; pages: that all may have open
    script      the path of the app's script on this machine, which no visitor is told
    """

    hosts: frozenset[str]
    any_address: bool = False
    token: str = ""
    message: int = 8 * 1024 * 1024
    body: int = 4 * 1024 * 1024
    uploads: int = 256 * 1024 * 1024
    pages_each: int = 8
    pages: int = 240
    script: str = ""

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
        self.app, self.rules, self.pages = app, rules, OpenPages(rules.pages_each, rules.pages)

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
        if not scope["path"].isprintable() or "\\" in scope["path"]:
            await _answer(send, 400, "No page of the app has this address.\n")
            return
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
        if scope["method"] == "PUT" and uploaded_bytes() > self.rules.uploads:
            await _answer(send, 503, "The app holds as many uploaded files as it can. Try again in a minute.\n")
            return
        visitor = _visitor(headers)
        asks_page = "text/html" in headers.get("accept", "")
        if asks_page and (excess := self._excess(visitor)) is not None:
            status, key = excess
            say = Words(language_of(headers.get("accept-language", "")))
            await _answer(send, status, say(key, n=self.rules.pages_each) + "\n")
            return
        new_visitor = "" if visitor else secrets.token_hex(16)
        await self.app(scope, _bounded(receive, self.rules.body), _with_headers(send, new_visitor, asks_page=asks_page))

    async def _websocket(self, scope: Message, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        visitor = _visitor(headers)
        known = self._refusal(headers) is None and self.rules.allows_token(_cookie(headers, TOKEN_COOKIE))
        if not known or not visitor or self._excess(visitor) is not None:
            await receive()
            await send({"type": "websocket.close", "code": 1008})  # before the handshake: answered with 403
            return
        with self.pages.opened(visitor) as visits:
            talk = PageSocket(receive, send, visits, self.rules.message, self.rules.script.encode())
            await self.app(scope, talk.receive, talk.send)

    def _excess(self, visitor: str) -> tuple[int, str] | None:
        """Status and key of the message where no page more may be opened. Who has no cookie yet has no pages: the app alone can be full."""
        if self.pages.all_open_of(visitor):
            return 429, "shell.too_many_open"
        return (503, "shell.app_full") if self.pages.all_open() else None

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


def _visitor(headers: MutableMapping[str, str]) -> str:
    """The visitor of a request: what the cookie says; "" without one. Then no page can be open: its HTML would have brought the cookie."""
    cookie = _cookie(headers, COOKIE)
    return cookie if VISITOR_ID.fullmatch(cookie) else ""


def uploaded_bytes() -> int:
    """Bytes of all uploaded files that are kept."""
    from streamlit import runtime

    files = getattr(runtime.get_instance().uploaded_file_mgr, "file_storage", {})
    return sum(len(file.data) for session in list(files.values()) for file in list(session.values()))


def _bounded(receive: Receive, most: int) -> Receive:
    """Count the bytes that a request really sends; a body over the limit ends as if the visitor had disconnected."""
    size = 0

    async def receive_counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        return message if size <= most else {"type": "http.disconnect"}

    return receive_counted


def _with_headers(send: Send, new_visitor: str, *, asks_page: bool = False) -> Send:
    """With the headers above; with the first page, a visitor without a cookie gets one, so that the page's websocket is this visitor's.

    asks_page   whether the browser asked for a page: the answer may be that the one it has kept is still good (304), which names no type

    The browser sends the cookie also where a link of another site leads here (Lax): else that visitor would be taken for a new one.
    """

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            ours = {name for name, _ in HEADERS}
            headers = [*(pair for pair in message.get("headers", ()) if pair[0].lower() not in ours), *HEADERS]
            is_page = any(name.lower() == b"content-type" and value.startswith(b"text/html") for name, value in headers)
            if new_visitor and (is_page or asks_page):
                headers.append((b"set-cookie", f"{COOKIE}={new_visitor}; Path=/; SameSite=Lax; Max-Age=31536000".encode()))
            message["headers"] = headers
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
    location = "/" + quote(path.lstrip("/")) + (f"?{rest}" if rest else "")
    cookie = f"{TOKEN_COOKIE}={token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000"
    await _answer(send, 303, "", (b"location", location.encode("latin-1", "replace")), (b"set-cookie", cookie.encode()))
