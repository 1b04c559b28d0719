"""The frame around every page: language, bar, style, and the front end's code; and the list of pages."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import streamlit as st

from eyeline.show.app.jobs.panel import keep_alive
from eyeline.show.app.jobs.queue import job_queue
from eyeline.show.app.kit import mounted
from eyeline.show.app.kit.page import in_turn, language, visitor
from eyeline.words import Words

# ---- The pages, in the order of the bar. A new page: a module with `page(say)`, a line here, and words/*/NAME.toml


@dataclass(frozen=True)
class Page:
    """A page. Its name is its address, and the file of its messages; that file has at least name, title and about."""

    name: str
    module: str
    icon: str
    default: bool = False

    def draw_with(self, say: Words) -> Callable[[], None]:
        """The function that draws it; its module is imported when it is first opened."""

        def draw() -> None:
            importlib.import_module(self.module).page(say)

        return draw


PAGES = (
    Page("look", "eyeline.show.app.look", ":material/visibility:", default=True),
    Page("learn", "eyeline.show.app.learn.page", ":material/school:"),
    Page("corpus", "eyeline.show.app.corpus", ":material/library_books:"),
    Page("grammar", "eyeline.show.app.grammar", ":material/account_tree:"),
    Page("space", "eyeline.show.app.space", ":material/scatter_plot:"),
    Page("runs", "eyeline.show.app.runs", ":material/folder_open:"),
)


# ---- The frame


def run() -> None:
    """One run of the script, when its turn has come."""
    with in_turn():
        _draw()


def _draw() -> None:
    st.set_page_config(page_title="eyeline", page_icon=icon(), layout="wide", initial_sidebar_state="collapsed")
    say = Words(language())
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


def _foot(say: Words) -> None:
    with st.container(key="foot"):
        st.caption(say("shell.foot"))


@lru_cache(maxsize=1)
def icon() -> bytes:
    """Our own picture: Streamlit would fetch the picture of a named icon from the network."""
    return files("eyeline.show.app").joinpath("icon.png").read_bytes()


@lru_cache(maxsize=1)
def style() -> str:
    return files("eyeline.show.app").joinpath("style.css").read_text(encoding="utf-8")


def widget_texts(say: Words) -> str:
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
