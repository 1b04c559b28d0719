"""This text: a sentence, what it looks at, what the model answers, and what happens when a head goes out."""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from eyeline.errors import EyelineError
from eyeline.figures import available, record_of
from eyeline.heads import HeadRef
from eyeline.look.answer import ONE_ANSWER, LayerEffects, Prediction
from eyeline.look.embedded import EMBEDDED
from eyeline.look.findings import AnswerWithout, findings
from eyeline.look.ready import READY
from eyeline.look.stack import Stack, as_kept
from eyeline.look.trace import Trace
from eyeline.look.views.heads_grid import grid_of_effects
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
    measuring,
    model_key,
    model_named,
    quantity_of,
    ready_of,
    recipe_source,
    token_count,
    trace_of,
    view_cache,
)
from eyeline.show.app.kit.mounted import VIEWS, with_state
from eyeline.show.app.kit.page import escaped, fragment, refuse
from eyeline.show.app.kit.settings import current
from eyeline.show.app.kit.sharing import Cache
from eyeline.text.encode import byte_tokens, count_unknown
from eyeline.text.tokenized import printable
from eyeline.text.words import segment
from eyeline.words import Words

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from eyeline.models.model import Model

IMAGES = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}

#: Characters that a field takes at all; far above the limit, so that a long text gets an answer rather than being cut.
MOST_TYPED = 200_000
#: A text of at most so many characters is a line to type into; a longer one, or one of several lines, has a larger field.
ONE_LINE = 160


def page(say: Words) -> None:
    with st.container(key="unseen"):  # for those who hear the page
        st.title(say("look.title"), anchor=False)
    looking, menu = _form(say)
    if looking is None or (trace := _trace(say, looking)) is None:
        return
    looking = _opened(say, looking, trace)
    st.session_state.looking = looking
    if ready_of(looking.model, looking.text, looking.pair) is None:  # a ready sentence has no unknown tokens, and needs no model to say so
        explain_tokens(say, looking.model, trace)
        offer_mask(say, looking, trace)
    _show(say, looking, choose_quantities(say, looking, trace, menu))
    _figures(say, looking)


def _form(say: Words) -> tuple[Looking | None, DeltaGenerator]:
    """The texts and the model: from the address at first, then from the form; and the menu. The sentence itself is the field."""
    limits, own = current().limits, list(choices(current()))
    if "looking" not in st.session_state:
        default = Looking(*example_of(0, say.language, own[0]), model=own[0])
        st.session_state.looking = read_address(st.query_params.to_dict(), default)
    now: Looking = st.session_state.looking
    st.session_state.setdefault("look-text", now.text)
    st.session_state.setdefault("look-pair", now.pair)
    # Streamlit forgets a widget that was not drawn last time, as after an empty text
    st.session_state.setdefault("look-view", now.view)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="chips"):
        name = _model_choice(say, own, now.model)
        with st.popover(say("look.more"), key="look-more"):
            st.text_area(say("look.pair"), key="look-pair", height=92, max_chars=MOST_TYPED, help=say("look.pair_help"))
            kind = st.segmented_control(
                say("look.view"), KINDS, format_func=lambda kind: say(f"look.view_{kind}"), key="look-view", required=True
            )  # fmt: skip
            menu = st.container()
            say_language(say, name)
        with st.popover(say("look.examples"), key="look-examples"):
            for number in range(len(EXAMPLES[say.language])):
                st.button(
                    example_of(number, say.language, name)[0], key=f"example-{number}", on_click=_use_example, args=(number, say.language),
                    type="tertiary",
                )  # fmt: skip
        st.caption(say("look.enter"), width="content")
    with st.form("look-form", border=False), st.container(horizontal=True, gap="small", key="sentence"):
        typed = st.session_state["look-text"] = str(st.session_state["look-text"])  # kept where the field becomes the other one
        if "\n" in typed or len(typed) > ONE_LINE:
            st.text_area(say("look.text"), key="look-text", height=92, max_chars=MOST_TYPED, label_visibility="collapsed")
        else:
            st.text_input(say("look.text"), key="look-text", max_chars=MOST_TYPED, label_visibility="collapsed")
        st.form_submit_button(say("look.show"), type="primary", key="look-show", icon=":material/arrow_forward:", width="content")
    text, pair = st.session_state["look-text"].strip(), st.session_state["look-pair"].strip()
    if not text:
        st.info(say("look.empty"), icon=":material/edit:")
        return None, menu
    if len(text) + len(pair) > limits.characters:
        refuse(say, "look.too_long", n=f"{len(text) + len(pair):,}", most=f"{limits.characters:,}")
        return None, menu
    same = (now.text, now.pair, now.model) == (text, pair, name)
    state = now.state if same else {}
    if not same and (now.model == name and ready_of(name, text, pair) is None):  # the same head on another text
        state = {key: value for key, value in now.state.items() if key in ("layer", "heads")}
    looking = Looking(text, pair, name, kind or now.view, state)
    st.session_state.looking = looking
    return looking, menu


