"""Look: a text, a model, three views of its attention, and a picture of one head."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from eyeline.capture.stack import Stack
from eyeline.capture.trace import Trace
from eyeline.errors import EyelineError
from eyeline.heads import HeadRef
from eyeline.hosts.app import mounted
from eyeline.hosts.app.address import KINDS, Looking, read_address, valid_state, write_address
from eyeline.hosts.app.figures.files import drawn, graph_file, page_file, trace_file, view_file
from eyeline.hosts.app.heading import heading
from eyeline.hosts.app.look import recipe
from eyeline.hosts.app.look.beside import beside
from eyeline.hosts.app.look.examples import EXAMPLES, OPENING, example_of
from eyeline.hosts.app.look.figures import VIEW, show_figures
from eyeline.hosts.app.look.mask import offer_mask
from eyeline.hosts.app.look.tokens import explain_tokens, say_language
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.models import (
    answer_of,
    choices,
    is_open,
    model_named,
    model_source,
    recipe_source,
    token_count,
    trace_of,
    view_cache,
)
from eyeline.hosts.app.plain import escaped, refuse
from eyeline.hosts.app.recipe import show_recipe
from eyeline.hosts.app.settings import current
from eyeline.hosts.app.view_state import VIEWS, with_state
from eyeline.views.spec import look_of_stack
from eyeline.views.view import View

IMAGES = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}
#: Characters that a field takes at all; far above the limit, so that a long text gets an answer rather than being cut.
MOST_TYPED = 200_000


def page(say: Say) -> None:
    heading(say, "look")
    looking = _form(say)
    if looking is None or (trace := _trace(say, looking)) is None:
        return
    if not {"layer", "heads", "stack"} & looking.state.keys():
        best = look_of_stack(next(iter(trace.stacks.values())))
        looking = replace(looking, state={**looking.state, "layer": best.layer, "heads": [best.head]})
        st.session_state.looking = looking
    # Streamlit forgets a widget that was not drawn last time, as after an empty text
    st.session_state.setdefault("look-view", looking.view)
    kind = st.segmented_control(
        say("look.view"), KINDS, format_func=lambda kind: say(f"look.view_{kind}"), key="look-view",
        label_visibility="collapsed", required=True,
    )  # fmt: skip
    looking = replace(looking, view=kind or looking.view)
    explain_tokens(say, looking.model, trace)
    offer_mask(say, looking, trace)
    _show(say, looking, trace, beside(say, looking, trace))
    show_figures(say, looking, trace)


def _form(say: Say) -> Looking | None:
    """The texts and the model: from the address at first, then from the form."""
    limits, own = current().limits, list(choices(current()))
    if "looking" not in st.session_state:
        default = Looking(*example_of(0, say.language, own[0]), model=own[0], state=OPENING.get(own[0], {}))
        st.session_state.looking = read_address(st.query_params.to_dict(), default)
    now: Looking = st.session_state.looking
    st.session_state.setdefault("look-text", now.text)
    st.session_state.setdefault("look-pair", now.pair)
    with st.form("look-form", border=False):
        first, second, side = st.columns([5, 3, 2], gap="medium", vertical_alignment="top")
        first.text_area(say("look.text"), key="look-text", height=92, max_chars=MOST_TYPED, help=say("look.text_help"))
        second.text_area(say("look.pair"), key="look-pair", height=92, max_chars=MOST_TYPED, help=say("look.pair_help"))
        name = _model_choice(say, side, own, now.model)
        side.form_submit_button(say("look.show"), type="primary", width="stretch", key="look-show")
    with st.container(horizontal=True, vertical_alignment="center", key="examples"):
        st.caption(say("look.examples"), width="content")
        for number in range(len(EXAMPLES[say.language])):
            label, arguments = say(f"look.example_{number}"), (number, say.language)
            st.button(label, key=f"example-{number}", on_click=_use_example, args=arguments, type="tertiary")
        say_language(say, name)
    text, pair = st.session_state["look-text"].strip(), st.session_state["look-pair"].strip()
    if not text:
        st.info(say("look.empty"), icon=":material/edit:")
        return None
    if len(text) + len(pair) > limits.characters:
        refuse(say, "look.too_long", n=f"{len(text) + len(pair):,}", most=f"{limits.characters:,}")
        return None
    state = now.state if (now.text, now.pair) == (text, pair) else {k: v for k, v in now.state.items() if k in ("layer", "heads")}
    if name != now.model:  # another model's heads do other things
        state = {key: value for key, value in state.items() if key not in ("layer", "heads")} | OPENING.get(name, {})
    looking = Looking(text, pair, name, now.view, state)
    st.session_state.looking = looking
    return looking


def _model_choice(say: Say, side: Any, own: list[str], now: str) -> str:
    listed = own if now in own or not now else [*own, now]
    st.session_state.setdefault("look-model", now if now in listed else own[0])
    if st.session_state["look-model"] not in listed:
        listed.append(st.session_state["look-model"])
    chosen: str = side.selectbox(
        say("look.model"), listed, key="look-model", help=say("look.model_help"), accept_new_options=current().allow_hub
    )
    return (chosen or own[0]).strip()


def _use_example(number: int, language: str) -> None:
    model = str(st.session_state.get("look-model", ""))
    text, pair = example_of(number, language, model)
    state = OPENING.get(model, {})
    st.session_state["look-text"], st.session_state["look-pair"] = text, pair
    now: Looking = st.session_state.looking
    st.session_state.looking = replace(now, text=text, pair=pair, state=state)


def _trace(say: Say, looking: Looking) -> Trace | None:
    """The trace, or a message and None."""
    known = choices(current())
    if looking.model not in known and not current().allow_hub:
        refuse(say, "look.failed", say("look.not_offered", model=looking.model[:80], known=say.listed(known)))
        return None
    try:
        if not is_open(looking.model):  # a spinner starts a thread: not on every run of the page
            with st.spinner(say("look.loading", model=escaped(looking.model[:80])), show_time=False):
                model_named(looking.model)
        limits, count = current().limits, token_count(looking.model, looking.text, looking.pair or None)
        if count > limits.tokens:
            refuse(say, "look.too_many", n=count, most=limits.tokens)
            return None
        return trace_of(looking.model, looking.text, looking.pair or None)
    except EyelineError as error:
        refuse(say, "look.failed", error)
        return None


@st.fragment
def _show(say: Say, looking: Looking, trace: Trace, also: tuple[Trace, ...]) -> None:
    """The view; then the address, the picture, the files and the recipe, which follow what the reader does in the view."""
    try:
        data = _packed(say, looking, trace, also)
    except EyelineError as error:
        refuse(say, "look.failed", error)
        return
    about = st.empty()  # above the view, and written after it: the words follow what the reader chose there
    mounted.bring_answer(VIEW)
    with st.container(key=VIEW):
        shown = mounted.show(data, key=f"look-shown-{looking.view}")
    state = {**looking.state, **valid_state(shown)}
    if _answers(trace):
        off = state.get("off")
        mounted.send_answer(data, answer_of(looking.model, trace, off if isinstance(off, str) else ""), key=f"look-answer-{looking.view}")
    as_heatmap = looking.view == "head" and state.get("as") == "heatmap"
    about.caption(say(f"look.view_{'heatmap' if as_heatmap else looking.view}_about"))
    looking = replace(looking, state=state)
    st.session_state.looking = looking
    parameters, whole = write_address(looking)
    if {key: value for key, value in st.query_params.items() if key != "lang"} != parameters:
        st.query_params.from_dict(parameters | ({"lang": st.query_params["lang"]} if "lang" in st.query_params else {}))
    st.caption(say("look.link") if whole else say("look.link_too_long"))
    st.subheader(say("look.picture"), anchor=False)
    _picture(say, looking, trace, also)
    source = recipe_source(looking.model)
    with_layer = "layer" in state or looking.view != "model"  # without a layer, the views of Python choose one themselves
    numbered = {**state, **({"layer": _layer(trace, state)} if with_layer else {})}
    show_recipe(say, recipe.python(looking, source, numbered), recipe.console(looking, source, numbered))


def _packed(say: Say, looking: Looking, trace: Trace, also: tuple[Trace, ...]) -> bytes:
    """The view in the state in which it opens, encoded once: later changes of its state happen in the browser."""
    drawn_also = tuple(each.quantity.method for each in also if each.quantity is not None)
    request = (looking.model, looking.text, looking.pair, looking.view, say.language, drawn_also)
    opened = st.session_state.setdefault("look-opened", {})
    if opened.get("request") != request:
        state = {**looking.state, "drawn": len(also)}  # what was chosen last is drawn at once
        if opened.get("request", request)[3] != "neuron" and not state.get("query"):
            state.pop("query", None)  # the other views have no query: it was not chosen
        opened.update(request=request, state=state)
    start = opened["state"]
    key = hashlib.sha256(repr((request, model_source(looking.model, current()), sorted(start.items()))).encode()).hexdigest()
    answers = _answers(trace)

    def drawn() -> bytes:
        return mounted.packed(with_state(VIEWS[looking.view](trace, also=also, language=say.language), start), say.part("view"), answers)

    return view_cache().get(key, drawn, len)


def _answers(trace: Trace) -> bool:
    """Whether a reader can switch off heads and lines of this view, and the model answers again."""
    return trace.prediction is not None


def _layer(trace: Trace, state: Mapping[str, Any]) -> int:
    """The number of the layer that a state shows: a state holds its index."""
    layers = _stack(trace, state).layers
    return layers[min(int(state.get("layer", 0)), len(layers) - 1)]


def _stack(trace: Trace, state: Mapping[str, Any]) -> Stack:
    """The stack that a state shows; the last one where the index of a link is too large."""
    return list(trace.stacks.values())[min(int(state.get("stack", 0)), len(trace.stacks) - 1)]


def _picture(say: Say, looking: Looking, trace: Trace, also: tuple[Trace, ...]) -> None:
    """One head as a graph, and the files to save."""
    state = looking.state
    stack, layer, heads = _stack(trace, state), _layer(trace, state), list(state.get("heads") or [])

    def as_seen() -> View:
        return with_state(VIEWS[looking.view](trace, also=also), {"drawn": len(also), **state})

    st.caption(say("look.picture_seen"))
    for column, (ending, kind) in zip(st.columns(len(IMAGES)), IMAGES.items(), strict=True):
        column.download_button(
            say(f"look.seen_{ending}"), partial(view_file, say, as_seen, ending),
            f"{looking.view}.{ending}", kind, on_click="ignore", icon=":material/visibility:", width="stretch",
            key=f"save-seen-{ending}",
        )  # fmt: skip
    left, right = st.columns([1, 2], gap="large")  # the graph stands beside its own settings: it does not follow those of the view
    with left:
        st.caption(say("look.picture_about"))
        fields = st.columns(2)
        layer = fields[0].selectbox(say("look.layer"), stack.layers, index=stack.layers.index(layer), key=f"graph-layer-{layer}")
        every = list(range(len(stack.weights_by_layer[stack.layers.index(layer)])))
        first = heads[0] if len(heads) == 1 and heads[0] in every else 0
        head = fields[1].selectbox(say("look.head"), every, index=first, key=f"graph-head-{first}")
        key = (looking.model, looking.text, looking.pair, stack.name, layer, head)
        for ending, kind in IMAGES.items():
            st.download_button(
                say(f"look.save_{ending}"), partial(graph_file, say, trace, key, ending), f"L{layer}-H{head}.{ending}", kind,
                on_click="ignore", icon=":material/image:", width="stretch", key=f"save-{ending}",
            )  # fmt: skip
        st.download_button(
            say("look.save_page"), lambda: page_file(say, as_seen()),
            f"{looking.view}.html", "text/html", on_click="ignore", icon=":material/article:", width="stretch", key="save-page",
        )  # fmt: skip
        st.download_button(
            say("look.save_trace"), lambda: trace_file(trace), "trace.safetensors", "application/octet-stream",
            on_click="ignore", icon=":material/database:", width="stretch", key="save-trace",
        )  # fmt: skip
    with right:
        _preview(say, trace, key, say("look.picture_alt", head=HeadRef("", layer, head)))


@st.fragment
def _preview(say: Say, trace: Trace, key: tuple[Hashable, ...], alt: str) -> None:
    """The graph of one head. Drawing it takes longer than all the rest of the page, so it waits until the visitor comes to it."""
    with st.container(key="graph"):
        if mounted.is_seen(hashlib.sha256(repr((key, say.language)).encode()).hexdigest(), key="eyeline-seen-graph"):
            st.image(drawn(graph_file(say, trace, key, "svg")), width="content", alt=alt)
