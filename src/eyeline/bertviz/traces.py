"""A trace from the arrays and tokens that BertViz' functions take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eyeline.capture.arrays import stack_from_arrays
from eyeline.capture.sources.tokens import looks_special
from eyeline.capture.stack import Stack
from eyeline.capture.trace import Trace
from eyeline.errors import TraceError
from eyeline.text.tokenized import TokenizedText


def included_layers(trace: Trace, include_layers: Sequence[int] | None) -> list[int] | None:
    """The layer numbers to include, or None for all of them: BertViz reads an empty list as all, and counts negative ones from the end."""
    if include_layers is None or len(include_layers) == 0:
        return None
    n_layers = max(len(stack.layers) for stack in trace.stacks.values())
    wrong = [layer for layer in include_layers if not -n_layers <= layer < n_layers]
    if wrong:
        raise TraceError(f"Layer {wrong[0]} in include_layers.", f"The layers are 0 to {n_layers - 1}.")
    return [layer % n_layers for layer in include_layers]


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
    """Tokens as BertViz takes them; prettify: without the tokeniser's marks of spaces."""
    if tokens is None:
        raise TraceError(f"'{name}' is required with '{wanted_by}'.", f"{name}=tokenizer.convert_ids_to_tokens(input_ids[0])")
    special = [looks_special(token) for token in tokens]
    shown = [token.replace("Ġ", " ").replace("▁", " ").replace("</w>", "") for token in tokens] if prettify else list(tokens)
    return TokenizedText.from_tokens(shown, special=special, second_from=second_from)