def _opened(say: Words, looking: Looking, trace: Trace) -> Looking:
    """The state with a head and, in a sentence, a word: a telling head, and the token at which the model answers."""
    state, stacks = dict(looking.state), list(trace.stacks.values())
    stack = stacks[min(int(state.get("stack", 0)), len(stacks) - 1)]
    if "layer" in state and int(state["layer"]) >= len(stack.layers):
        asked = state.pop("layer")
        st.warning(say("look.no_layer", layer=asked, model=escaped(looking.model), last=stack.layers[-1]), icon=":material/layers_clear:")
    answered = None if trace.prediction is None else trace.prediction.positions[0]
    if not {"layer", "heads", "stack"} & state.keys():
        ready = ready_of(looking.model, looking.text, looking.pair)
        if ready is not None and ready.layer is not None:
            state |= {"layer": stack.layers.index(ready.layer), "heads": [ready.head]}
        else:
            best = look_of_stack(stack, query=answered if len(stacks) == 1 else None)
            state |= {"layer": best.layer, "heads": [best.head]}
    layer = int(state.get("layer", 0))
    if state.get("heads") and stack.has("weights"):  # a link may name any
        state["heads"] = [head for head in state["heads"] if head < len(as_kept(stack.weights_by_layer)[layer])]
        state["heads"] = state["heads"] or [look_of_stack(stack, [layer]).head]
    if looking.view == "sentence" and "locked" not in state and len(stacks) == 1 and stack.has("weights"):
        shown = look_of_stack(stack, [layer], list(state.get("heads") or [0])[:1])
        state["locked"] = [shown.query if answered is None else answered]
    return replace(looking, state=state)


def _model_choice(say: Words, own: list[str], now: str) -> str:
    listed = own if now in own or not now else [*own, now]
    st.session_state.setdefault("look-model", now if now in listed else own[0])
    if st.session_state["look-model"] not in listed:
        listed.append(st.session_state["look-model"])
    chosen = st.selectbox(
        say("look.model"), listed, key="look-model", accept_new_options=current().allow_hub, label_visibility="collapsed", width=210
    )
    return (chosen or own[0]).strip()


def _use_example(number: int, language: str) -> None:
    model = str(st.session_state.get("look-model", ""))
    st.session_state["look-text"], st.session_state["look-pair"] = text, pair = example_of(number, language, model)
    st.session_state.looking = replace(st.session_state.looking, text=text, pair=pair, state={})


def _trace(say: Words, looking: Looking) -> Trace | None:
    """The trace, or a message and None."""
    known = choices(current())
    if looking.model not in known and not current().allow_hub:
        refuse(say, "look.failed", say("look.not_offered", model=looking.model[:80], known=say.listed(known)))
        return None
    if (ready := ready_of(looking.model, looking.text, looking.pair)) is not None:
        return ready.trace
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
    ready = ready_of(looking.model, text, pair) if not quantities and looking.view != "neuron" else None  # it has weights alone
    trace = trace_of(looking.model, text, pair) if ready is None else ready.trace
    return trace, tuple(quantity_of(looking.model, text, pair, method) for method in quantities)


