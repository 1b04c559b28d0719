"""A view that shows and saves itself: `view` as the last line of a notebook cell, `view.save("x.html")`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from eyeline.errors import TraceError, nearest
from eyeline.heads import HeadRef
from eyeline.look.stack import Stack, as_kept
from eyeline.look.trace import Trace, check_trace
from eyeline.look.views.data import (
    NEAREST,
    Encoded,
    ViewData,
    also_arrays,
    check_also,
    encode_mask,
    encode_quantity,
    encode_vectors,
    encode_weights,
    quantity_record,
)
from eyeline.look.views.live import AnswersAgain, answer_without, check_answers
from eyeline.look.views.notebook import EmbeddedPage, embedded_page, live_widget, mimebundle, show
from eyeline.look.views.options import StateOptions
from eyeline.look.views.page import page, save
from eyeline.look.views.state import checked
from eyeline.mathematics import StrongestLook, strongest_look
from eyeline.text.tokenized import TokenizedText, index_of
from eyeline.words import Words, check_language


class View(ViewData):
    """Attention ready to be looked at.

    The last expression of a notebook cell shows it; `save("x.html")` writes a page that works offline.
    """

    def update(self, **changes: Unpack[StateOptions]) -> None:
        """Change the state of the live widget, as if the reader had: `view.update(layer=3, heads=[7])`."""
        self.widget().state = {**self.state, **checked(dict(changes), self.spec, self.state)}

    def html(self) -> str:
        """One self-contained page, as a string."""
        return page(self)

    def save(self, path: str | Path, language: str | None = None) -> None:
        """Write a page (.html), or a picture of the view in its present state (.svg, .pdf, .png); whole or not at all.

        language   of the page, or of the line under a picture that says how it was made: en, ja or ko; else that of the view
        """
        save(self, path, language)

    def embed(self) -> EmbeddedPage:
        """The view as a page inside the notebook: `view.embed()` as the last line of a cell.

        It stays live in a saved notebook without a kernel, in nbviewer and in exported HTML. The file grows by the size of the page, about
        2 MB for 128 tokens and 144 heads; fewer layers make it smaller (`el.head_view(trace, layers=[3])`).
        """
        return embedded_page(self)

    def widget(self) -> Any:
        """The live anywidget of this view (created once), whose `state` follows the reader."""
        return live_widget(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return mimebundle(self)

    def _ipython_display_(self) -> None:
        show(self)

    def _display_(self) -> Any:
        """Called by marimo."""
        return self.widget()


# ---- What every kind of view shares: texts, stacks and arrays of a trace, laid out as docs/view-format.md says


FORMAT = 1

#: A look of at least this weight is worth to be opened at.
STRONG = 0.5


def lay_out(
    kind: str,
    trace: Trace,
    *,
    stack: str | None,
    layers: Sequence[int] | None,
    start: int | None,
    heads: Iterable[int] | int | None,
    state: dict[str, Any],
    also: Sequence[Trace] = (),
    model: AnswersAgain | None = None,
    effects: bool = False,
    language: str = "en",
) -> View:
    """Build a view. `stack`, `start` (a layer number) and `heads` are where the reader begins; `layers` are those included.

    With `model`, a reader of the live view can switch heads and lines off; with `effects`, the effect of each head is in the view itself.
    """
    check_trace(trace)
    check_answers(trace, model, effects)
    check_language(language)
    if kind != "neuron" and trace.quantity is None and not also:
        trace = replace(trace, stacks={name: each_stack.with_sink() for name, each_stack in trace.stacks.items()})
    stacks = {name: chosen_layers(each_stack, layers) for name, each_stack in trace.stacks.items()}
    stacks = {name: chosen for name, chosen in stacks.items() if chosen}
    if not stacks:
        have = "; ".join(f"{name}: {', '.join(map(str, each_stack.layers))}" for name, each_stack in trace.stacks.items())
        raise TraceError(f"None of the layers {', '.join(map(str, layers or ()))} is in this trace.", f"It has {have}.")
    if stack is not None and stack not in stacks:
        raise TraceError(f"No {stack} attention in this view.", nearest(stack, stacks))
    begin = stack or next(iter(stacks))
    if "heads" in state:
        raise TraceError("heads=… in a neuron view.", "It shows one head: give head=….")
    shown = {"stack": list(stacks).index(begin), **position(trace.stacks[begin], stacks[begin], start, heads)}

    check_also(trace, also)
    quantities = [quantity_record(each) for each in (trace, *also)]
    texts: list[TokenizedText] = []
    arrays: dict[str, Encoded] = {}
    records: list[dict[str, Any]] = []
    for name, chosen in stacks.items():
        each_stack = trace.stacks[name]
        records.append(
            {
                "name": name,
                "query_text": index_of(each_stack.query_text, texts),
                "key_text": index_of(each_stack.key_text, texts),
                "layers": [layer_record(each_stack, index, arrays, quantities[0], vectors=kind == "neuron") for index in chosen],
            }
        )
        for record in records[-1]["layers"] if also else ():
            record["also"] = also_arrays(each_stack, record["layer"], also, quantities[1:], arrays)
        if kind == "neuron" and not each_stack.has("values"):
            records[-1]["why_no_values"] = "not_given" if each_stack.why("values").key == "notice.missing.not_given" else "not_kept"
    spec: dict[str, Any] = {
        "format": FORMAT,
        "kind": kind,
        "model": trace.model,
        "texts": [text_record(text) for text in texts],
        "stacks": records,
    }
    if also or trace.quantity is not None:
        spec["quantities"] = quantities
    notices = [*trace.notices, *(notice for each in also for notice in each.notices if notice not in trace.notices)]
    if notices:
        spec["notices"] = list(map(Words(language).of, notices))
    if trace.prediction is not None:
        spec["prediction"] = trace.prediction.to_json()
        if effects and model is not None:
            spec["effects"] = model.head_effects(trace)
    spec["state"] = {**checked(state, spec, shown), **shown}
    view = View(kind, spec, arrays, language)
    if model is not None and trace.prediction is not None:
        view._live["answer"] = partial(answer_without, model, trace)
    return view


def chosen_layers(stack: Stack, layers: Sequence[int] | None) -> list[int]:
    """The indices of these layers in the stack (None: all layers); a layer that the stack does not have is ignored."""
    return [index for index, layer in enumerate(stack.layers) if layers is None or layer in layers]


def position(stack: Stack, chosen: Sequence[int], start: int | None, heads: Iterable[int] | int | None) -> dict[str, Any]:
    """The state's `layer` and `heads`, checked against what the stack holds; a single head may be given without a list."""
    numbers = [stack.layers[index] for index in chosen]
    if start is not None and start not in numbers:
        raise TraceError(f"Layer {start} is not in this view.", f"The {stack.name} has layers {', '.join(map(str, numbers))}.")
    at = 0 if start is None else numbers.index(start)
    begins: dict[str, Any] = {"layer": at}
    if heads is not None:
        count = n_heads(stack, chosen[at])
        if isinstance(heads, str | bytes) or not isinstance(heads, Iterable | Integral):
            raise TraceError(f"heads={heads!r}.", "Give a list of head numbers, such as [0, 3].")
        each = list(heads) if isinstance(heads, Iterable) else [heads]
        known = list(stack.heads or range(count))
        wrong = [head for head in each if isinstance(head, bool) or not isinstance(head, Integral) or head not in known]
        if wrong:
            which = f"It has {count} heads, 0 to {count - 1}." if not stack.heads else f"This trace holds {', '.join(map(str, known))}."
            raise TraceError(f"Head {wrong[0]} is not in layer {numbers[at]}.", which)
        begins["heads"] = [known.index(int(head)) for head in each]
    return begins


