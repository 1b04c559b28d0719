"""BertViz' neuron view: `from eyeline.bertviz.neuron_view import show`, or `eyeline.bertviz.neuron_view(…)`; and the arrays behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from eyeline.bertviz.traces import check_action, check_mode, deliver, theme_of
from eyeline.errors import TextError
from eyeline.look.trace import Trace
from eyeline.look.views.neuron import neuron_view as our_neuron_view
from eyeline.models.load import wrap


def show(
    model: Any,
    model_type: str | None,
    tokenizer: Any,
    sentence_a: str,
    sentence_b: str | None = None,
    display_mode: str = "dark",
    layer: int | None = None,
    head: int | None = None,
    html_action: str = "view",
) -> Any:
    """Show the neuron view, or return it as IPython's HTML (`html_action="return"`).

    model, tokenizer   of transformers (AutoModel, AutoTokenizer): BertViz' own copies of the models are not needed
    model_type         not needed either, since the model says itself what it is; any value is accepted
    """
    check_action(html_action)
    check_mode(display_mode)
    trace = _trace_of(model, model_type, tokenizer, sentence_a, sentence_b, ("weights", "queries", "keys", "values"))
    return deliver(our_neuron_view(trace, layer=layer or 0, head=head or 0, theme=theme_of(display_mode)), html_action)


def get_attention(
    model: Any,
    model_type: str | None,
    tokenizer: Any,
    sentence_a: str,
    sentence_b: str | None = None,
    include_queries_and_keys: bool = False,
) -> dict[str, dict[str, Any]]:
    """Attention as BertViz' dictionary of lists: `all`, and of two sentences `aa`, `ab`, `ba`, `bb` (from which sentence to which).

    Each holds `left_text` and `right_text` (tokens), `attn` [layer][head][query][key], and with `include_queries_and_keys` also `queries`
    and `keys` [layer][head][token][dimension].
    """
    keep = ("weights", "queries", "keys") if include_queries_and_keys else ("weights",)
    stack = _trace_of(model, model_type, tokenizer, sentence_a, sentence_b, keep).only
    segments = np.array(stack.query_text.segments)
    sides = {"": np.arange(len(segments)), "a": np.flatnonzero(segments == 0), "b": np.flatnonzero(segments == 1)}  # [token]
    tokens = np.array([_bertviz_token(token, tokenizer) for token in tokenizer.convert_ids_to_tokens(list(stack.query_text.ids))])

    arrays = {"attn": stack.weights_by_layer, "queries": stack.queries_by_layer, "keys": stack.keys_by_layer}

    def part(left: str, right: str) -> dict[str, Any]:
        queries, keys = sides[left], sides[right]
        rows = {
            "attn": [weights[:, queries][:, :, keys].tolist() for weights in arrays["attn"]],
            "queries": [vectors[:, queries].tolist() for vectors in arrays["queries"]],
            "keys": [vectors[:, keys].tolist() for vectors in arrays["keys"]],
        }
        kept = {name: values for name, values in rows.items() if arrays[name]}
        return {**kept, "left_text": tokens[queries].tolist(), "right_text": tokens[keys].tolist()}

    pairs = {left + right: part(left, right) for left in "ab" for right in "ab"} if sentence_b else {}
    return {"all": part("", ""), **pairs}


def _trace_of(model: Any, model_type: str | None, tokenizer: Any, a: str, b: str | None, keep: tuple[str, ...]) -> Trace:
    """What is recorded of these sentences; the model is left as it was."""
    if not a:
        raise TextError("sentence_a is empty.", "Give the text to show.")
    before, training = getattr(model.config, "_attn_implementation", None), model.training
    try:
        return wrap(model, tokenizer, name=_shown_name(model, model_type)).trace(a, b, keep=keep)
    finally:
        if before is not None:
            model.set_attn_implementation(before)
        model.train(training)


def _bertviz_token(token: str, tokenizer: Any) -> str:
    """A token as BertViz writes it: without the tokeniser's marks of spaces; the special tokens as BERT has them."""
    named = {tokenizer.sep_token: "[SEP]", tokenizer.cls_token: "[CLS]"}
    return named.get(token, token.replace("Ġ", " ").replace("▁", " "))


def _shown_name(model: Any, model_type: str | None) -> str | None:
    """The name in the caption: not the folder that a model was read from, since pages are given to others."""
    path = str(getattr(model.config, "name_or_path", ""))
    return (model_type or type(model).__name__) if path and Path(path).is_dir() else None


#: BertViz has this function under the name `show` only.
neuron_view = show