@fragment
def _show(say: Words, looking: Looking, quantities: tuple[str, ...]) -> None:
    """The picture; beside it the answer and what each head does to it; below it, in words, what is seen. All follow the reader."""
    try:
        trace, also = _traces(looking, quantities)
        data = _packed(say, looking, trace, also)
    except EyelineError as error:
        refuse(say, "look.failed", error)
        return
    mounted.scroll_to_answer(VIEW)
    beside = _answers(trace) and trace.prediction is not None and trace.prediction.kind in ONE_ANSWER
    left, right = st.columns([7, 3], gap="large") if beside else (st.container(), None)
    with left, st.container(key=VIEW):
        shown = mounted.show(data, key=f"look-shown-{looking.view}")
    click, changes = st.session_state.get("look-click", (None, {}))
    state = {**looking.state, **valid_state(shown)}
    state |= mounted.change_state(data, f"look-shown-{looking.view}", click, changes)
    looking = replace(looking, state=state)
    st.session_state.looking = looking
    off = state.get("off")
    off = off if isinstance(off, str) else ""
    answer = answer_of(looking.model, trace, off) if _answers(trace) else {}
    if answer:
        mounted.send_answer(data, answer, key=f"look-answer-{looking.view}")
    effects: list[LayerEffects] = []
    if right is not None:
        with right:
            effects = _beside(say, looking, trace, answer)
    with left:
        _in_words(say, looking, trace, effects, answer)
    parameters, whole = write_address(looking)
    if {key: value for key, value in st.query_params.items() if key != "lang"} != parameters:
        st.query_params.from_dict(parameters | ({"lang": st.query_params["lang"]} if "lang" in st.query_params else {}))
    _share(say, looking, trace, quantities, whole)


#: Seconds of measuring in one run of the page, and how many choices of an answer have a bar.
A_WHILE, BARS = 0.2, 4

#: How tokenisers write the space before a word.
WORD_STARTS = " ▁Ġ"


def _beside(say: Words, looking: Looking, trace: Trace, answer: Mapping[str, Any]) -> list[LayerEffects]:
    """The answer as bars and the map of heads. Returns the effects of all heads, once all are measured."""
    prediction, off = trace.prediction, str(answer.get("off", ""))
    if prediction is None:
        return []
    now = Prediction.from_json(answer.get("prediction")) or prediction
    st.html("".join(_bars(say, prediction, now if off else None)))
    ready = ready_of(looking.model, looking.text, looking.pair)
    known, measured = (ready.effects, len(ready.effects)) if ready is not None else _measured_so_far(looking, trace)
    st.html(f'<h2 class="el-side">{escape(say("look.map"))}</h2>')
    lit = _open(looking, trace)
    for name in trace.stacks:
        grid = grid_of_effects(
            known, prediction.probabilities[0], measured, stack=name, named=len(trace.stacks) > 1,
            low=say("look.map_falls", answer=prediction.label.strip(WORD_STARTS)), high=say("look.map_rises"),
        )  # fmt: skip
        shown = lit if lit is not None and lit.stack in ("", name) else None
        choose = partial(_switch, f"look-shown-{looking.view}")
        mounted.head_grid(grid, say.part("view"), key=f"look-map-{name}", lit=shown, off=off, choose=choose, high=300)
    if off:
        st.button(say("look.undo"), key="look-undo", icon=":material/undo:", on_click=_undo, args=(f"look-shown-{looking.view}",))
    return known if measured == len(known) else []


def _measured_so_far(looking: Looking, trace: Trace) -> tuple[list[LayerEffects], int]:
    """What is known of the effects of heads, and how many layers of it are measured; the page that shows them asks for the next ones."""
    running, key = measuring(looking.model, trace), "eyeline-seen-measuring"
    digest = hashlib.sha256(repr((model_key(looking.model), looking.text, looking.pair)).encode()).hexdigest()[:16]
    seen = str((st.session_state.get(key) or {}).get("seen") or "").split(" ")[0]
    if seen == f"{digest}-{running.measured}":
        running.go_on(A_WHILE)
    if running.measured < len(running.effects):
        mounted.is_seen(f"{digest}-{running.measured}", key=key)
    return list(running.effects), running.measured


def _bars(say: Words, before: Prediction, now: Prediction | None) -> Iterator[str]:
    """The most probable choices, with what they were before something was switched off."""
    first = dict(zip(before.tokens, before.probabilities, strict=True))
    after = first if now is None else dict(zip(now.tokens, now.probabilities, strict=True))
    yield f'<h2 class="el-side">{escape(say("look.answers"))}</h2>'
    for token in list(dict.fromkeys([*before.tokens[: BARS - 1], *([] if now is None else [now.label]), *before.tokens]))[:BARS]:
        was, is_now = first.get(token, 0.0), after.get(token, 0.0)
        side = " up" if is_now > was else ""
        mark = "" if now is None else f'<i style="left:{100 * was:.1f}%"></i>'
        numbers = f"{was:.2f}" if now is None else f"{was:.2f} → <b>{is_now:.2f}</b>"
        bar = f'<span class="full"><span class="part{side}" style="width:{100 * is_now:.1f}%"></span>{mark}</span>'
        yield f'<div class="el-answer"><b translate="no">{escape(printable(token.strip(WORD_STARTS)))}</b>{bar}<span>{numbers}</span></div>'


