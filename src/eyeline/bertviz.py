"""BertViz' two functions with BertViz' arguments, showing our views: change the import and keep the calls.

    from eyeline.bertviz import head_view, model_view        # was: from bertviz import head_view, model_view

Taken from BertViz 1.4.1. Also accepted here: NumPy arrays, layers without the batch axis, layers of different head counts, and
encoders and decoders of different depths.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from eyeline.capture.arrays import stack_from_arrays
from eyeline.capture.trace import Stack, Trace
from eyeline.errors import EyelineError, TraceError, install_hint
from eyeline.text.tokenized import TokenizedText
from eyeline.views import View
from eyeline.views.frame import frame
from eyeline.views.head import head_view as our_head_view
from eyeline.views.model import model_view as our_model_view

__all__ = ["head_view", "model_view"]

#: Tokens that tokenisers add, as they are spelled: BertViz' calls do not say which they are.
SPECIAL = re.compile(r"\[(CLS|SEP|PAD|MASK|UNK|BOS|EOS)\]|</?(s|pad|mask|unk|bos|eos|cls|sep)>|<\|[^|]*\|>")


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
    if layer is not None and include_layers is not None and layer not in include_layers:
        raise TraceError(f"Layer {layer} is not in include_layers: {list(include_layers)}.")
    stack = next((name for name, one in trace.stacks.items() if layer is None or layer in one.layers), None)
    return give(our_head_view(trace, stack=stack, layer=layer, heads=heads, layers=include_layers), html_action)


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
    if display_mode not in ("light", "dark"):
        raise TraceError(f"display_mode={display_mode!r}.", "Choices: light, dark.")
    trace = trace_of(
        (attention, tokens, sentence_b_start),
        (encoder_attention, decoder_attention, cross_attention, encoder_tokens, decoder_tokens),
        prettify_tokens,
    )
    return give(our_model_view(trace, layers=include_layers, heads=include_heads, theme=display_mode), html_action)


def check_action(html_action: str) -> None:
    if html_action not in ("view", "return"):
        raise TraceError(f"html_action={html_action!r}.", "Choices: view, return.")


def trace_of(one_tower: tuple[Any, ...], two_towers: tuple[Any, ...], prettify: bool) -> Trace:
    """One trace from BertViz' two groups of arguments: self-attention, or encoder, decoder and cross attention."""
    attention, tokens, sentence_b_start = one_tower
    encoder_attention, decoder_attention, cross_attention, encoder_tokens, decoder_tokens = two_towers
    if attention is not None:
        if any(given is not None for given in two_towers):
            raise TraceError("Both 'attention' and encoder-decoder arguments.", "'attention' is for models with self-attention only.")
        if len(attention) == 0:
            raise TraceError(
                "'attention' is empty.",
                "In transformers 5 the last output of many models is their (missing) cross attention. Pass outputs.attentions,",
                "from a model loaded with attn_implementation='eager' and called with output_attentions=True.",
            )
        text = text_of(tokens, "tokens", "attention", prettify, sentence_b_start)
        return Trace("attention", {"encoder": stack_from_arrays(attention, text)})
    sides = (
        ("encoder", encoder_attention, "encoder", "encoder"),
        ("decoder", decoder_attention, "decoder", "decoder"),
        ("cross", cross_attention, "decoder", "encoder"),
    )
    given_tokens = {"encoder": encoder_tokens, "decoder": decoder_tokens}
    stacks: dict[str, Stack] = {}
    for name, weights, query_side, key_side in sides:
        if weights is None:
            continue
        query_text, key_text = (
            text_of(given_tokens[side], f"{side}_tokens", f"{name}_attention", prettify, None) for side in (query_side, key_side)
        )
        stacks[name] = stack_from_arrays(weights, query_text, key_text, name=name)
    if not stacks:
        raise TraceError("No attention.", "Pass attention and tokens, or encoder_, decoder_ or cross_attention with their tokens.")
    return Trace("attention", stacks)


def text_of(tokens: Sequence[str] | None, name: str, wanted_by: str, prettify: bool, second_from: int | None) -> TokenizedText:
    if tokens is None:
        raise TraceError(f"'{name}' is required with '{wanted_by}'.", f"{name}=tokenizer.convert_ids_to_tokens(input_ids[0])")
    special = [SPECIAL.fullmatch(token) is not None for token in tokens]
    shown = [token.replace("Ġ", " ").replace("▁", " ").replace("</w>", "") for token in tokens] if prettify else list(tokens)
    return TokenizedText.from_tokens(shown, special=special, second_from=second_from)


def give(view: View, html_action: str) -> Any:
    try:
        from IPython import display
    except ImportError as error:
        raise EyelineError("Showing in a notebook needs IPython, which is not installed.", install_hint("notebook")) from error
    if html_action == "view":
        show: Any = display.display
        show(view)
        return None

    class Page(display.HTML):
        """`.data` is a whole page, to be written to a file; in a cell it shows inside a frame, where its style touches nothing else."""

        def _repr_html_(self) -> str:
            return frame(self.data)

    made: Any = Page
    return made(view.html())
