"""A page's analysis while it runs, and what became of it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from eyeline.errors import EyelineError
from eyeline.hosts.app.jobs import Job, desk
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.plain import refuse
from eyeline.hosts.app.runs.parts import opened, show_parts
from eyeline.hosts.app.runs.workspace import Workspace
from eyeline.hosts.app.settings import current


def running(key: str) -> bool:
    """Whether the visitor's analysis of this page has not ended yet."""
    job = _job(key)
    return job is not None and not job.ended


def begin(say: Say, key: str, work: Callable[[Job], None]) -> None:
    """Put an analysis on the desk, and draw the page anew; where too many wait, say so."""
    job = desk().take(Workspace(current().workspace).new_run(), work)
    if job is None:
        refuse(say("corpus.too_many_waiting"))
        return
    st.session_state[f"{key}-job"] = job.number
    st.rerun()


def outcome(say: Say, key: str) -> None:
    """The bar and the button that stops; or how it ended, and where it was saved, what it found."""
    job = _job(key)
    if job is None:
        return
    if not job.ended:
        _progress(say, key)
    elif job.state == "stopped":
        st.info(say("corpus.stopped"), icon=":material/stop_circle:")
    elif job.state == "failed":
        refuse(say("corpus.failed"), job.error)
    else:
        st.success(say("corpus.saved"), icon=":material/check:")
        try:
            show_parts(say, opened(job.folder), job.folder)
        except EyelineError as error:
            refuse(say("corpus.failed"), error)


def _job(key: str) -> Job | None:
    return desk().job(st.session_state.get(f"{key}-job", ""))


@st.fragment(run_every=0.5)
def _progress(say: Say, key: str) -> None:
    job = _job(key)
    if job is None or job.ended:
        st.rerun()
    bar, button = st.columns([4, 1], vertical_alignment="center")
    bar.progress(min(1.0, job.done / job.of) if job.of else 0.0, text=_doing(say, key, job))
    if button.button(say("corpus.stop"), icon=":material/stop_circle:", width="stretch", key=f"{key}-stop"):
        job.stop.set()


def _doing(say: Say, key: str, job: Job) -> str:
    if job.state == "waiting":
        return say("corpus.waiting")
    if job.doing:
        return say(f"{key}.doing_{job.doing}")
    return say("corpus.running", n=job.done, of=job.of) if job.of else say("corpus.reading")