def _switch(view: str, head: HeadRef) -> None:
    """Show a head that was clicked in the map, and switch it off, or on again."""
    now: Looking = st.session_state.looking
    parts = [part.strip() for part in str(now.state.get("off") or "").split(";") if part.strip()]
    name = head.full_label
    parts = [part for part in parts if part != name] if name in parts else [*parts, name]
    trace = _traces(now, ())[0]
    stacks = list(trace.stacks)
    stack = stacks.index(head.stack) if head.stack in stacks else 0
    layer = list(trace.stacks[stacks[stack]].layers).index(head.layer)
    _change(view, {"stack": stack, "layer": layer, "heads": [head.head], "off": "; ".join(parts)})


def _undo(view: str) -> None:
    """Take back what was switched off last."""
    parts = str(st.session_state.looking.state.get("off") or "").split(";")
    _change(view, {"off": ";".join(parts[:-1])})


def _change(view: str, state: Mapping[str, Any]) -> None:
    """Change the state of the view: it follows, and is not sent again."""
    st.session_state["look-click"] = mounted.click_for(view), dict(state)


def _in_words(say: Words, looking: Looking, trace: Trace, effects: Sequence[LayerEffects], answer: Mapping[str, Any]) -> None:
    """What can be said of the picture: chosen by what was measured, the most important first."""
    head = _open(looking, trace)
    if answer.get("error"):
        refuse(say, "look.failed", str(answer["error"]))
        return
    if head is None or trace.quantity is not None:
        return
    chosen = list(looking.state.get("locked") or ()) if looking.state.get("direction", "from") == "from" else []
    off, now = str(answer.get("off", "")), Prediction.from_json(answer.get("prediction"))
    without = AnswerWithout(off, now) if off and now is not None else None
    said = [
        say(f"look.finding.{each.key}", **{name: escaped(value.strip(WORD_STARTS)) for name, value in each.values.items()})
        for each in findings(trace, head, chosen[0] if len(chosen) == 1 else None, effects, without)
    ]
    with st.container(key="look-words"):
        if said:
            st.markdown(f"**{said[0]}** " + " ".join(said[1:]))


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
        st.session_state.pop("look-click", None)
    start = opened["state"]
    key = hashlib.sha256(repr((request, model_key(looking.model), sorted(start.items()))).encode()).hexdigest()
    answers = _answers(trace)

    def drawn() -> bytes:
        view = with_state(VIEWS[looking.view](trace, also=also, language=say.language), start)
        return mounted.packed(view, say.part("view"), answers, bare=looking.view == "sentence")

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


def _share(say: Words, looking: Looking, trace: Trace, quantities: tuple[str, ...], whole: bool) -> None:
    """One menu: the link, the picture and the page as they are seen, one head as a graph, the numbers, and the same in code."""
    state, shown = looking.state, _stack(trace, looking.state)
    layer, heads = _layer(trace, state), list(state.get("heads") or [])
    head = heads[0] if len(heads) == 1 else 0
    key = (model_key(looking.model), looking.text, looking.pair, shown.name, layer, head)
    graph = HeadRef("", layer, head).file_name

    def as_seen() -> View:
        trace, also = _traces(looking, quantities)
        return with_state(VIEWS[looking.view](trace, also=also), {"drawn": len(also), **state})

    def recorded() -> Trace:
        return trace_of(looking.model, looking.text, looking.pair or None)

    files: list[tuple[str, Callable[[], bytes], str, str]] = [
        *(
            (f"seen-{ending}", partial(view_file, say, as_seen, ending), f"{looking.view}.{ending}", kind)
            for ending, kind in IMAGES.items()
        ),
        ("page", lambda: page_file(say, as_seen()), f"{looking.view}.html", "text/html"),
        *(
            (ending, partial(graph_file, say, recorded, key, ending), f"{graph}.{ending}", kind)
            for ending, kind in IMAGES.items()
        ),
        ("trace", lambda: trace_file(recorded()), "trace.safetensors", "application/octet-stream"),
    ]  # fmt: skip
    with st.container(key="share"), st.popover(say("look.share"), key="look-share"):
        st.caption(say("look.link") if whole else say("look.link_too_long"))
        for name, content, file, kind in files:
            label = say(f"look.{name.replace('-', '_')}" if name.startswith("seen") else f"look.save_{name}")
            st.download_button(label, content, file, kind, on_click="ignore", width="stretch", key=f"save-{name}")
        source = recipe_source(looking.model)
        with_layer = "layer" in state or looking.view != "model"  # without a layer, the views of Python choose one themselves
        numbered = {**state, **({"layer": layer} if with_layer else {})}
        st.caption(say("shell.same_python"))
        st.code(python(looking, source, numbered), language="python", wrap_lines=True)
        st.caption(say("shell.same_console"))
        st.code(console(looking, source, numbered), language="sh", wrap_lines=True)


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