def n_heads(stack: Stack, index: int) -> int:
    """How many heads the layer at this index has."""
    stack.check_has("weights")
    return len(as_kept(stack.weights_by_layer)[index])


def layer_record(stack: Stack, index: int, arrays: dict[str, Encoded], quantity: dict[str, Any], *, vectors: bool) -> dict[str, Any]:
    """One layer's entry; its arrays are added to `arrays` under the names that the entry gives."""
    prefix = f"{stack.name}.{stack.layers[index]}"
    count = n_heads(stack, index)
    record: dict[str, Any] = {"layer": stack.layers[index], "n_heads": count, "n_key_heads": count, "weights": f"{prefix}.weights"}
    if stack.heads:
        record["heads"] = list(stack.heads)
    weights = stack.weights_by_layer[index]
    attention = quantity["method"] == "attention"
    near = NEAREST if vectors else None
    arrays[record["weights"]] = encode_weights(weights, near=near) if attention else encode_quantity(weights, quantity)
    if not vectors:
        return record
    for what in ("queries", "keys"):
        record[what] = f"{prefix}.{what}"
        arrays[record[what]] = encode_vectors(getattr(stack, f"{what}_by_layer")[index])
    record["values"] = f"{prefix}.values" if stack.has("values") else None
    if record["values"] is not None:
        arrays[record["values"]] = encode_vectors(stack.values_by_layer[index])
    record["n_key_heads"] = len(as_kept(stack.keys_by_layer)[index])
    record["scale"] = stack.scales[index]
    bias = stack.bias_by_layer[index] if stack.bias_by_layer else None
    record["bias"] = None if bias is None else f"{prefix}.bias"
    if bias is not None:
        arrays[record["bias"]] = encode_vectors(bias)
    record["mask"] = named_mask(mask_of(stack, index), prefix, arrays)
    return record


