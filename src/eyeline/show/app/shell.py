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
from eyeline.show.app.kit.figures import drawn
from eyeline.show.app.kit.models import FIRST_PAGE
from eyeline.show.app.kit.page import choose_language, in_turn, language, visitor
from eyeline.words import LANGUAGES, Words

# ---- The pages, in the order of the bar. A new page: a module with `page(say)`, a line here, and words/*/NAME.toml


@dataclass(frozen=True)
class Page:
    """A page. Its name is its address, and the file of its messages; that file has at least name, title and about.

    of: the place that it is a tab of, by the name of that place's first page; empty: a place of its own
    """

    name: str
    module: str
    of: str = ""
    default: bool = False

    def draw_with(self, say: Words) -> Callable[[], None]:
        """The function that draws it; its module is imported when it is first opened."""

        def draw() -> None:
            importlib.import_module(self.module).page(say)

        return draw


PAGES = (
    Page("look", "eyeline.show.app.look", default=True),
    Page("model", "eyeline.show.app.model", of="model"),
    Page("learn", "eyeline.show.app.learn.page"),
    Page("corpus", "eyeline.show.app.corpus", of="model"),
    Page("grammar", "eyeline.show.app.grammar", of="model"),
    Page("space", "eyeline.show.app.space", of="model"),
    Page("runs", "eyeline.show.app.runs", of="model"),
)


# ---- The frame


def run() -> None:
    """One run of the script, when its turn has come."""
    with in_turn():
        _draw()
    FIRST_PAGE.set()


def _draw() -> None:
    st.set_page_config(page_title="eyeline", page_icon=icon(), layout="wide", initial_sidebar_state="collapsed")
    say = Words(language())
    listed = {
        page.name: st.Page(page.draw_with(say), title=say(f"{page.name}.name"), url_path=page.name, default=page.default) for page in PAGES
    }
    chosen = st.navigation(list(listed.values()), position="hidden")
    here = next(page for page in PAGES if page.name == (chosen.url_path or PAGES[0].name))
    st.set_page_config(page_title=f"{chosen.title} · eyeline")  # the name of the browser tab
    st.html(f"<style>{style()}{widget_texts(say)}</style>")
    mounted.front(say.language, visitor())
    with st.container(horizontal=True, vertical_alignment="center", key="bar"):
        picture = f'<img src="{mark()}" alt="" width="30" height="20">'
        st.html(f'<a class="el-mark" href="/" target="_self" aria-label="eyeline">{picture}<span>eyeline</span></a>', width="content")
        for page in PAGES:
            if page.of in ("", page.name):
                with st.container(key=f"{'here' if page.name in (here.name, here.of) else 'place'}-{page.name}", width="content"):
                    st.page_link(listed[page.name], label=say("shell.this_model") if page.of else None, width="content")
        with st.popover(LANGUAGES[say.language], key="languages"):
            choose_language(say)
    if here.of:
        with st.container(horizontal=True, key="tabs"):
            for page in PAGES:
                if page.of == here.of:
                    with st.container(key=f"{'here' if page is here else 'tab'}-of-{page.name}", width="content"):
                        st.page_link(listed[page.name], width="content")
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
def mark() -> str:
    """The mark beside the name, as the address of an image."""
    return drawn(files("eyeline.show.app").joinpath("eye.svg").read_bytes())


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
