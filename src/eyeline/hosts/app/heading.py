"""The top of a page: its title, what it is for, and the choice of language; the top of a run: what it was measured on."""

from __future__ import annotations

import streamlit as st

from eyeline.hosts.app.messages import LANGUAGES, Say, language_of
from eyeline.hosts.app.plain import escaped
from eyeline.results.run import Run


def language() -> str:
    """The visitor's choice, else the address's, else the browser's."""
    requested = st.query_params.get("lang", "")
    if "language" not in st.session_state:
        st.session_state.language = requested if requested in LANGUAGES else language_of(st.context.locale)
    return str(st.session_state.language)


def heading(say: Say, page: str) -> None:
    """A page's title and what it is for, with the choice of language beside it."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="top", key="heading"):
        with st.container(width="stretch", gap="xsmall"):
            st.title(say(f"{page}.title"), anchor=False)
            st.caption(say(f"{page}.about"))
        st.segmented_control(
            say("shell.language"), list(LANGUAGES), format_func=LANGUAGES.__getitem__, default=say.language, key=f"language-{say.language}",
            on_change=_switch_language, args=(say.language,), label_visibility="collapsed", required=True,
        )  # fmt: skip


def run_origin(say: Say, run: Run) -> None:
    """Which model read which corpus, and how much of it: the line above a run's figures."""
    st.caption(
        say(
            "corpus.provenance",
            model=escaped(str(run.facts.model.name)),
            corpus=escaped(str(run.facts.corpus.name)),
            texts=say.count("texts", run.facts.counts["texts"]),
            tokens=say.count("tokens", run.facts.counts["tokens"]),
        )
    )


def _switch_language(before: str) -> None:
    st.session_state.language = st.session_state[f"language-{before}"] or before
    if "lang" in st.query_params:
        del st.query_params["lang"]
