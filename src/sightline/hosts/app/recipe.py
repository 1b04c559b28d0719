"""The same in Python and on the command line: what a page just did, ready to be pasted."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from sightline.hosts.app.address import Looking
from sightline.hosts.app.messages import Say


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
            "import sightline as sl",
            "",
            f"trace = sl.load({place!r}).trace({texts})",
            f'sl.{looking.view}_view(trace{begin}).save("view.html")',
            f'sl.attention_graph(trace, {state.get("layer", 0)}, {(state.get("heads") or [0])[0]}).save("head.svg")',
        )
    )


def looking_console(looking: Looking, place: str, state: Mapping[str, Any]) -> str:
    """One text, one view, as a command."""
    words = ["sightline", "view", looking.text]
    words += ["--pair", looking.pair] if looking.pair else []
    words += ["--model", place, "--view", looking.view]
    words += ["--layer", str(state["layer"])] if "layer" in state and looking.view != "model" else []
    words += ["--head", str(state["heads"][0])] if len(state.get("heads") or ()) == 1 and looking.view != "model" else []
    # an argument that begins with a dash would be read as an option
    return shlex.join([*words, "-o", "view.html"]) if not looking.text.startswith("-") else shlex.join(
        ["sightline", "view", *words[3:], "-o", "view.html", "--", looking.text]
    )  # fmt: skip


def analysis_python(place: str, only: Sequence[str], names: Mapping[str, str], limit: int) -> str:
    """A corpus through statistics, as Python."""
    statistics = ", ".join(f"sl.{names[name]}()" for name in only)
    return "\n".join(
        (
            "import sightline as sl",
            "",
            f'run = sl.analyse(sl.load({place!r}), sl.read_corpus("corpus.txt"), [{statistics}], limit={limit})',
            'run.save("run")  # tables, figures and report.html',
        )
    )


def analysis_console(place: str, only: Sequence[str], limit: int) -> str:
    """The same as a command."""
    chosen = [word for name in only for word in ("--only", name)]
    return shlex.join(["sightline", "analyse", "corpus.txt", "--model", place, *chosen, "--limit", str(limit), "-o", "run"])
