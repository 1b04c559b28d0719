"""From BertViz' arguments to a view: a trace from its arrays and tokens, and what happens with the view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from eyeline.errors import EyelineError, TraceError, install_hint
from eyeline.look.sources import looks_special
from eyeline.look.stack import Stack, stack_from_arrays
from eyeline.look.trace import Trace
from eyeline.look.views.page import frame
from eyeline.look.views.view import View
from eyeline.text.tokenized import TokenizedText


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


def included_layers(trace: Trace, include_layers: Sequence[int] | None) -> list[int] | None:
    """The layer numbers to include, or None for all of them: BertViz reads an empty list as all, and counts negative ones from the end."""
    if include_layers is None or len(include_layers) == 0:
        return None
    n_layers = max(len(stack.layers) for stack in trace.stacks.values())
    wrong = [layer for layer in include_layers if not -n_layers <= layer < n_layers]
    if wrong:
        raise TraceError(f"Layer {wrong[0]} in include_layers.", f"The layers are 0 to {n_layers - 1}.")
    return [layer % n_layers for layer in include_layers]


# ---- `html_action` and `display_mode`


def check_action(html_action: str) -> None:
    """Refuse an `html_action` that BertViz does not have."""
    if html_action not in ("view", "return"):
        raise TraceError(f"html_action={html_action!r}.", "Choices: view, return.")


def check_mode(display_mode: str) -> None:
    """Refuse a `display_mode` that BertViz does not have."""
    if display_mode not in ("light", "dark"):
        raise TraceError(f"display_mode={display_mode!r}.", "Choices: light, dark.")


def theme_of(display_mode: str) -> Literal["light", "dark"]:
    """The theme that a checked mode means."""
    return "light" if display_mode == "light" else "dark"


def deliver(view: View, html_action: str) -> Any:
    """Show the view (html_action="view"), or return it as IPython's HTML ("return")."""
    try:
        from IPython import display
    except ImportError as error:
        raise EyelineError("Showing in a notebook needs IPython, which is not installed.", install_hint("notebook")) from error
    if html_action == "view":
        show: Any = display.display
        show(view)
        return None

    class FramedPage(display.HTML):
        """`.data` is a whole page, to be written to a file; in a cell it shows inside a frame, where its style touches nothing else."""

        def _repr_html_(self) -> str:
            return frame(self.data)

    page_class: Any = FramedPage
    return page_class(view.html())
