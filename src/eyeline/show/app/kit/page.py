"""What every page has: its top, errors and text from visitors shown safely, the recipe at its foot, and its visitor."""

from __future__ import annotations

import re
import secrets
import shlex
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import ParamSpec

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from eyeline.errors import EyelineError
from eyeline.measure.runs.run import Run
from eyeline.show.app.kit.settings import current
from eyeline.show.app.kit.sharing import TURNS, TooManyPagesError
from eyeline.text.tokenized import printable
from eyeline.words import LANGUAGES, Words, language_of

# ---- The top of a page: its title, what it is for, the choice of language; the top of a run: what it was measured on


def heading(say: Words, page: str) -> None:
    """A page's title and what it is for."""
    with st.container(gap="xsmall", key="heading"):
        st.title(say(f"{page}.title"), anchor=False)
        st.caption(say(f"{page}.about"))


def choose_language(say: Words) -> None:
    """The choice of language, in the bar above every page."""
    st.segmented_control(
        say("shell.language"), list(LANGUAGES), format_func=LANGUAGES.__getitem__, default=say.language, key=f"language-{say.language}",
        on_change=_switch_language, args=(say.language,), label_visibility="collapsed", required=True,
    )  # fmt: skip


def language() -> str:
    """The visitor's choice, else the address's, else the browser's."""
    requested = st.query_params.get("lang", "")
    if "language" not in st.session_state:
        st.session_state.language = requested if requested in LANGUAGES else language_of(st.context.locale)
    return str(st.session_state.language)


def _switch_language(before: str) -> None:
    st.session_state.language = st.session_state.get(f"language-{before}") or before
    if "lang" in st.query_params:
        del st.query_params["lang"]


def run_origin(say: Words, run: Run) -> None:
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


# ---- Text from visitors: shown as it is, never interpreted as markup


#: /a/b/name or C:\\a\\b\\name, but no part of an address (https://a/b) or of words (and/or).
ABSOLUTE_PATH = re.compile(r"(?<![\w:/.~…-])(?:[A-Za-z]:[/\\]|/)(?:[^/\\\s'\"<>|]+[/\\])+([^/\\\s'\"<>|]*)")


def escaped(text: str) -> str:
    """Text that Markdown, and Streamlit's own signs (colours, icons, formulas), leave as it is.

    >>> escaped("*a* <b> :red[x] $y$")
    '\\\\*a\\\\* \\\\<b\\\\> \\\\:red\\\\[x\\\\] \\\\$y\\\\$'
    """
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", printable(text))


def refuse(say: Words, key: str, error: EyelineError | str = "", /, **values: object) -> None:
    """Show the error message of that key; below it the exact reason, with what to do about it in the app."""
    st.error(say(key, **values), icon=":material/error:")
    if error:
        reason = say.of(error.for_app if isinstance(error, EyelineError) else error)
        st.code("\n".join(printable(line) for line in without_paths(reason).splitlines()), language=None, wrap_lines=True)


def without_paths(text: str) -> str:
    """The text without the folders of this machine: visitors read the names of files, not where they are.

    A path in the workspace begins with the workspace's name, any other absolute path keeps its last part alone.
    """
    workspace = current().workspace
    for folder in {str(workspace.resolve()), str(workspace.absolute())}:
        if len(folder) > 1:
            text = re.sub(re.escape(folder) + r"(?![\w-]|\.\w)", lambda _: workspace.name, text)
    for folder in (tempfile.gettempdir(), str(Path.home())):
        if len(folder) > 1:
            text = re.sub(re.escape(folder) + r"[/\\](?:[^/\\\s'\"]+[/\\])*", "…/", text)
    return ABSOLUTE_PATH.sub(r"…/\1", text)


# ---- The box at the foot of a page: what the page just did, in Python and as commands, ready to be pasted


#: The file of a text that was typed into the page.
TYPED_TEXT = "corpus.txt"


@dataclass(frozen=True)
class CorpusFile:
    """The file that a recipe reads. is_sample: the recipe writes the built-in sample to it first."""

    name: str
    is_sample: bool = False


def show_recipe(say: Words, python: str, console: str) -> None:
    """The box, closed until the visitor opens it."""
    with st.expander(say("shell.same"), icon=":material/terminal:"):
        st.caption(say("shell.same_python"))
        st.code(python, language="python", wrap_lines=True)
        st.caption(say("shell.same_console"))
        st.code(console, language="sh", wrap_lines=True)


def python_opening(file: CorpusFile, *imports: str) -> list[str]:
    """The first lines: imports, and writing the sample where it is what the page read."""
    sample_import = ["from eyeline.corpora import write_text"] if file.is_sample else []
    return ["import eyeline as el", *imports, *sample_import, "", *([f"write_text({file.name!r})"] if file.is_sample else [])]


def console_opening(file: CorpusFile) -> list[str]:
    """The first command: writing the sample where it is what the page read."""
    return [shlex.join(["eyeline", "sample-text", "-o", file.name])] if file.is_sample else []


# ---- The visitor: a random number that the browser keeps in a cookie; no other visitor knows it


VISITOR_ID = re.compile(r"[0-9a-f]{32}")

COOKIE = "eyeline_visitor"


def visitor() -> str:
    """The id of this visitor: from the cookie, or a new one that the page then stores there."""
    cookie = str(st.context.cookies.get(COOKIE, ""))
    if "visitor" not in st.session_state:
        st.session_state.visitor = cookie if VISITOR_ID.fullmatch(cookie) else secrets.token_hex(16)
    return str(st.session_state.visitor)


# ---- The turn of this visitor's page


Parameters = ParamSpec("Parameters")


@contextmanager
def in_turn() -> Iterator[None]:
    """Wait for the turn of this page, and hold it in this block; a visitor who has too many pages waiting is told so instead."""
    context = get_script_run_ctx()
    try:
        with TURNS.turn(visitor(), "" if context is None else context.session_id):
            yield
    except TooManyPagesError:
        st.error(Words(language())("shell.too_many"), icon=":material/hourglass:")
        st.stop()


def fragment(part: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """A part of a page that is drawn again alone when something in it changes, in the turn of its visitor."""

    @st.fragment
    @wraps(part)
    def drawn_in_turn(*arguments: Parameters.args, **options: Parameters.kwargs) -> None:
        with in_turn():
            part(*arguments, **options)

    return drawn_in_turn
