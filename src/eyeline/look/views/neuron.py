"""The neuron view: how one head's query and key vectors make its weights, and its weights the sum of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np

from eyeline.errors import TraceError
from eyeline.look.trace import Trace, check_trace
from eyeline.look.views.live import AnswersAgain
from eyeline.look.views.options import NeuronViewOptions
from eyeline.look.views.page import names_in
from eyeline.look.views.view import View, first_head, is_word, lay_out, telling_head
from eyeline.mathematics import StrongestLook, strongest_look
from eyeline.messages import Message
from eyeline.words import Words

#: A page of more bytes opens slowly: of a long text it holds some of the layers.
LARGEST_PAGE = 24_000_000

#: Signed numbers are stored in 65,535 steps from −1 to 1, none of which is exactly 0: smaller ones count as 0.
NOTHING = 2 / 65535


def neuron_view(
    trace: Trace,
    *,
    layer: int | None = None,
    head: int | None = None,
    stack: str | None = None,
    layers: Sequence[int] | None = None,
    also: Sequence[Trace] = (),
    model: AnswersAgain | None = None,
    effects: bool = False,
    language: str = "en",
    **options: Unpack[NeuronViewOptions],
) -> View:
    """The query vector, every key vector, their product by dimension, the scaled dot product, the softmax, and the values weighted by it.

    A trace without values gives the same view without its last step, and a line that says why.

    layer, head, stack   where the reader begins (without both: the head with the strongest look from one word to a distant one, if its
                         weight is 0.5 or more); without `query` at the word with the strongest look at another word
    layers               the layers to include (all, as far as a page of 24 MB holds them): fewer make a smaller page
    also                 quantities beside attention (`el.attribute`), to switch to with "what is drawn"
    model                the model that made the trace: in a notebook, the head and single keys can be switched off, and its answer changes
    effects              with model: what the answer becomes when each head alone is switched off is written into the view
    language             of its controls, titles, notices and pictures: en, ja or ko
    """
    check_trace(trace)
    for part in trace.stacks.values():
        missing = [what for what in ("queries", "keys") if not part.has(what)]
        if missing:
            raise TraceError(
                Message("refusal.neuron_view", stack=part.name),
                *(Message("refusal.nothing_kept", what=what, why=part.why(what)) for what in missing),
            )
        if len(part.scales) != len(part.layers):
            raise TraceError(
                f"The neuron view needs the scale of q·k, and the {part.name} has {len(part.scales)} for {len(part.layers)} layers.",
                "Give one number a layer, usually 1/√dim.",
            )
    if layer is None and head is None and (telling := telling_head(trace, stack, layers, options)):
        layer, head = telling.layer, telling.head
    view = lay_out(
        "neuron",
        trace,
        stack=stack,
        layers=layers,
        start=layer,
        heads=[first_head(trace, stack) if head is None else head],
        state=dict(options),
        also=also,
        model=model,
        effects=effects,
        language=language,
    )
    view = view if "query" in options else at_query_of_strongest_look(view)
    return within_a_page(view) if layers is None else view


def within_a_page(view: View) -> View:
    """The view with as many layers as a page of LARGEST_PAGE bytes holds, those nearest to the one that is shown; a notice says which."""
    sizes = {name: 4 / 3 * len(array.data) for name, array in view.arrays.items()}
    if sum(sizes.values()) <= LARGEST_PAGE:
        return view
    state, stacks = view.state, view.spec["stacks"]
    shown = state["stack"]
    nearest = sorted(range(len(stacks[shown]["layers"])), key=lambda index: abs(index - state["layer"]))
    order = [(shown, nearest[0]), *((at, 0) for at in range(len(stacks)) if at != shown), *((shown, index) for index in nearest[1:])]
    kept: set[tuple[int, int]] = set()
    names: set[str] = set()
    for number, (at, index) in enumerate(order):
        more = names | {name for name in names_in([stacks[at]["layers"][index]]) if name in sizes}
        if number >= len(stacks) and sum(sizes[name] for name in more) > LARGEST_PAGE:
            break
        kept, names = kept | {(at, index)}, more
    chosen = [[index for index in range(len(stack["layers"])) if (at, index) in kept] for at, stack in enumerate(stacks)]
    records = [{**stack, "layers": [stack["layers"][index] for index in own]} for stack, own in zip(stacks, chosen, strict=True)]
    notice = Message(
        "notice.neuron_view.layers",
        layers=", ".join(str(stacks[shown]["layers"][index]["layer"]) for index in chosen[shown]),
        all=len(stacks[shown]["layers"]),
        megabytes=round(sum(sizes.values()) / 1e6),
    )
    spec = {
        **view.spec,
        "stacks": records,
        "notices": [*view.spec.get("notices", ()), Words(view.language).of(notice)],
        "state": {**view.spec["state"], "layer": chosen[shown].index(state["layer"])},
    }
    smaller = replace(view, spec=spec, arrays={name: array for name, array in view.arrays.items() if name in names})
    smaller._live.update(view._live)
    return smaller


def at_query_of_strongest_look(view: View) -> View:
    """The neuron view, opened at the query with the strongest look at another word; of a quantity that only some queries have, at the
    query that has most of it."""
    state = view.state
    weights = np.abs(view.weights(state["stack"], state["layer"], state.get("drawn", 0)))  # [head, query, key]
    head = min(state["heads"][0], len(weights) - 1)
    rows = np.where(weights[head] > NOTHING, weights[head], 0).sum(axis=-1)
    if not rows.all() and rows.any():
        return view.starting(query=int(rows.argmax()))
    return view.starting(query=query_of_strongest_look(view).query)


def query_of_strongest_look(view: View) -> StrongestLook:
    """The strongest look from one word to another in the head that the view shows."""
    state = view.state
    stack = view.spec["stacks"][state["stack"]]
    weights = np.abs(view.weights(state["stack"], state["layer"], state.get("drawn", 0)))  # [head, query, key]
    texts = [view.spec["texts"][stack[side]] for side in ("query_text", "key_text")]
    sides = [np.array([is_word(*pair) for pair in zip(text["tokens"], text["special"], strict=True)]) for text in texts]
    one_text = stack["query_text"] == stack["key_text"]
    return strongest_look([weights], *sides, one_text=one_text, heads=[min(state["heads"][0], len(weights) - 1)])
