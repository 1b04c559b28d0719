"""The app and those who come in numbers: one visitor who takes all its time, and many who stay for long."""

from __future__ import annotations

import multiprocessing
import random
import statistics
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import WebSocketException

from eyeline.show.app.guard import Rules
from eyeline.show.app.kit.page import COOKIE
from tests.attack.family import Family
from tests.attack.widgets import tracebacks
from tests.show.app.browser.crowd import TEXT, WORDS
from tests.show.app.browser.serving import Served, serving
from tests.show.app.browser.socket_visitor import SocketVisitor

#: How many times as long an honest visitor may wait beside the flood, and how much more memory the app may take.
LONGEST_WAIT, MOST_MEMORY = 3.0, 1.5
#: Websockets of the flood, words of each of its texts, and honest visits that are timed.
SOCKETS, LONG_TEXT, VISITS = 24, 240, 12
#: Visitors of the soak; how far the memory of its last third may be from that of the third before; bytes that may wait for one visitor.
SOAKING, FLAT, MOST_UNREAD = 30, 0.10, 200_000_000
#: A message below this size is read, to see whether the page is whole; the others are received and dropped.
SMALL = 2_000


# ---- One visitor who takes all the time of the app


def flood(url: str, cookies: tuple[str, ...], waits: bool, seed: int) -> None:
    """Websockets that send one long text after the other, without an end: a process of its own, so that the clock is not its.

    cookies   of the websockets, in turn
    waits     whether a text is sent only when the page before it is whole
    """
    threads = [
        threading.Thread(target=_flood_one, args=(url, cookies[number % len(cookies)], waits, seed + number), daemon=True)
        for number in range(SOCKETS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _flood_one(url: str, cookie: str, waits: bool, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    while True:
        with (
            suppress(WebSocketException, OSError, EOFError, AssertionError, KeyError),
            SocketVisitor(url, Cookie=f"{COOKIE}={cookie}") as visitor,
        ):
            visitor.open()
            visitor.seen.clear()
            ids = visitor.ids
            while True:
                visitor.send(asking(ids, long_text(chance)))
                if waits:
                    _until_whole(visitor)
                else:
                    time.sleep(0.02)
        time.sleep(0.2)


def long_text(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=LONG_TEXT))


def asking(ids: dict[str, str], text: str) -> BackMsg:
    """The message that shows a text on the first page."""
    message = BackMsg()
    message.rerun_script.widget_states.widgets.add(id=ids["look-text"]).string_value = text
    message.rerun_script.widget_states.widgets.add(id=ids["look-show"]).trigger_value = True
    return message


def _until_whole(visitor: SocketVisitor) -> None:
    while True:
        data = visitor.receive()
        message = ForwardMsg.FromString(data) if len(data) < SMALL else ForwardMsg()
        if message.HasField("script_finished") and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            return


@contextmanager
def flooded(url: str, cookies: tuple[str, ...], *, waits: bool = True) -> Iterator[None]:
    """While this block runs, the flood runs."""
    process = multiprocessing.get_context("spawn").Process(target=flood, args=(url, cookies, waits, 0), daemon=True)
    process.start()
    time.sleep(12)  # it begins, and goes on for a while
    try:
        yield
    finally:
        process.kill()
        process.join()


def waits_of(url: str, more: str) -> tuple[list[float], list[float]]:
    """Seconds that one honest visitor after the other waits for the first page and for a text of their own."""
    opened, answered = [], []
    for word in WORDS[:VISITS]:
        with SocketVisitor(url, patience=300) as me:
            opened.append(me.open())
            answered.append(me.submit("", "look-show", **{"look-text": TEXT.format(f"{more} {word}")}))
            assert not me.kinds("exception")
    return opened, answered


def memory(app: Served) -> int:
    return int(psutil.Process(app.process.pid).memory_info().rss)


def highest_memory(app: Served, looks: int) -> int:
    """The most that the app takes in so many tenths of a second."""
    sizes = []
    for _ in range(looks):
        sizes.append(memory(app))
        time.sleep(0.1)
    return max(sizes)


def attack_flood(folder: Path) -> Family:
    """Honest visitors beside one visitor's websockets, beside such that wait for no answer, and beside one visitor with many names."""
    family = Family("app: one visitor who floods it with long texts", "at most 3 times the wait, 1.5 times the memory, no traceback")
    with serving(folder / "workspace") as app:
        waits_of(app.url, "first")  # what is imported and kept once
        alone, before = waits_of(app.url, "quiet"), memory(app)
        for kind, cookies, waits in (
            ("24 websockets", ("a" * 32,), True),
            ("24 websockets that do not wait", ("b" * 32,), False),
        ):
            with flooded(app.url, cookies, waits=waits):
                beside = waits_of(app.url, f"{kind.split()[-1]} flood")
                peak = highest_memory(app, 20)
            for what, short, long in zip(("first page", "own text"), alone, beside, strict=True):
                ratio = statistics.median(long) / statistics.median(short)
                family.check(f"{kind}: {what}", lambda ratio=ratio: at_most(ratio, LONGEST_WAIT))
            family.check(f"{kind}: memory", lambda peak=peak: at_most(peak / before, MOST_MEMORY))
        family.check("one visitor's websockets", lambda: opened_by_one(app.url))
        family.check("websockets without a cookie", lambda: opened_by_nobody(app.url))
        family.check("a visitor who does not read", lambda: unread(app))
        family.check("the log", lambda: tracebacks(app.log))
    return family


def at_most(ratio: float, most: float) -> str | None:
    print(f"    {ratio:.2f} times, at most {most}")
    return None if ratio <= most else f"{ratio:.2f} times"


def opened_by_one(url: str) -> str | None:
    """How many of one visitor's websockets are let in; another visitor's still is."""
    cookie, opened = f"{COOKIE}={'c' * 32}", 0
    with ExitStack() as stack:
        for _ in range(SOCKETS):
            with suppress(WebSocketException):
                stack.enter_context(SocketVisitor(url, Cookie=cookie))
                opened += 1
        with SocketVisitor(url) as other:
            other.open()
    return None if opened == Rules(frozenset()).pages_each else f"{opened} were let in"


def opened_by_nobody(url: str) -> str | None:
    """Websockets whose cookie names no visitor are not let in; a browser that comes for the first time gets its page meanwhile."""
    opened = 0
    with ExitStack() as stack:
        for cookie in ("", f"{COOKIE}=", f"{COOKIE}=nobody") * SOCKETS:
            with suppress(WebSocketException):
                stack.enter_context(SocketVisitor(url, Cookie=cookie))
                opened += 1
        first = urllib.request.Request(url, headers={"Accept": "text/html"})  # noqa: S310 - our own address
        with urllib.request.urlopen(first, timeout=20) as answer:  # noqa: S310
            cookie = str(answer.headers["Set-Cookie"]).partition(";")[0]
        with SocketVisitor(url, Cookie=cookie) as new:
            new.open()
    return f"{opened} were let in" if opened else None


def unread(app: Served) -> str | None:
    """A visitor who asks for one large page after the other and reads none: what waits for this visitor must not grow."""
    with SocketVisitor(app.url) as visitor:
        visitor.open()
        ids, chance, before = visitor.ids, random.Random(1), memory(app)  # noqa: S311 - not for secrets
        for _ in range(150):
            visitor.send(asking(ids, long_text(chance)))
        time.sleep(30)
        grown = memory(app) - before
    return None if grown < MOST_UNREAD else f"{grown / 1e6:.0f} MB wait for one visitor"


# ---- Many visitors who stay for long


def attack_soak(folder: Path, minutes: float) -> Family:
    """Thirty visitors who open pages, send texts, change views and leave, at random: memory after the first third against the end."""
    family = Family(f"app: {SOAKING} visitors for {minutes:g} minutes", "a page for each, memory flat within 10 %, no traceback")
    with serving(folder / "workspace") as app:
        end = time.monotonic() + 60 * minutes
        counted: list[str] = []
        threads = [threading.Thread(target=_stay, args=(app.url, number, end, counted), daemon=True) for number in range(SOAKING)]
        for thread in threads:
            thread.start()
        sizes = []
        while time.monotonic() < end:
            sizes.append(memory(app))
            time.sleep(1)
        for thread in threads:
            thread.join(120)
        third = len(sizes) // 3
        early, late = statistics.median(sizes[third : 2 * third]), statistics.median(sizes[2 * third :])
        steps = [f"{statistics.median(sizes[at : at + third // 2 or 1]) / 1e6:.0f}" for at in range(0, len(sizes), third // 2 or 1)]
        print(f"    memory, MB, in sixths of the time: {', '.join(steps)}; {len(counted):,} pages")
        for problem in counted:
            family.check("a page", lambda problem=problem: problem or None)
        family.check("memory", lambda: f"{early / 1e6:.0f} MB, then {late / 1e6:.0f} MB" if abs(late / early - 1) > FLAT else None)
        family.check("the log", lambda: tracebacks(app.log))
    return family


def _stay(url: str, number: int, end: float, counted: list[str]) -> None:
    """One visitor: pages in any order, texts of any length, and now and then a new window. What went wrong, or "", for each page."""
    chance = random.Random(number)  # noqa: S311 - not for secrets
    cookie = f"{COOKIE}={chance.getrandbits(128):032x}"
    while time.monotonic() < end:
        try:
            with SocketVisitor(url, patience=120, Cookie=cookie) as me:
                for _ in range(chance.randint(1, 12)):
                    page = chance.choice(("", "", "", "learn", "corpus", "grammar", "space", "runs"))
                    me.open(page)
                    if not page:
                        words = chance.choices(WORDS, k=chance.choice((5, 20, 60, 200)))
                        me.submit("", "look-show", **{"look-text": " ".join(words)})
                    counted.append(f"{page}: an exception on the page" if me.kinds("exception") else "")
                    me.seen.clear()
                    time.sleep(chance.random())
                    if time.monotonic() > end:
                        return
        except (WebSocketException, OSError, TimeoutError) as error:
            counted.append(f"{type(error).__name__}: {error}")
