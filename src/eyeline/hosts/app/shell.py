"""The frame around every page: language, bar, style, and the front end's code."""

from __future__ import annotations

import re
import secrets
from functools import lru_cache
from importlib.resources import files

import streamlit as st

from eyeline.hosts.app import mounted
from eyeline.hosts.app.messages import LANGUAGES, Say, language_of
from eyeline.hosts.app.pages import PAGES

VISITOR = re.compile(r"[0-9a-f]{32}")


def run() -> None:
    """One run of the script."""
    st.set_page_config(page_title="eyeline", page_icon=icon(), layout="wide", initial_sidebar_state="collapsed")
    say = Say(language())
    listed = [
        st.Page(page.shown(say), title=say(f"{page.name}.name"), icon=page.icon, url_path=page.name, default=page.default) for page in PAGES
    ]
    chosen = st.navigation(listed, position="top")
    st.html(f"<style>{style()}{words(say)}</style>")
    mounted.front(say.language, visitor())
    with st.container(horizontal=True, key="bar"):  # the bar of a narrow window, where Streamlit would hide its own
        for one in listed:
            st.page_link(one, width="content")
    chosen.run()
    _foot(say)


def language() -> str:
    """The visitor's choice, else the address's, else the browser's."""
    asked = st.query_params.get("lang", "")
    if "language" not in st.session_state:
        st.session_state.language = asked if asked in LANGUAGES else language_of(st.context.locale)
    return str(st.session_state.language)


def visitor() -> str:
    """Who is here: a number that the browser keeps, known to nobody else."""
    kept = str(st.context.cookies.get("eyeline_visitor", ""))
    if "visitor" not in st.session_state:
        st.session_state.visitor = kept if VISITOR.fullmatch(kept) else secrets.token_hex(16)
    return str(st.session_state.visitor)


def heading(say: Say, page: str) -> None:
    """A page's title and what it is for, with the choice of language beside it."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="top", key="heading"):
        with st.container(width="stretch", gap="xsmall"):
            st.title(say(f"{page}.title"), anchor=False)
            st.caption(say(f"{page}.about"))
        st.segmented_control(
            say("shell.language"), list(LANGUAGES), format_func=LANGUAGES.__getitem__, default=say.language, key=f"language-{say.language}",
            on_change=_speak, args=(say.language,), label_visibility="collapsed", required=True,
        )  # fmt: skip


def _speak(before: str) -> None:
    st.session_state.language = st.session_state[f"language-{before}"] or before
    if "lang" in st.query_params:
        del st.query_params["lang"]


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


def words(say: Say) -> str:
    """Streamlit's own words in the visitor's language, where it has no way to give them: as content of the style."""
    told = {
        name: say(f"shell.{name}").replace("\\", "\\\\").replace('"', '\\"').replace("<", "\\3c ")
        for name in ("upload", "upload_hint", "upload_refused")
    }
    return (
        f'[data-testid="stFileUploaderDropzone"] button p::after{{content:"{told["upload"]}"}}'
        f'[data-testid="stFileUploaderDropzoneInstructions"]::after{{content:"{told["upload_hint"]}"}}'
        f'[data-testid="stFileChip"][aria-invalid="true"]::after{{content:"{told["upload_refused"]}"}}'
    )
