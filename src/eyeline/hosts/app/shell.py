"""The frame around every page: language, bar, style, and the front end's code."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import streamlit as st

from eyeline.hosts.app import mounted
from eyeline.hosts.app.heading import language
from eyeline.hosts.app.jobs.panel import keep_alive
from eyeline.hosts.app.jobs.queue import job_queue
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.pages import PAGES
from eyeline.hosts.app.sharing.turns import TURNS
from eyeline.hosts.app.visitor import visitor


def run() -> None:
    """One run of the script, when its turn has come."""
    with TURNS.turn():
        _draw()


def _draw() -> None:
    st.set_page_config(page_title="eyeline", page_icon=icon(), layout="wide", initial_sidebar_state="collapsed")
    say = Say(language())
    listed = [
        st.Page(page.draw_with(say), title=say(f"{page.name}.name"), icon=page.icon, url_path=page.name, default=page.default)
        for page in PAGES
    ]
    chosen = st.navigation(listed, position="top")
    st.set_page_config(page_title=f"{chosen.title} · eyeline")  # the name of the browser tab
    st.html(f"<style>{style()}{widget_texts(say)}</style>")
    mounted.front(say.language, visitor())
    with st.container(horizontal=True, key="bar"):  # the bar of a narrow window, where Streamlit would hide its own
        for page in listed:
            st.page_link(page, width="content")
    if job_queue().unfinished(visitor()):
        keep_alive()
    chosen.run()
    _foot(say)


def _foot(say: Say) -> None:
    with st.container(key="foot"):
        st.caption(say("shell.foot"))


@lru_cache(maxsize=1)
def icon() -> bytes:
    """Our own picture: Streamlit would fetch the picture of a named icon from the network."""
    return files("eyeline.hosts.app").joinpath("icon.png").read_bytes()


@lru_cache(maxsize=1)
def style() -> str:
    return files("eyeline.hosts.app").joinpath("style.css").read_text(encoding="utf-8")


def widget_texts(say: Say) -> str:
    """Texts of Streamlit's upload widget in the visitor's language. It has no option for them, so they are set as style content."""
    texts = {
        name: say(f"shell.{name}").replace("\\", "\\\\").replace('"', '\\"').replace("<", "\\3c ")
        for name in ("upload", "upload_hint", "upload_refused")
    }
    return (
        f'[data-testid="stFileUploaderDropzone"] button p::after{{content:"{texts["upload"]}"}}'
        f'[data-testid="stFileUploaderDropzoneInstructions"]::after{{content:"{texts["upload_hint"]}"}}'
        f'[data-testid="stFileChip"][aria-invalid="true"]::after{{content:"{texts["upload_refused"]}"}}'
    )
