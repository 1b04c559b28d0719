"""Look: a text, a model, three views of its attention, and a picture of one head."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from eyeline.errors import EyelineError
from eyeline.figures import available, record_of
from eyeline.heads import HeadRef
from eyeline.look.embedded import EMBEDDED
from eyeline.look.stack import Stack, as_kept
from eyeline.look.trace import Trace
from eyeline.look.views.view import View, look_of_stack
from eyeline.measure.heads.profile import notable_heads
from eyeline.measure.runs.run import Run
from eyeline.show.app.kit import figures, mounted
from eyeline.show.app.kit.address import KINDS, Looking, read_address, valid_state, write_address
from eyeline.show.app.kit.figures import drawn, graph_file, page_file, trace_file, view_file
from eyeline.show.app.kit.models import (
    answer_of,
    choices,
    compute_slot,
    is_open,
    model_key,
    model_named,
    quantity_of,
    recipe_source,
    token_count,
    trace_of,
    view_cache,
)
from eyeline.show.app.kit.mounted import VIEWS, with_state
from eyeline.show.app.kit.page import escaped, fragment, heading, refuse, show_recipe
from eyeline.show.app.kit.settings import current
from eyeline.show.app.kit.sharing import Cache
from eyeline.text.encode import byte_tokens, count_unknown
from eyeline.text.words import segment
from eyeline.words import Words

if TYPE_CHECKING:
    from eyeline.models.model import Model

IMAGES = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}

#: Characters that a field takes at all; far above the limit, so that a long text gets an answer rather than being cut.
MOST_TYPED = 200_000


def page(say: Words) -> None:
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
    _show(say, looking, choose_quantities(say, looking, trace))
    show_figures(say, looking, trace)


def _form(say: Words) -> Looking | None:
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


def _model_choice(say: Words, side: Any, own: list[str], now: str) -> str:
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


def _trace(say: Words, looking: Looking) -> Trace | None:
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


def _traces(looking: Looking, quantities: tuple[str, ...]) -> tuple[Trace, tuple[Trace, ...]]:
    """The trace and the quantities beside it. A session keeps the request and not the arrays: the cache alone decides how many stay."""
    text, pair = looking.text, looking.pair or None
    return trace_of(looking.model, text, pair), tuple(quantity_of(looking.model, text, pair, method) for method in quantities)


@fragment
def _show(say: Words, looking: Looking, quantities: tuple[str, ...]) -> None:
    """The view; then the address, the picture, the files and the recipe, which follow what the reader does in the view."""
    try:
        trace, also = _traces(looking, quantities)
        data = _packed(say, looking, trace, also)
    except EyelineError as error:
        refuse(say, "look.failed", error)
        return
    about = st.empty()  # above the view, and written after it: the words follow what the reader chose there
    mounted.scroll_to_answer(VIEW)
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
    _picture(say, looking, _stack(trace, state), quantities)
    source = recipe_source(looking.model)
    with_layer = "layer" in state or looking.view != "model"  # without a layer, the views of Python choose one themselves
    numbered = {**state, **({"layer": _layer(trace, state)} if with_layer else {})}
    show_recipe(say, python(looking, source, numbered), console(looking, source, numbered))


def _packed(say: Words, looking: Looking, trace: Trace, also: tuple[Trace, ...]) -> bytes:
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
    key = hashlib.sha256(repr((request, model_key(looking.model), sorted(start.items()))).encode()).hexdigest()
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


def _picture(say: Words, looking: Looking, shown: Stack, quantities: tuple[str, ...]) -> None:
    """One head as a graph, and the files to save."""
    state, stack = looking.state, shown.name
    heads, layers = list(state.get("heads") or []), list(shown.layers)
    n_heads = [len(weights) for weights in as_kept(shown.weights_by_layer)]
    layer = layers[min(int(state.get("layer", 0)), len(layers) - 1)]

    def as_seen() -> View:
        trace, also = _traces(looking, quantities)
        return with_state(VIEWS[looking.view](trace, also=also), {"drawn": len(also), **state})

    def recorded() -> Trace:
        return _traces(looking, ())[0]

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
        layer = fields[0].selectbox(say("look.layer"), layers, index=layers.index(layer), key=f"graph-layer-{layer}")
        every = list(range(n_heads[layers.index(layer)]))
        first = heads[0] if len(heads) == 1 and heads[0] in every else 0
        head = fields[1].selectbox(say("look.head"), every, index=first, key=f"graph-head-{first}")
        key = (model_key(looking.model), looking.text, looking.pair, stack, layer, head)
        name = HeadRef("", layer, head).file_name
        for ending, kind in IMAGES.items():
            st.download_button(
                say(f"look.save_{ending}"), partial(graph_file, say, recorded, key, ending), f"{name}.{ending}", kind,
                on_click="ignore", icon=":material/image:", width="stretch", key=f"save-{ending}",
            )  # fmt: skip
        st.download_button(
            say("look.save_page"), lambda: page_file(say, as_seen()),
            f"{looking.view}.html", "text/html", on_click="ignore", icon=":material/article:", width="stretch", key="save-page",
        )  # fmt: skip
        st.download_button(
            say("look.save_trace"), lambda: trace_file(recorded()), "trace.safetensors", "application/octet-stream",
            on_click="ignore", icon=":material/database:", width="stretch", key="save-trace",
        )  # fmt: skip
    with right:
        _preview(say, looking, key, say("look.picture_alt", head=HeadRef("", layer, head)))


@fragment
def _preview(say: Words, looking: Looking, key: tuple[Hashable, ...], alt: str) -> None:
    """The graph of one head. Drawing it takes longer than all the rest of the page, so it waits until the visitor comes to it."""
    with st.container(key="graph"):
        if mounted.is_seen(hashlib.sha256(repr((key, say.language)).encode()).hexdigest(), key="eyeline-seen-graph"):
            st.image(drawn(graph_file(say, lambda: _traces(looking, ())[0], key, "svg")), width="content", alt=alt)


# ---- The example sentences: in the visitor's language where the model reads it, else in English


#: Text and second text: a pronoun, two sentences, a word with two meanings.
EXAMPLES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "en": (
        ("The cat sat on the mat because it was tired.", ""),
        ("The cat sat on the mat.", "It purred."),
        ("The bank by the river was closed, so she sat on the grass.", ""),
    ),
    "ja": (
        ("花子は本を読み終えると、それを棚に戻した。", ""),
        ("猫が敷物の上に座った。", "そして、喉を鳴らした。"),
        ("手の空いた人は手を挙げた。", ""),
    ),
    "ko": (
        ("지우는 책을 다 읽고 그것을 책장에 꽂았다.", ""),
        ("고양이가 매트 위에 앉았다.", "그러고는 가르랑거렸다."),
        ("그는 배를 타고 가면서 배를 먹었다.", ""),
    ),
}

#: The head on which the English examples open: L5·H6 of e5-small-mlm gives 0.96 from *it* to *cat* in the first, 0.85 in the second.
#: Other models open at the head with the strongest look between two words.
OPENING: Mapping[str, dict[str, Any]] = {"e5-small-mlm": {"layer": 5, "heads": [6]}, "minilm": {"layer": 5, "heads": [11]}}


def example_of(index: int, language: str, model: str) -> tuple[str, str]:
    """Text and second text of an example. The embedded models were trained on English; for any other model, its tokeniser decides."""
    own = EXAMPLES.get(language, EXAMPLES["en"])[index]
    if language == "en" or any(embedded.name == model for embedded in EMBEDDED):
        return EXAMPLES["en"][index]
    try:
        return own if reads(model_named(model), own[0]) else EXAMPLES["en"][index]
    except EyelineError:  # the page says why this model cannot be opened
        return EXAMPLES["en"][index]


def reads(model: Model, text: str) -> bool:
    """Whether a model has tokens for this text: none unknown, none a single byte, and no more tokens than characters.

    A tokeniser that takes letters apart has more: an English BERT splits Korean syllables into their parts, which it knows.
    """
    read = [model.read(text).source]
    unknown, tokens = count_unknown(read, model._tokenizer)
    return unknown == 0 and not byte_tokens(read) and tokens <= len(text)


# ---- Which languages a model reads, and what unknown tokens and bytes mean where they appear


def say_language(say: Words, model: str) -> None:
    """Beside the field: the language that an embedded model was trained on. Of other models nothing is known."""
    if any(embedded.name == model for embedded in EMBEDDED):
        st.caption(say("look.reads_english", model=escaped(model)), width="content")


def explain_tokens(say: Words, model: str, trace: Trace) -> None:
    """Above the view: how many tokens the model does not know, or spells byte by byte."""
    texts = list(dict.fromkeys(text for stack in trace.stacks.values() for text in (stack.query_text, stack.key_text)))
    tokenizer = model_named(model)._tokenizer
    unknown, total = count_unknown(texts, tokenizer)
    token = escaped(str(getattr(tokenizer, "unk_token", "")))
    if unknown:
        st.caption(say("look.unknown", model=escaped(model), n=unknown, total=total, token=token))
    if in_bytes := byte_tokens(texts):
        example = escaped(in_bytes[0].lstrip("▁"))  # without the mark of a new word
        st.caption(say("look.bytes", model=escaped(model), n=len(in_bytes), total=total, example=example))


# ---- A masked language model and a text without a mask: why there is no answer, and one click that masks a word


#: The most words that are offered.
MOST_WORDS = 24


def offer_mask(say: Words, looking: Looking, trace: Trace) -> None:
    """Says why the model answers nothing, where a mask is missing, with a button for each word that could be masked."""

    model = model_named(looking.model)
    words = [] if trace.prediction is not None else words_to_mask(model, looking.text)
    if not words:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="mask-words"):
        st.caption(say("look.no_mask", model=escaped(looking.model), mask=escaped(model.mask_token or "")), width="content")
        for number, masked in enumerate(words[:MOST_WORDS]):
            st.button(escaped(masked.word), key=f"mask-{number}", on_click=_write, args=(masked.text,), type="tertiary")


def _write(text: str) -> None:
    st.session_state["look-text"] = text


@dataclass(frozen=True)
class MaskedWord:
    """A word, and the text in which the mask stands for it."""

    word: str
    text: str


def words_to_mask(model: Model, text: str) -> list[MaskedWord]:
    """Every word of a text masked alone; nothing for a model that answers without a mask, and for a text that has one."""
    mask = model.mask_token
    if mask is None or mask in text:
        return []
    spans = [(start, end) for start, end in segment(text) if text[start:end].isalnum()]
    return [MaskedWord(text[start:end], text[:start] + mask + text[end:]) for start, end in spans]


# ---- Quantities beside attention: which to compute for the text; the view then has the switch "what is drawn"


#: Quantities that can be chosen at once.
MOST_QUANTITIES = 4


def choose_quantities(say: Words, looking: Looking, trace: Trace) -> tuple[str, ...]:
    """The names of the quantities that the visitor chose, now computed; one that this model refuses is named with its reason.

    Where the model answers nothing, the quantities about an answer are not offered, and the page says why.
    """
    from eyeline.measure.causes.quantities import METHODS

    names = [name for name in METHODS if name not in ("attention", "flow")]
    left_out = [name for name in names if METHODS[name].needs_answer and trace.prediction is None]
    names = [name for name in names if name not in left_out]
    kept = [name for name in st.session_state.get("look-beside", ()) if name in names]
    if kept != st.session_state.get("look-beside", kept):
        st.session_state["look-beside"] = kept
    chosen = st.multiselect(
        say("look.beside"), names, format_func=lambda name: say(f"view.drawn_{name.replace('-', '_')}"), key="look-beside",
        help=say("look.beside_help"), max_selections=MOST_QUANTITIES, placeholder=say("look.beside_none"),
    )  # fmt: skip
    if left_out:
        listed = say.listed(escaped(say(f"view.drawn_{name.replace('-', '_')}")) for name in left_out)
        st.caption(say("look.beside_left_out", names=listed, model=escaped(looking.model)))
    computed = []
    for name in chosen:
        try:
            with st.spinner(say(f"view.drawn_{name.replace('-', '_')}")):
                quantity_of(looking.model, looking.text, looking.pair or None, name)
            computed.append(name)
        except EyelineError as error:
            refuse(say, "look.failed", error)
    return tuple(computed)


# ---- One text, every figure: figures 1, 2, 4 and 6 of Clark et al.


#: Figures 2, 4 and 6, and the statistics behind them. Figure 1 is drawn from the trace.
FIGURES, STATISTICS = ("average_attention", "entropy", "head_map"), ("average_attention", "entropy", "distances")

#: The container of the view.
VIEW = "look-shown"

#: Heads of figure 1.
HEADS = 4

_RUNS = Cache(8)


def show_figures(say: Words, looking: Looking, trace: Trace) -> None:
    """A button; once it is clicked, the figures of this text, until another text is shown."""
    request, key = (looking.model, looking.text, looking.pair), model_key(looking.model)
    st.button(
        say("look.figures"), key="look-figures", icon=":material/bar_chart:", help=say("look.figures_help"), on_click=_ask, args=(request,)
    )
    if st.session_state.get("look-figures-of") != request:
        return
    try:
        with st.spinner(say("look.figures")):
            run = _RUNS.get((key, request), lambda: _measure(*request), lambda _: 1)
        layers = {name: tuple(stack.layers) for name, stack in trace.stacks.items()}
        digest = hashlib.sha256(repr((key, request)).encode()).hexdigest()
        folder = Path(f"look-{digest[:16]}")  # a name for what is kept; nothing is written
        _heads(say, run, looking, trace)
        for name in available(run):
            if record_of(name)[0].name in FIGURES:
                figures.show(say, run, name, folder, partial(_open_head, layers), lit=_open(st.session_state.looking, trace))
    except EyelineError as error:
        refuse(say, "look.failed", error)


def _open(looking: Looking, trace: Trace) -> HeadRef | None:
    """The head that the view shows, where it shows a single one."""
    stacks, state = list(trace.stacks.values()), looking.state
    stack, heads = stacks[min(int(state.get("stack", 0)), len(stacks) - 1)], list(state.get("heads") or [])
    index = int(state.get("layer", 0))
    if len(heads) != 1 or index >= len(stack.layers):
        return None
    return HeadRef(stack.name if len(stacks) > 1 else "", stack.layers[index], int(heads[0]))


def _open_head(layers: Mapping[str, Sequence[int]], head: HeadRef) -> None:
    """Show a head that was clicked in a figure in the view above, and scroll to the view. layers: stack → the numbers of its layers."""
    names = list(layers)
    stack = names.index(head.stack) if head.stack in names else 0
    if head.layer not in layers[names[stack]]:
        return
    layer = layers[names[stack]].index(head.layer)
    now: Looking = st.session_state.looking
    opened = {"layer": layer, "heads": [head.head]} | ({"stack": stack} if len(names) > 1 else {})
    st.session_state.looking = replace(now, view="head", state={**now.state, **opened})
    st.session_state["look-view"] = "head"
    st.session_state.pop("look-opened", None)
    mounted.note_click(VIEW)


def _ask(request: tuple[str, str, str]) -> None:
    st.session_state["look-figures-of"] = request


def _measure(model: str, text: str, pair: str) -> Run:
    from eyeline.measure.corpus.catalogue import statistics_named
    from eyeline.measure.corpus.run import analyse

    opened = model_named(model)
    with compute_slot():
        return analyse(opened, [(text, pair) if pair else text], statistics_named(STATISTICS))


def _heads(say: Words, run: Run, looking: Looking, trace: Trace) -> None:
    """Figure 1: the heads that stand out in this text, each with its reason."""
    notable = notable_heads(run)[:HEADS]
    if not notable:
        return
    st.subheader(say("look.figure_heads"), anchor=False)
    for column, entry in zip(st.columns(len(notable)), notable, strict=True):
        stack = entry.head.stack or next(iter(trace.stacks))
        key = (model_key(looking.model), looking.text, looking.pair, stack, entry.head.layer, entry.head.head)
        with column:
            st.caption(f"**{escaped(entry.head.full_label)}** {escaped(entry.why(say))}")
            alt = say("look.picture_alt", head=entry.head.full_label)
            st.image(drawn(graph_file(say, lambda: trace, key, "svg")), width="stretch", alt=alt)


# ---- The page in Python and as a command


def python(looking: Looking, source: str, state: Mapping[str, Any]) -> str:
    """As Python. source: what `el.load` takes."""
    texts = ", ".join(map(repr, [looking.text, looking.pair] if looking.pair else [looking.text]))
    options = f", layer={state['layer']}" if "layer" in state else ""
    if looking.view == "head" and state.get("heads"):
        options += f", heads={list(state['heads'])}"
    if looking.view == "neuron" and state.get("heads"):
        options += f", head={state['heads'][0]}"
    return "\n".join(
        (
            "import eyeline as el",
            "",
            f"trace = el.load({source!r}).trace({texts})",
            f'el.{looking.view}_view(trace{options}).save("view.html")',
            f'el.figures.attention_graph(trace, {state.get("layer", 0)}, {(state.get("heads") or [0])[0]}).save("head.svg")',
        )
    )


def console(looking: Looking, source: str, state: Mapping[str, Any]) -> str:
    """As a command."""
    options = ["--pair", looking.pair] if looking.pair else []
    options += ["--model", source, "--view", looking.view]
    options += ["--layer", str(state["layer"])] if "layer" in state and looking.view != "model" else []
    options += ["--head", str(state["heads"][0])] if len(state.get("heads") or ()) == 1 and looking.view != "model" else []
    options += ["-o", "view.html"]
    # an argument that begins with a dash would be read as an option
    words = [*options, "--", looking.text] if looking.text.startswith("-") else [looking.text, *options]
    return shlex.join(["eyeline", "view", *words])
