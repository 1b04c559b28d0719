"""The app is ended in the middle of everything, and started again."""

from __future__ import annotations

import time

import pytest

import eyeline as el
from tests.show.app.browser.serving import serving
from tests.show.app.browser.socket_visitor import SocketVisitor

ME, ANOTHER = "0" * 32, "f" * 32


def visitor(url: str, who: str) -> SocketVisitor:
    return SocketVisitor(url, Cookie=f"eyeline_visitor={who}")


@pytest.mark.slow
def test_a_restart_loses_no_finished_run_and_keeps_no_half_one(tmp_path):
    workspace = tmp_path / "workspace"
    with serving(workspace) as app, visitor(app.url, ME) as me:
        me.open("corpus")
        me.submit("corpus", "corpus-run")
        end = time.monotonic() + 400  # a busy machine; a quiet one needs seconds
        while not (finished := list(workspace.glob("runs/2*/run.json"))):
            assert time.monotonic() < end
            time.sleep(0.1)
        me.open("space")
        me.submit("space", "space-run")  # and another one, killed on its way
        app.process.kill()
        app.process.wait(30)
    run = finished[0].parent.name
    for folder in workspace.glob("runs/[!.]*"):
        assert el.runs.open_run(folder).table("entropy"), "whatever is listed is whole"
    with serving(workspace) as app:
        with visitor(app.url, ME) as me:
            me.open("runs")
            assert not me.kinds("exception")
            assert me.was_sent(run)
        with visitor(app.url, ANOTHER) as other:
            other.open("runs")
            assert not other.was_sent(run), "the texts of one visitor are not listed for another"
