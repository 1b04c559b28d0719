"""The model view: every layer and head as a thumbnail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sightline.capture.trace import Trace
from sightline.views.spec import lay_out
from sightline.views.view import View


def model_view(
    trace: Trace, *, stack: str | None = None, layers: Sequence[int] | None = None, heads: Sequence[int] | None = None, **state: Any
) -> View:
    """A grid of all heads, a row a layer.

    stack    where the reader begins: encoder, decoder or cross
    layers   the layers to include (all): fewer make a smaller page
    heads    the columns shown first (all); the others stay a click away
    """
    view = lay_out("model", trace, stack=stack, layers=layers, start=None, heads=heads, state=state)
    return view if heads is None else view.starting(columns=list(heads))
