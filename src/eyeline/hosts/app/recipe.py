"""The box at the foot of a page: what the page just did, in Python and as commands, ready to be pasted."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

import streamlit as st

from eyeline.hosts.app.messages import Say

#: The file of a text that was typed into the page.
TYPED_TEXT = "corpus.txt"


@dataclass(frozen=True)
class CorpusFile:
    """The file that a recipe reads. is_sample: the recipe writes the built-in sample to it first."""

    name: str
    is_sample: bool = False


def show_recipe(say: Say, python: str, console: str) -> None:
    """The box, closed until the visitor opens it."""
    with st.expander(say("shell.same"), icon=":material/terminal:"):
        st.caption(say("shell.same_python"))
        st.code(python, language="python", wrap_lines=True)
        st.caption(say("shell.same_console"))
        st.code(console, language="sh", wrap_lines=True)


def python_opening(file: CorpusFile, *imports: str) -> list[str]:
    """The first lines: imports, and writing the sample where it is what the page read."""
    sample_import = ["from eyeline.sample.text import write_text"] if file.is_sample else []
    return ["import eyeline as el", *imports, *sample_import, "", *([f"write_text({file.name!r})"] if file.is_sample else [])]


def console_opening(file: CorpusFile) -> list[str]:
    """The first command: writing the sample where it is what the page read."""
    return [shlex.join(["eyeline", "sample-text", "-o", file.name])] if file.is_sample else []
