"""The head view: a line from each token to the tokens it attends to, a colour per head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from eyeline.look.trace import Trace
from eyeline.look.views.live import AnswersAgain
from eyeline.look.views.options import HeadViewOptions
from eyeline.look.views.view import View, lay_out, telling_head


def head_view(
    trace: Trace,
    *,
    stack: str | None = None,
    layer: int | None = None,
    heads: Sequence[int] | int | None = None,
    layers: Sequence[int] | None = None,
    also: Sequence[Trace] = (),
    model: AnswersAgain | None = None,
    effects: bool = False,
    language: str = "en",
    **options: Unpack[HeadViewOptions],
) -> View:
    """Two columns of tokens and a line for each weight; above 256 tokens a heatmap.

    stack, layer, heads   where the reader begins: encoder, decoder or cross; a layer number; the heads switched on (all). Without layer
                          and heads: with effects, the head that changes the answer most when it is switched off; else the head with the
                          strongest look from one word to a distant one, if its weight is 0.5 or more
    layers                the layers to include (all): fewer make a smaller page
    also                  quantities beside attention (`el.attribute`), to switch to with "what is drawn"
    model                 the model that made the trace: in a notebook, lines and heads can be switched off, and its answer changes
    effects               with model: what the answer becomes when each head alone is switched off is written into the view
    language              of its controls, titles, notices and pictures: en, ja or ko
    options               any other key of the state in docs/view-format.md, such as `theme="dark"` or `level="word"`

    >>> from eyeline.look.trace import Trace
    >>> head_view(Trace.from_arrays([[[[0.5, 0.5], [1.0, 0.0]]]], ["a", "b"]), layer=0)
    <head view of arrays, 2 tokens>
    """
    anywhere = layer is None and heads is None
    if anywhere and not effects and (head := telling_head(trace, stack, layers, options)):
        layer, heads = head.layer, [head.head]
    view = lay_out(
        "head",
        trace,
        stack=stack,
        layers=layers,
        start=layer,
        heads=heads,
        state=dict(options),
        also=also,
        model=model,
        effects=effects,
        language=language,
    )
    return at_largest_effect(view) if anywhere and effects else view


def at_largest_effect(view: View) -> View:
    """The view, opened at the head that changes the answer most when it is switched off, where effects are in it."""
    stack = view.spec["stacks"][view.state["stack"]]
    indices = {layer["layer"]: index for index, layer in enumerate(stack["layers"])}
    effects = [each for each in view.spec.get("effects", ()) if each["stack"] == stack["name"] and each["layer"] in indices]
    changes = [
        (abs(probability - view.spec["prediction"]["choices"][0]["probabilities"][0]), indices[each["layer"]], head)
        for each in effects
        for head, probability in enumerate(each["probabilities"])
    ]
    if not changes:
        return view
    _, layer, head = max(changes, key=lambda change: change[0])
    return view.starting(layer=layer, heads=[head])
