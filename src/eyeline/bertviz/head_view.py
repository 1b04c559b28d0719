"""BertViz' head view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eyeline.bertviz.traces import check_action, deliver, included_layers, trace_of
from eyeline.errors import TraceError
from eyeline.look.views.head import head_view as our_head_view


def head_view(
    attention: Any = None,
    tokens: Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    include_layers: Sequence[int] | None = None,
    html_action: str = "view",
) -> Any:
    """Show the head view, or return it as IPython's HTML (`html_action="return"`)."""
    check_action(html_action)
    trace = trace_of(
        (attention, tokens, sentence_b_start),
        (encoder_attention, decoder_attention, cross_attention, encoder_tokens, decoder_tokens),
        prettify_tokens,
    )
    layers = included_layers(trace, include_layers)
    if layer is not None and layers is not None and layer not in layers:
        raise TraceError(f"Layer {layer} is not in include_layers: {layers}.")
    stack = next((name for name, each in trace.stacks.items() if layer is None or layer in each.layers), None)
    if layer is None and stack is not None:  # as BertViz: the first layer with all heads
        layer = next((number for number in trace.stacks[stack].layers if layers is None or number in layers), None)
    return deliver(our_head_view(trace, stack=stack, layer=layer, heads=heads, layers=layers), html_action)
