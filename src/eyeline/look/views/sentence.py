"""The sentence view: a text in large type, with arcs from one word to the words that it looks at; and the text view, for long ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from eyeline.look.trace import Trace, check_trace
from eyeline.look.views.head import at_largest_effect
from eyeline.look.views.live import AnswersAgain
from eyeline.look.views.neuron import query_of_strongest_look
from eyeline.look.views.options import SentenceViewOptions, TextViewOptions
from eyeline.look.views.view import View, first_head, lay_out, telling_head


def sentence_view(
    trace: Trace,
    *,
    stack: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    layers: Sequence[int] | None = None,
    also: Sequence[Trace] = (),
    model: AnswersAgain | None = None,
    effects: bool = False,
    language: str = "en",
    **options: Unpack[SentenceViewOptions],
) -> View:
    """The text as a reader knows it, with an arc for each weight of one word, as wide as the weight; click another word to see its looks.

    stack, layer, head   where the reader begins: encoder, decoder or cross; a layer number; a head. Without layer and head: with effects,
                         the head that changes the answer most when it is switched off; else the head with the strongest look from one
                         word to a distant one, if its weight is 0.5 or more. Without `locked`, the chosen word is the one that the model
                         answers where effects are given, else the one with the strongest look
    layers               the layers to include (all): fewer make a smaller page
    also                 quantities beside attention (`el.attribute`), to switch to with "what is drawn"
    model                the model that made the trace: in a notebook, lines and heads can be switched off, and its answer changes
    effects              with model: what the answer becomes when each head alone is switched off is written into the view
    language             of its controls, titles, notices and pictures: en, ja or ko
    options              any other key of the state in docs/view-format.md, such as `theme="dark"` or `locked=[3]`

    >>> from eyeline.look.trace import Trace
    >>> sentence_view(Trace.from_arrays([[[[0.5, 0.5], [1.0, 0.0]]]], ["a", "b"])).state["locked"]
    [1]
    """
    given = {"layers": layers, "also": also, "model": model, "effects": effects, "language": language}
    return opened_at_word("sentence", trace, options, stack=stack, layer=layer, head=head, **given)


def text_view(
    trace: Trace,
    *,
    stack: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    layers: Sequence[int] | None = None,
    also: Sequence[Trace] = (),
    model: AnswersAgain | None = None,
    effects: bool = False,
    language: str = "en",
    **options: Unpack[TextViewOptions],
) -> View:
    """The paragraph itself, its words shaded by what one word looks at, with the map of the head beside it: for texts from some 200 to
    4,096 tokens, where a sentence with arcs is too long. Its options are those of `el.sentence_view`.

    >>> from eyeline.look.trace import Trace
    >>> text_view(Trace.from_arrays([[[[0.5, 0.5], [1.0, 0.0]]]], ["a", "b"]), locked=[0])
    <text view of arrays, 2 tokens>
    """
    given = {"layers": layers, "also": also, "model": model, "effects": effects, "language": language}
    return opened_at_word("text", trace, options, stack=stack, layer=layer, head=head, **given)


def opened_at_word(
    kind: str, trace: Trace, options: Mapping[str, Any], *, stack: str | None, layer: int | None, head: int | None, **given: Any
) -> View:
    """A view of a running text, opened at a head and a word that show something."""
    check_trace(trace)
    anywhere, effects = layer is None and head is None, given["effects"]
    if anywhere and not effects and (telling := telling_head(trace, stack, given["layers"], options)):
        layer, head = telling.layer, telling.head
    heads = [first_head(trace, stack) if head is None else head]
    view = lay_out(kind, trace, stack=stack, start=layer, heads=heads, state=dict(options), **given)
    if anywhere and effects:
        view = at_largest_effect(view)
    return view if "locked" in options else view.starting(locked=[chosen_word(view)])


def chosen_word(view: View) -> int:
    """The token whose looks a view shows first: the one that is answered where effects of heads are in the view, else that of the strongest
    look of its head; looked at from the other side, the key of that look."""
    state = view.state
    stack = view.spec["stacks"][state["stack"]]
    choices = view.spec.get("prediction", {}).get("choices") or [{}]
    answered = choices[0].get("position")
    from_queries = state.get("direction", "from") == "from"
    if "effects" in view.spec and from_queries and stack["query_text"] == 0 and answered is not None:
        return int(answered)
    look = query_of_strongest_look(view)
    return look.query if from_queries or look.key is None else look.key
