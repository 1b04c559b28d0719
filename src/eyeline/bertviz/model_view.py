"""BertViz' model view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eyeline.bertviz.traces import check_action, check_mode, deliver, included_layers, theme_of, trace_of
from eyeline.look.views.model import model_view as our_model_view


def model_view(
    attention: Any = None,
    tokens: Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    display_mode: str = "dark",
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
    html_action: str = "view",
) -> Any:
    """Show the model view, or return it as IPython's HTML (`html_action="return"`)."""
    check_action(html_action)
    check_mode(display_mode)
    trace = trace_of(
        (attention, tokens, sentence_b_start),
        (encoder_attention, decoder_attention, cross_attention, encoder_tokens, decoder_tokens),
        prettify_tokens,
    )
    # BertViz reads an empty list as all heads.
    heads = include_heads or None
    return deliver(
        our_model_view(trace, layers=included_layers(trace, include_layers), heads=heads, theme=theme_of(display_mode)), html_action
    )
