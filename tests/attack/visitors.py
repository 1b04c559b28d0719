"""The app and a visitor who wants everything: the queue, the disk, the runs of others; and what is left after a restart."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from eyeline.measure.runs.run import FACTS_FILE
from eyeline.show.app.kit.settings import Limits
from eyeline.show.app.kit.workspace import FILE, Ownership, write_ownership
from tests.attack.family import Family
from tests.show.app.browser.serving import serving
from tests.show.app.browser.socket_visitor import SocketVisitor

GREEDY, OTHER, KEEPER, HOARDER = "0" * 32, "f" * 32, "1" * 32, "2" * 32
#: app.json of runs that nobody may be harmed by.
HOSTILE = (
    b"", b"{", b"[]", b"null", b"[" * 100_000, b"9" * 5000, b"\xff\xfe{}", b'{"owner": {}}', b'{"owner": "", "title": "\\ud800"}',
    b'{"owner": "%s", "title": "\\ud800\\u0000 <script>"}' % GREEDY.encode(), b'{"owner": null, "title": {"a": [1e999]}}',
)  # fmt: skip


def attack_visitors(folder: Path) -> list[Family]:
    """One app, several visitors, each known by a cookie."""
    greedy = Family("app: one visitor who takes the queue and the disk", "a refusal for this one, room for the others")
    runs = Family("app: app.json written to hurt", "a page of runs for every visitor")
    again = Family("app: reloaded, stopped, killed and started again", "jobs that still belong to their visitor, or are reported")
    workspace = folder / "workspace"
    limits = Limits()
    for number in range(limits.runs_each):
        kept(workspace, f"kept-{number}", KEEPER)
    with (kept(workspace, "large", HOARDER) / "large").open("wb") as file:
        file.truncate(limits.bytes_each + 1)  # takes no room on the disk, but counts
    old = kept(workspace, "old", OTHER)
    long_ago = time.time() - (limits.keep_days + 1) * 24 * 3600
    os.utime(old / FILE, (long_ago, long_ago))
    with serving(workspace) as app:

        def visit(who: str, page: str, button: str = "") -> list[str]:
            """What the page says after a visit; with a button, after it was pressed."""
            with SocketVisitor(app.url, Cookie=f"eyeline_visitor={who}") as visitor:
                visitor.open(page)
                if button:
                    visitor.submit(page, button)
                if visitor.kinds("exception"):
                    raise AssertionError(f"{page}: an exception on the page")
                return [*(alert.body for alert in visitor.kinds("alert")), *visitor.ids]

        pages = ("corpus", "grammar", "space")
        for page in pages[: limits.jobs_each]:
            greedy.check(f"a job of {page}", lambda page=page: wants("corpus-stop grammar-stop", visit(GREEDY, page, f"{page}-run")))
        for page in pages[limits.jobs_each :]:
            greedy.check(
                f"one job more, of {page}", lambda page=page: wants("no visitor may have more", visit(GREEDY, page, f"{page}-run"))
            )
        greedy.check("another visitor", lambda: wants("corpus-stop", visit(OTHER, "corpus", "corpus-run")))
        greedy.check(
            f"run {limits.runs_each + 1}", lambda: wants(str(limits.runs_each), visit(KEEPER, "corpus", "corpus-run"), "corpus-run")
        )
        greedy.check("more bytes than a share", lambda: wants("MB", visit(HOARDER, "corpus", "corpus-run"), "corpus-run"))
        greedy.check("a run that has expired", lambda: "still there" if old.exists() else None)
        for page in pages[: limits.jobs_each]:
            again.check(f"reload {page}", lambda page=page: wants(f"{page}-stop", visit(GREEDY, page)))
        again.check("stop what waits, after a reload", lambda: ended(lambda: visit(GREEDY, "grammar", "grammar-stop"), "grammar-stop"))
        again.check("another visitor sees no job of theirs", lambda: unwanted("grammar-stop", visit(OTHER, "grammar")))
        for number, data in enumerate(HOSTILE):
            target = kept(workspace, f"hostile-{number}", GREEDY)
            (target / FILE).write_bytes(data)
            for who in (GREEDY, OTHER):
                runs.check(f"{data[:40]!r}", lambda who=who: None if visit(who, "runs") is not None else "no page")
        app.process.kill()
        app.process.wait(30)
    with serving(workspace) as app:
        again.check("killed and started again", lambda: wants("restarted", visit(GREEDY, "corpus")))
        again.check("the job that was stopped", lambda: unwanted("restarted", visit(GREEDY, "grammar")))
        again.check("another visitor's job", lambda: wants("restarted", visit(OTHER, "corpus")))
    return [greedy, runs, again]


def kept(workspace: Path, name: str, owner: str) -> Path:
    """A run folder of this visitor: enough of one to be counted."""
    folder = workspace / "runs" / name
    folder.mkdir(parents=True)
    (folder / FACTS_FILE).write_text("{}", encoding="utf-8")
    write_ownership(folder, Ownership(owner))
    return folder


def wants(any_of: str, seen: list[str], *also: str) -> str | None:
    """None where one of the words (or the sentence) is seen, and all of `also`."""
    text = "\n".join(seen)
    result = any_of in text or ("-" in any_of and any(word in seen for word in any_of.split()))
    return None if result and all(word in text for word in also) else f"the page says {text[:200]!r}"


def unwanted(word: str, seen: list[str]) -> str | None:
    return f"the page says {word}" if any(word in item for item in seen) else None


def ended(visit: Callable[[], list[str]], button: str, patience: float = 5) -> str | None:
    """None where the button is gone a moment after it was pressed."""
    visit()
    time.sleep(patience / 5)
    try:
        return unwanted(button, visit())
    except KeyError:  # no such button any more
        return None
