"""CircuitsVis' functions of `circuitsvis.attention`. Colours and their range are not taken: a head has its colour, a weight is 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eyeline.errors import TraceError
from eyeline.look.sources import looks_back_only, text_from
from eyeline.look.stack import as_numpy, stack_from_arrays
from eyeline.look.trace import Trace
from eyeline.look.views.head import head_view
from eyeline.look.views.model import model_view
from eyeline.look.views.view import View


def attention_patterns(tokens: Sequence[str], attention: Any) -> View:
    """All heads of a layer as thumbnails; a click opens one.

    tokens      strings, such as model.to_str_tokens(text)
    attention   [head, query, key], rows of queries (CircuitsVis: destination by source)

    >>> attention_patterns(["a", "b"], [[[1.0, 0.0], [0.5, 0.5]]])
    <model view of attention, 2 tokens>
    """
    return model_view(_trace(tokens, attention, None))


def attention_heads(
    attention: Any, tokens: Sequence[str], attention_head_names: Sequence[str] | None = None, *, mask_upper_tri: bool | None = None
) -> View:
    """The same with its arguments in the order of `attention_heads`, which replaced `attention_patterns`.

    attention_head_names   must stay None: a head is named by its layer and its number
    mask_upper_tri         True: later keys are left out, as in a decoder
    """
    if attention_head_names is not None:
        raise TraceError(
            "attention_head_names: heads have their own names here, such as L3·H7.",
            "With all layers of a cache: el.model_view(el.Trace.from_transformer_lens(cache)).",
        )
    return model_view(_trace(tokens, attention, mask_upper_tri))


def attention_pattern(tokens: Sequence[str], attention: Any, *, mask_upper_tri: bool | None = None) -> View:
    """One head, [query, key], as a heatmap."""
    options: Any = {"as": "heatmap"}  # `as` is a keyword of Python
    return head_view(_trace(tokens, as_numpy(attention)[None], mask_upper_tri), layer=0, **options)


def _trace(tokens: Sequence[str], attention: Any, mask_upper_tri: bool | None) -> Trace:
    weights = as_numpy(attention)  # [head, query, key], or with a batch axis of size 1
    if mask_upper_tri:
        weights = np.tril(weights)
    name = "decoder" if looks_back_only([weights]) else "encoder"
    return Trace("attention", {name: stack_from_arrays([weights], text_from(tokens, "tokens"), name=name)})
