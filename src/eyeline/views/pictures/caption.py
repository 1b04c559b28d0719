"""The line under a picture of a view: what its state left out or changed."""

from __future__ import annotations

from eyeline.views.data import ViewData
from eyeline.words import Words

SWITCHES = ("hide_special", "hide_sink", "renormalise", "rescale")


def caption_of(view: ViewData, language: str = "en") -> str:
    """What differs from the plain weights between all tokens; empty where nothing does.

    Only the options of this kind of view are named: a neuron view has no words and no direction.
    """
    words, state = Words(language), view.state
    parts: list[str] = []
    if view.kind == "space":
        return ""
    between = view.kind != "neuron"
    if between and state.get("level") == "word":
        parts.append(words("figure.caption.word"))
    if state.get("segments", "all") != "all":
        first, second = state["segments"].upper()
        parts.append(words("figure.caption.segments", first=first, second=second))
    parts += [words(f"figure.caption.{key}") for key in SWITCHES if state.get(key)]
    if state.get("threshold"):
        parts.append(words("figure.label.weights_from", threshold=f"{state['threshold']:g}"))
    if between and state.get("combine", "each") != "each":
        layers = view.spec["stacks"][state.get("stack", 0)]["layers"]
        numbers = [layers[at]["layer"] for at in sorted({state.get("layer", 0), *state.get("combine_layers", ())})]
        several = "_layers" if len(numbers) > 1 else ""
        parts.append(words(f"figure.caption.{state['combine']}{several}", layers=", ".join(map(str, numbers))))
    if between and state.get("locked"):
        parts.append(words(f"figure.caption.held_{state.get('direction', 'from')}", n=len(state["locked"])))
    return " · ".join(parts)
