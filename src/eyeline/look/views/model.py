"""The model view: every layer and head as a thumbnail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

from eyeline.look.trace import Trace
from eyeline.look.views.heads_grid import HeadGrid, grids_of
from eyeline.look.views.live import AnswersAgain
from eyeline.look.views.options import ModelViewOptions
from eyeline.look.views.view import View, lay_out


def model_view(
    trace: Trace,
    *,
    stack: str | None = None,
    layers: Sequence[int] | None = None,
    model: AnswersAgain | None = None,
    effects: bool = False,
    heads: Sequence[int] | int | None = None,
    layer: int | None = None,
    head: int | None = None,
    also: Sequence[Trace] = (),
    grids: Sequence[HeadGrid] = (),
    language: str = "en",
    **options: Unpack[ModelViewOptions],
) -> View:
    """All heads at a glance, a row a layer; the colour says what switching each off does to the answer, or what it is like in this text.

    stack         where the reader begins: encoder, decoder or cross
    layers        the layers to include (all): fewer make a smaller page
    heads         the columns shown first (all); the others stay a click away
    layer, head   the head to open; one of them alone is the row or the column shown first
    grids         what colours may say beside the entropy of each head in this text and its attention on special tokens: roles, effects …
    also          quantities beside attention (`el.attribute`), to switch to with "what is drawn"
    model         the model that made the trace: in a notebook, heads can be switched off, and its answer changes
    effects       with model: what the answer becomes when each head alone is switched off is written into the view
    language      of its controls, titles, notices and pictures: en, ja or ko
    options       any other key of the state in docs/view-format.md, such as `theme="dark"`
    """
    begin = heads if head is None else [head]
    view = lay_out(
        "model",
        trace,
        stack=stack,
        layers=layers,
        start=layer,
        heads=begin,
        state=dict(options),
        also=also,
        model=model,
        effects=effects,
        language=language,
    )
    found = grids_of(view, trace, grids)
    view = replace(view, spec={**view.spec, "grids": found}) if found else view
    if "colour_by" not in options and found:
        view = view.starting(
            colour_by=next((name for name in ("effect", "role") if name in {each["quantity"] for each in found}), "entropy")
        )
    if layer is not None and head is not None:
        return view.starting(opened=True)
    shown = view if layer is None else view.starting(rows=[view.state["layer"]])
    return shown if begin is None else shown.starting(columns=view.state["heads"])
