"""One text in one view, in Python and as a command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from eyeline.hosts.app.address import Looking


def python(looking: Looking, source: str, state: Mapping[str, Any]) -> str:
    """As Python. source: what `el.load` takes."""
    texts = ", ".join(map(repr, [looking.text, looking.pair] if looking.pair else [looking.text]))
    options = f", layer={state['layer']}" if "layer" in state else ""
    if looking.view == "head" and state.get("heads"):
        options += f", heads={list(state['heads'])}"
    if looking.view == "neuron" and state.get("heads"):
        options += f", head={state['heads'][0]}"
    return "\n".join(
        (
            "import eyeline as el",
            "",
            f"trace = el.load({source!r}).trace({texts})",
            f'el.{looking.view}_view(trace{options}).save("view.html")',
            f'el.figures.attention_graph(trace, {state.get("layer", 0)}, {(state.get("heads") or [0])[0]}).save("head.svg")',
        )
    )


def console(looking: Looking, source: str, state: Mapping[str, Any]) -> str:
    """As a command."""
    options = ["--pair", looking.pair] if looking.pair else []
    options += ["--model", source, "--view", looking.view]
    options += ["--layer", str(state["layer"])] if "layer" in state and looking.view != "model" else []
    options += ["--head", str(state["heads"][0])] if len(state.get("heads") or ()) == 1 and looking.view != "model" else []
    options += ["-o", "view.html"]
    # an argument that begins with a dash would be read as an option
    words = [*options, "--", looking.text] if looking.text.startswith("-") else [looking.text, *options]
    return shlex.join(["eyeline", "view", *words])
