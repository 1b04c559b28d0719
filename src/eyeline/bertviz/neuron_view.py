"""BertViz' neuron view: `from eyeline.bertviz.neuron_view import show`, or `eyeline.bertviz.neuron_view(…)`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eyeline.bertviz.traces import check_action, check_mode, deliver, theme_of
from eyeline.errors import TextError
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
    if not sentence_a:
        raise TextError("sentence_a is empty.", "Give the text to show.")
    before, training = getattr(model.config, "_attn_implementation", None), model.training
    try:
        named = wrap(model, tokenizer, name=_shown_name(model, model_type))
        trace = named.trace(sentence_a, sentence_b, keep=("weights", "queries", "keys", "values"))
    finally:
        if before is not None:
            model.set_attn_implementation(before)
        model.train(training)
    return deliver(our_neuron_view(trace, layer=layer or 0, head=head or 0, theme=theme_of(display_mode)), html_action)


def _shown_name(model: Any, model_type: str | None) -> str | None:
    """The name in the caption: not the folder that a model was read from, since pages are given to others."""
    path = str(getattr(model.config, "name_or_path", ""))
    return (model_type or type(model).__name__) if path and Path(path).is_dir() else None


#: BertViz has this function under the name `show` only.
neuron_view = show
