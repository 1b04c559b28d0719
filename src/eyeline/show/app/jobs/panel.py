"""A page's analysis while it waits and runs, and how it ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from eyeline.errors import EyelineError
from eyeline.show.app.jobs.job import Job, JobFunction, find_finished
from eyeline.show.app.jobs.queue import JobRefusedError, job_queue
from eyeline.show.app.kit.page import refuse, visitor
from eyeline.show.app.kit.settings import current
from eyeline.show.app.kit.workspace import Workspace, is_own, remove_expired, share_of
from eyeline.words import Words


def is_running(page: str) -> bool:
    """Whether the visitor's analysis on this page has not ended yet."""
    job = _job(page)
    return job is not None and not job.ended


def submit(say: Words, page: str, work: JobFunction, request: str = "") -> None:
    """Submit an analysis and run the page again; where the visitor's share or the queue is full, show which limit it is.

    request   a key (`request_key`): where a finished run has the same, it is shown at once
    """
    workspace, limits, queue = Workspace(current().workspace), current().limits, job_queue()
    remove_expired(workspace, limits)
    finished = find_finished(workspace, request, visitor())
    excess = None if finished is not None and is_own(finished, visitor()) else share_of(workspace, visitor()).excess(limits)
    if excess is not None:
        refuse(say, f"jobs.{excess[0]}", **excess[1])
        return
    folder = workspace.new_run()
    try:
        job = queue.answer(folder, visitor(), page, request) or queue.submit(
            folder, work, visitor(), page, language=say.language, request=request
        )
    except JobRefusedError as refusal:
        refuse(say, f"jobs.{refusal.reason}", **refusal.values)
        return
    st.session_state[f"{page}-job"] = job.id
    st.rerun()


def show_job(say: Words, page: str, show_folder: Callable[[Words, Path], None]) -> None:
    """The progress bar and the button that stops; or how it ended, and the run that was saved, drawn by `show_folder`."""
    job = _job(page)
    if job is None:
        return
    if not job.ended:
        _progress(say, page)
    elif job.state == "done":
        st.success(say("jobs.measured_before" if job.reused else "corpus.saved"), icon=":material/check:")
        try:
            show_folder(say, job.folder)
        except EyelineError as error:
            refuse(say, "corpus.failed", error)
    elif job.state == "failed":
        refuse(say, "corpus.failed", job.error)
    elif job.state == "stopped":
        st.info(say("corpus.stopped"), icon=":material/stop_circle:")
    else:
        st.warning(say(f"jobs.{job.state}", minutes=f"{current().limits.gone_minutes:g}"), icon=":material/info:")
        st.button(say("jobs.understood"), on_click=job_queue().forget, args=(job,), key=f"{page}-understood")


def _job(page: str) -> Job | None:
    """The job of this visit; after a reload, the one that still runs, or that ended while no page was open."""
    queue = job_queue()
    queue.visitor_seen(visitor())
    job = queue.job(st.session_state.get(f"{page}-job", ""))
    if job is None and (latest := queue.latest(visitor(), page)) is not None and latest.state not in ("stopped", "failed"):
        st.session_state[f"{page}-job"] = latest.id
        return latest
    return job


@st.fragment(run_every=0.5)
def _progress(say: Words, page: str) -> None:
    job = _job(page)
    if job is None or job.ended:
        st.rerun()
    bar, button = st.columns([4, 1], vertical_alignment="center")
    bar.progress(job.share_done, text=_step(say, page, job))
    if button.button(say("corpus.stop"), icon=":material/stop_circle:", width="stretch", key=f"{page}-stop"):
        job_queue().stop(job)
    st.caption(say("jobs.rule", minutes=f"{current().limits.gone_minutes:g}"))


@st.fragment(run_every=30)
def keep_alive() -> None:
    """On the other pages: while one of them is open, the visitor's analyses go on."""
    job_queue().visitor_seen(visitor())


def _step(say: Words, page: str, job: Job) -> str:
    if job.state == "waiting":
        return say("corpus.waiting")
    if job.step:
        step = say(f"{page}.doing_{job.step}")
    else:
        step = say("corpus.running", n=job.done, of=job.of) if job.of else say("corpus.reading")
    seconds = job_queue().seconds(job)
    if job.n_steps > 1:
        return say("jobs.step", step=step, index=job.index + 1, n=job.n_steps, seconds=seconds)
    return say("jobs.elapsed", step=step, seconds=seconds)
