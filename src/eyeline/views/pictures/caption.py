"""The line under a picture of a view: what its state left out or changed."""

from __future__ import annotations

from eyeline.views.data import ViewData

SWITCHES = {
    "hide_special": "special tokens hidden",
    "hide_sink": "the most attended token hidden",
    "renormalise": "rows sum to 1 again",
    "rescale": "each head stretched to its maximum",
}


def caption_of(view: ViewData) -> str:
    """What differs from the plain weights between all tokens; empty where nothing does.

    Only what this kind of view knows is named: a neuron view has no words and no direction.
    """
    state, parts = view.state, []
    if view.kind == "space":
        return ""
    between = view.kind != "neuron"
    if between and state.get("level") == "word":
        parts.append("between words: sum over the pieces of a key, mean over those of a query")
    if state.get("segments", "all") != "all":
        parts.append("only {}→{}".format(*state["segments"].upper()))
    parts += [words for key, words in SWITCHES.items() if state.get(key)]
    if state.get("threshold"):
        parts.append(f"weights from {state['threshold']:g}")
    if between and state.get("combine", "each") != "each":
        layers = view.spec["stacks"][state.get("stack", 0)]["layers"]
        numbers = [layers[at]["layer"] for at in sorted({state.get("layer", 0), *state.get("combine_layers", ())})]
        several = f", layers {', '.join(map(str, numbers))}" if len(numbers) > 1 else ""
        parts.append(f"{'mean' if state['combine'] == 'mean' else 'largest'} of the heads{several}")
    if between and state.get("locked"):
        parts.append(f"{len(state['locked'])} held: {'who looks at it' if state.get('direction') == 'to' else 'where it looks'}")
    return " · ".join(parts)