def example_of(index: int, language: str, model: str) -> tuple[str, str]:
    """Text and second text of an example: one that is ready for this model, or in the visitor's language where it reads that.

    The embedded models were trained on English; for any other model, its tokeniser decides.
    """
    ready = [(each.text, each.pair) for each in READY if each.model == model]
    english = [*ready, *(pair for pair in EXAMPLES["en"] if pair not in ready)][index]
    own = EXAMPLES.get(language, EXAMPLES["en"])[index]
    if language == "en" or any(embedded.name == model for embedded in EMBEDDED):
        return english
    try:
        return own if reads(model_named(model), own[0]) else english
    except EyelineError:  # the page says why this model cannot be opened
        return english


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
    if trace.prediction is not None:
        return
    model = model_named(looking.model)
    words = words_to_mask(model, looking.text)
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
#: Where they are computed.
QUANTITIES = "eyeline.measure.causes.quantities"


def choose_quantities(say: Words, looking: Looking, trace: Trace, menu: DeltaGenerator) -> tuple[str, ...]:
    """The names of the quantities that the visitor chose, now computed; one that this model refuses is named with its reason.

    Where the model answers nothing, the quantities about an answer are not offered, and the page says why.
    """
    if ready_of(looking.model, looking.text, looking.pair) is not None and QUANTITIES not in sys.modules:
        menu.caption(say("look.loading", model=escaped(looking.model)))  # they need torch, which the first page does not wait for
        return ()
    from eyeline.measure.causes.quantities import METHODS

    names = [name for name in METHODS if name not in ("attention", "flow")]
    left_out = [name for name in names if METHODS[name].needs_answer and trace.prediction is None]
    names = [name for name in names if name not in left_out]
    kept = [name for name in st.session_state.get("look-beside", ()) if name in names]
    if kept != st.session_state.get("look-beside", kept):
        st.session_state["look-beside"] = kept
    chosen = menu.multiselect(
        say("look.beside"), names, format_func=lambda name: say(f"view.drawn_{name.replace('-', '_')}"), key="look-beside",
        help=say("look.beside_help"), max_selections=MOST_QUANTITIES, placeholder=say("look.beside_none"),
    )  # fmt: skip
    if left_out:
        listed = say.listed(escaped(say(f"view.drawn_{name.replace('-', '_')}")) for name in left_out)
        menu.caption(say("look.beside_left_out", names=listed, model=escaped(looking.model)))
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


@fragment
def _figures(say: Words, looking: Looking) -> None:
    """The heads that stand out, then the other figures of this text: measured when the visitor comes to them."""
    if st.session_state.pop("look-head-opened", False):  # a head was clicked here: the view above shows it
        st.rerun(scope="app")
    request, key = (looking.model, looking.text, looking.pair), model_key(looking.model)
    digest = hashlib.sha256(repr((key, request)).encode()).hexdigest()
    with st.container(key="figures"):
        if not mounted.is_seen(digest[:16], key="eyeline-seen-figures"):
            return
        try:
            with st.spinner(say("look.figures")):
                trace = trace_of(looking.model, looking.text, looking.pair or None)
                run = _RUNS.get((key, request), lambda: _measure(*request), lambda _: 1)
            layers = {name: tuple(stack.layers) for name, stack in trace.stacks.items()}
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
    view = now.view if now.view in ("sentence", "head") else "sentence"
    st.session_state.looking = replace(now, view=view, state={**now.state, **opened})
    st.session_state["look-view"] = view
    st.session_state.pop("look-opened", None)
    st.session_state["look-head-opened"] = True
    mounted.note_click(VIEW)


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
