"""The running app over real HTTP: under which names it answers, to which pages, with which headers, and with its token."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from eyeline.show.app.serve import rules_for
from tests.show.app.browser.serving import Served, serving
from tests.show.app.browser.test_manners import VISITOR, handshake


def answer(url: str, path: str = "/", method: str = "GET", body: bytes | None = None, **headers: str) -> http.client.HTTPResponse:
    """The server's answer, read whole; the connection is closed."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    response = connection.getresponse()
    response.text = response.read().decode("utf-8", "replace")  # type: ignore[attr-defined]
    connection.close()
    return response


@pytest.fixture(scope="module")
def with_token(tmp_path_factory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("token") / "workspace", "--token") as app:
        yield app


@pytest.mark.parametrize("path", ["/", "/corpus", "/_stcore/health", "/static/nothing", "/no-such-page"])
def test_every_answer_forbids_frames_of_other_sites_and_guessing_types(served, path):
    response = answer(served.url, path)
    assert "frame-ancestors 'self'" in str(response.getheader("Content-Security-Policy"))
    assert response.getheader("X-Content-Type-Options") == "nosniff"
    assert response.getheader("Referrer-Policy") == "no-referrer"


@pytest.mark.parametrize("path", ["/", "/_stcore/health", "/media/x"])
def test_a_name_that_was_made_to_point_here_gets_no_answer(served, path):
    assert answer(served.url, path, Host="elsewhere.example").status == 403
    assert answer(served.url, path, Host="localhost:1").status != 403


def test_pages_of_other_sites_may_not_ask_the_app(served):
    assert answer(served.url, "/", Origin="http://elsewhere.example").status == 403
    assert answer(served.url, "/", Origin=served.url).status == 200


def test_a_body_without_a_length_is_counted_and_a_declared_one_is_refused(served):
    assert answer(served.url, "/_stcore/upload_file/a/b", "PUT", Content_Length=str(10**9)).status == 413
    assert answer(served.url, "/_stcore/upload_file/a/b", "PUT", b"x", Content_Length="-1").status in (400, 413)


@pytest.mark.slow
def test_without_the_token_nothing_is_shown_and_the_page_says_what_to_do(with_token):
    response = answer(with_token.url)
    assert response.status == 403
    assert "link that `eyeline app` printed" in response.text  # type: ignore[attr-defined]
    assert answer(with_token.url, "/?token=wrong").status == 403
    assert handshake(with_token.url) == 403
    assert answer(with_token.url, "/_stcore/health").status == 200


@pytest.mark.slow
def test_the_printed_link_opens_the_app_and_its_cookie_does_from_then_on(with_token):
    link = re.search(r"eyeline is at (\S+)", with_token.log.read_text())
    assert link is not None
    path = link[1].removeprefix(with_token.url)
    assert len(path.partition("token=")[2]) >= 32
    first = answer(with_token.url, f"/corpus{path.removeprefix('/')}&lang=ko")
    assert (first.status, first.getheader("Location")) == (303, "/corpus?lang=ko")
    cookie = str(first.getheader("Set-Cookie"))
    assert "HttpOnly" in cookie
    own = cookie.partition(";")[0]
    assert answer(with_token.url, "/corpus", Cookie=own).status == 200
    assert handshake(with_token.url, Cookie=f"{own}; {VISITOR}") == 101
    assert handshake(with_token.url, Cookie=f"eyeline_token=wrong; {VISITOR}") == 403


def test_a_token_is_wanted_where_others_can_reach_the_app_and_can_be_switched():
    everywhere = rules_for("0.0.0.0", (), wants_token=None)  # noqa: S104 - nothing listens
    assert everywhere.token
    assert everywhere.allows_host("192.168.0.7:8501")
    assert not everywhere.allows_host("elsewhere.example")
    here = rules_for("127.0.0.1", (), wants_token=None)
    assert not here.token
    assert not here.allows_host("192.168.0.7")
    assert rules_for("127.0.0.1", (), wants_token=True).token
    assert rules_for("0.0.0.0", ["lab.example"], wants_token=False).allows_host("lab.example")  # noqa: S104
