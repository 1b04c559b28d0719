"""The same in Python and on the command line: what a page just did, ready to be pasted."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from eyeline.hosts.app.address import Looking
from eyeline.hosts.app.messages import Say

#: The file of a text that the page was given without one.
CORPUS = "corpus.txt"
#: A corpus's file, and whether the recipe writes the sample to it first.
File = tuple[str, bool]


def box(say: Say, python: str, console: str) -> None:
    """The box at the foot of a page."""
    with st.expander(say("shell.same"), icon=":material/terminal:"):
        st.caption(say("shell.same_python"))
        st.code(python, language="python", wrap_lines=True)
        st.caption(say("shell.same_console"))
        st.code(console, language="sh", wrap_lines=True)


def looking_python(looking: Looking, place: str, state: Mapping[str, Any]) -> str:
    """One text, one view, as Python."""
    texts = ", ".join(map(repr, [looking.text, looking.pair] if looking.pair else [looking.text]))
    begin = f", layer={state['layer']}" if "layer" in state else ""
    if looking.view == "head" and state.get("heads"):
        begin += f", heads={list(state['heads'])}"
    if looking.view == "neuron" and state.get("heads"):
        begin += f", head={state['heads'][0]}"
    return "\n".join(
        (
            "import eyeline as el",
            "",
            f"trace = el.load({place!r}).trace({texts})",
            f'el.{looking.view}_view(trace{begin}).save("view.html")',
            f'el.attention_graph(trace, {state.get("layer", 0)}, {(state.get("heads") or [0])[0]}).save("head.svg")',
        )
    )


def looking_console(looking: Looking, place: str, state: Mapping[str, Any]) -> str:
    """One text, one view, as a command."""
    words = ["eyeline", "view", looking.text]
    words += ["--pair", looking.pair] if looking.pair else []
    words += ["--model", place, "--view", looking.view]
    words += ["--layer", str(state["layer"])] if "layer" in state and looking.view != "model" else []
    words += ["--head", str(state["heads"][0])] if len(state.get("heads") or ()) == 1 and looking.view != "model" else []
    # an argument that begins with a dash would be read as an option
    return shlex.join([*words, "-o", "view.html"]) if not looking.text.startswith("-") else shlex.join(
        ["eyeline", "view", *words[3:], "-o", "view.html", "--", looking.text]
    )  # fmt: skip


def begun_python(file: File, *imports: str) -> list[str]:
    """The first lines: what is imported, and the sample, where it is what the page read."""
    written = ["from eyeline.sample.text import write_text"] if file[1] else []
    return ["import eyeline as el", *imports, *written, "", *([f"write_text({file[0]!r})"] if file[1] else [])]


def begun_console(file: File) -> list[str]:
    return [shlex.join(["eyeline", "sample-text", "-o", file[0]])] if file[1] else []


def analysis_python(place: str, file: File, only: Sequence[str], limit: int, names: Mapping[str, str]) -> str:
    """A corpus through statistics, as Python."""
    statistics = ", ".join(f"el.{names[name]}()" for name in only)
    return "\n".join(
        (
            *begun_python(file),
            f"run = el.analyse(el.load({place!r}), el.corpora.read_corpus({file[0]!r}), [{statistics}], limit={limit}, window=True)",
            'run.save("run")  # tables',
            'el.write_report("run")  # figures and report.html',
        )
    )


def analysis_console(place: str, file: File, only: Sequence[str], limit: int) -> str:
    """The same as commands."""
    chosen = [word for name in only for word in ("--only", name)]
    words = ["eyeline", "analyse", file[0], "--model", place, *chosen, "--limit", str(limit), "--window", "-o", "run"]
    return "\n".join([*begun_console(file), shlex.join(words)])