def mask_of(stack: Stack, index: int) -> np.ndarray | None:
    """[query, key], True where a query may look; None: everywhere.

    Where the trace does not say, a key is taken as masked for a query if it gets exactly nothing from any head: no softmax does that.
    """
    if stack.mask_by_layer:
        return stack.mask_by_layer[index]
    allowed = np.max(np.nan_to_num(stack.weights_by_layer[index]), axis=0) > 0  # [query, key]
    return None if bool(np.all(allowed)) else np.asarray(allowed)


def named_mask(mask: np.ndarray | None, prefix: str, arrays: dict[str, Encoded]) -> str | None:
    """The name of the mask among the arrays; layers mostly share one, which is then written once."""
    if mask is None:
        return None
    encoded = encode_mask(mask)
    for name, array in arrays.items():
        if array.dtype == "bits" and array == encoded:
            return name
    arrays[f"{prefix}.mask"] = encoded
    return f"{prefix}.mask"


def text_record(text: TokenizedText) -> dict[str, Any]:
    """A text as the spec describes it."""
    names = ("tokens", "special", "segments", "words", "word_texts", *(("parts", "part_of") if text.parts else ()))
    return {name: list(getattr(text, name)) for name in names}


def look_of_stack(
    stack: Stack, layers: Sequence[int] | None = None, heads: Sequence[int] | None = None, *, query: int | None = None
) -> StrongestLook:
    """The strongest look from a word to a distant word in a stack; of the layers and heads at these indices, or of all.

    query   from this token alone, such as the one at which a model answers
    """
    sides = [
        np.array([is_word(*pair) for pair in zip(text.tokens, text.special, strict=True)]) for text in (stack.query_text, stack.key_text)
    ]
    if query is not None:
        sides[0] = np.arange(len(sides[0])) == query
    return strongest_look(stack.weights_by_layer, *sides, one_text=stack.query_text == stack.key_text, layers=layers, heads=heads)


def opening_head(trace: Trace, stack: str | None = None) -> tuple[int | None, int | None]:
    """Numbers of the layer and the head at which a view opens, in this stack or the first one; None where the stack has no weights."""
    opened = trace.stacks.get(stack) if stack else next(iter(trace.stacks.values()))
    if opened is None or not opened.has("weights"):
        return None, None
    best = look_of_stack(opened)
    return opened.layers[best.layer], opened.heads[best.head] if opened.heads else best.head


def telling_head(trace: Trace, stack: str | None, layers: Sequence[int] | None, state: Mapping[str, Any]) -> HeadRef | None:
    """The head at which a view of attention opens if none is given; None where no head of the included layers has a strong look.

    None, too, where `state` draws something else than single heads.
    """
    check_trace(trace)
    opened = trace.stacks.get(stack) if stack else next((each for each in trace.stacks.values() if chosen_layers(each, layers)), None)
    other = bool(state.get("drawn")) or trace.quantity is not None or state.get("combine", "each") != "each"
    if opened is None or other or not opened.has("weights") or opened.level == "word":
        return None
    best = look_of_stack(opened, chosen_layers(opened, layers))
    number = opened.heads[best.head] if opened.heads else best.head
    return HeadRef(opened.name, opened.layers[best.layer], number) if best.weight >= STRONG else None


def first_layer(trace: Trace, stack: str | None = None) -> int:
    """The number of the first layer of this stack, or of the first stack."""
    opened = trace.stacks.get(stack or "") or next(iter(trace.stacks.values()))
    return opened.layers[0]


def first_head(trace: Trace, stack: str | None = None) -> int:
    """The number of the first head of this stack, or of the first stack."""
    opened = trace.stacks.get(stack or "") or next(iter(trace.stacks.values()))
    return opened.heads[0] if opened.heads else 0


def is_word(token: str, special: bool) -> bool:
    """Neither a special token nor punctuation."""
    return not special and any(char.isalnum() for char in token)
