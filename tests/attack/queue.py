"""The queue of the app: visitors who ask for more analyses than it has room for, each with a cookie of their own."""

from __future__ import annotations

import threading
from pathlib import Path

from eyeline import EyelineError
from eyeline.measure.runs.progress import Progress
from eyeline.show.app.jobs.job import Job
from eyeline.show.app.jobs.queue import RECORDS, JobQueue, JobRefusedError
from eyeline.show.app.kit.settings import Limits
from tests.attack.family import Family
from tests.show.app.browser.serving import serving
from tests.show.app.browser.socket_visitor import SocketVisitor


def attack_queue(folder: Path, count: int) -> list[Family]:
    return [attack_pages(folder / "workspace"), attack_restless(folder / "restless", 10 * count)]


def attack_pages(workspace: Path) -> Family:
    """Visitors press the button of an analysis, each on another page, until long after the queue is full."""
    limits = Limits()
    room = limits.waiting + 1  # one runs
    family = Family("app: more visitors than the queue has room for", f"{room} jobs, a refusal for all others, an app that goes on")
    with serving(workspace) as app:
        for number in range(room + 6):
            with SocketVisitor(app.url, Cookie=f"eyeline_visitor={number:032x}") as visitor:
                visitor.open("grammar")
                visitor.submit("grammar", "grammar-run")
                alerts = " ".join(alert.body for alert in visitor.kinds("alert"))
                accepted = "grammar-stop" in visitor.ids

            def attack(number: int = number, alerts: str = alerts, accepted: bool = accepted) -> str | None:
                if accepted == (number < room) and ("Many analyses are waiting" in alerts) != accepted:
                    return None
                return f"accepted: {accepted}; the page says {alerts[:200]!r}"

            family.check(f"visitor {number + 1}", attack)
        family.check("records of jobs", lambda: None if len(list((workspace / RECORDS).iterdir())) <= room else "more than the queue holds")
    return family


def attack_restless(folder: Path, count: int) -> Family:
    """One visitor submits and stops, again and again, while another's analysis runs."""
    family = Family("app: one visitor who submits and stops all the time", "no thread, no record and no place of others taken")
    queue, go = JobQueue(Limits(), folder), threading.Event()

    def work(job: Job) -> None:
        while not go.wait(0.01):
            job.report_progress(Progress("", 1, 2))

    done = queue.submit(folder / "done", lambda job: None, "other", "corpus")
    running = queue.submit(folder / "running", work, "other", "grammar")
    before = threading.active_count()
    for number in range(count):

        def attack(number: int = number) -> str | None:
            try:
                queue.stop(queue.submit(folder / str(number), work, "restless", "corpus"))
            except JobRefusedError as error:
                raise EyelineError(error.reason) from error
            others = queue.latest("other", "corpus") is done and queue.latest("other", "grammar") is running
            threads = threading.active_count() - before
            return None if others and threads < 20 else f"{threads} threads more; jobs of others are {'there' if others else 'gone'}"

        family.check(f"job {number}", attack)
    go.set()
    return family
