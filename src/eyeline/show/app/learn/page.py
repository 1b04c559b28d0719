"""Learn: the lesson, step by step, on live views; then an exercise with your own sentence."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from eyeline.errors import EyelineError
from eyeline.look.numbers import HeadLook, key_numbers, sharpest_and_most_effective
from eyeline.look.sample import TRANSLATIONS, by_written_words, measured_translator, sample_translation
from eyeline.look.trace import Trace
from eyeline.look.views.head import head_view
from eyeline.look.views.page import joined
from eyeline.measure.heads.roles import Role
from eyeline.show.app import look
from eyeline.show.app.kit import figures, mounted
from eyeline.show.app.kit.address import Looking, write_address
from eyeline.show.app.kit.figures import Column
from eyeline.show.app.kit.models import answer_of, effects_of, recipe_source, token_count, trace_of, view_cache
from eyeline.show.app.kit.mounted import VIEWS, with_state
from eyeline.show.app.kit.page import fragment, heading, refuse, show_recipe
from eyeline.show.app.kit.settings import current
from eyeline.show.app.learn.lesson import MODEL, PREVIOUS, PRONOUN, SAT, SENTENCES, STEPS, Choice, Step, measured, showing
from eyeline.words import Words, percent

EXERCISE = len(STEPS) + 1

#: The number of words, from and to, with which a sentence shows most.
FEWEST_WORDS, MOST_WORDS = 5, 10


def page(say: Words) -> None:
    heading(say, "learn")
    number = _number()
    if number != EXERCISE and "text" in st.query_params:
        del st.query_params["text"]
    _choose_step(say)
    if number == 1:
        with st.expander(say("learn.frame.title"), icon=":material/menu_book:"):
            st.markdown(say("learn.frame.text"))
    looking = None
    try:
        looking = _exercise(say) if number == EXERCISE else _step(say, STEPS[number - 1], number)
    except EyelineError as error:
        refuse(say, "look.failed", error)
    if number == EXERCISE:
        st.subheader(say("learn.summary.title"), anchor=False)
        st.markdown(say("learn.summary.text"))
    _turn_page(say, number)
    if looking is not None:
        source, state = recipe_source(MODEL), dict(looking.state)
        show_recipe(say, look.python(looking, source, state), look.console(looking, source, state))


def lesson_trace(text: str, pair: str = "") -> Trace:
    """The lesson is written for the embedded model, whatever else is open."""
    return trace_of(MODEL, text, pair or None)


def _number() -> int:
    requested = st.query_params.get("step", "1")
    if st.session_state.get("lesson-step") is None:
        st.session_state["lesson-step"] = (
            int(requested) if requested in map(str, range(1, EXERCISE + 1)) else st.session_state.get("lesson-left", 1)
        )
    number = int(st.session_state["lesson-step"])
    st.session_state["lesson-left"] = number
    st.query_params["step"] = str(number)
    return number


def _choose_step(say: Words) -> None:
    st.segmented_control(
        say("learn.step"), range(1, EXERCISE + 1), format_func=lambda n: str(n) if n < EXERCISE else say("learn.exercise_short"),
        key="lesson-step", label_visibility="collapsed", required=True, width="content",
    )  # fmt: skip


def _turn(by: int) -> None:
    """Move this many steps from the visitor's present step: while a step is computed, the page still shows the buttons of the last one.

    Streamlit forgets the step where its widget was not drawn last, as on another page.
    """
    now = int(st.session_state.get("lesson-step") or st.session_state.get("lesson-left", 1))
    st.session_state["lesson-step"] = min(EXERCISE, max(1, now + by))


def _turn_page(say: Words, number: int) -> None:
    with st.container(horizontal=True, key="turn"):
        if number > 1:
            st.button(say("learn.back"), on_click=_turn, args=(-1,), icon=":material/arrow_back:", key="lesson-back")
        if number < EXERCISE:
            following = say("learn.next") if number < EXERCISE - 1 else say("learn.to_exercise")
            st.button(following, on_click=_turn, args=(1,), type="primary", key="lesson-next")


def _step(say: Words, step: Step, number: int) -> Looking:
    with st.spinner(say("look.loading", model=MODEL)):
        facts = step.facts(lesson_trace)
    text, live = st.columns([5, 7], gap="large")
    with text:
        st.subheader(say("learn.numbered", n=number, of=len(STEPS), title=say(f"learn.{step.name}.title")), anchor=False)
        st.markdown(say(f"learn.{step.name}.text", **facts))
    with live:
        shown = _chosen(say, step)
        shown_trace = lesson_trace(shown.text, step.pair)
        looking = Looking(shown.text, step.pair, MODEL, step.view, shown.state)
        _show(say, looking, shown_trace, f"lesson-{step.name}")
        st.info(say(f"learn.{step.name}.try"), icon=":material/touch_app:")
        if step.name in PANELS:
            PANELS[step.name](say, shown_trace)
        ask(say, step)
    return looking


def _chosen(say: Words, step: Step) -> Choice:
    """The choice of the switch above the view; the step itself where there is no switch."""
    if not step.choices:
        return Choice("", step.text, step.state)
    named = {choice.name: choice for choice in step.choices}
    picked = st.segmented_control(
        say("learn.choose"), list(named), format_func=lambda name: say(f"learn.{step.name}.choice_{name}"), default=step.choices[0].name,
        key=f"lesson-choice-{step.name}", label_visibility="collapsed", required=True,
    )  # fmt: skip
    return named[picked or step.choices[0].name]


def _show(say: Words, looking: Looking, shown_trace: Trace, key: str) -> None:
    request = ("lesson", looking.model, looking.text, looking.pair, looking.view, repr(sorted(looking.state.items())), say.language)
    view = VIEWS[looking.view]

    def drawn() -> bytes:
        return mounted.packed(with_state(view(shown_trace, language=say.language), dict(looking.state)), say.part("view"))

    _mount(view_cache().get(request, drawn, len), key)


@fragment
def _mount(data: bytes, key: str) -> None:
    """What a reader does in the view stays in the view."""
    mounted.show(data, key)


def _exercise(say: Words) -> Looking | None:
    text, live = st.columns([5, 7], gap="large")
    with text:
        st.subheader(say("learn.exercise.title"), anchor=False)
        st.markdown(say("learn.exercise.text"))
        for kind, sentences in SENTENCES.items():
            with st.container(gap="xxsmall", key=f"sentences-{kind}"):
                st.caption(say(f"learn.exercise.{kind}"))
                for number, sentence in enumerate(sentences):
                    st.button(sentence, key=f"sentence-{kind}-{number}", on_click=_take, args=(sentence,), type="tertiary")
        st.markdown(say("learn.exercise.look_for"))
    with live:
        looking = _own_sentence(say)
        if looking is not None:
            _show(say, looking, lesson_trace(looking.text), f"lesson-exercise-{looking.view}")
            show_notes(say, looking, EXERCISE)
    return looking


def _own_sentence(say: Words) -> Looking | None:
    """The sentence typed, where it can be shown."""
    st.session_state.setdefault("exercise-text", st.session_state.get("exercise-kept", _sentence_of_address()))
    text = st.text_input(say("learn.exercise.yours"), key="exercise-text", max_chars=2000).strip()
    st.session_state["exercise-kept"] = st.query_params["text"] = text  # the address keeps it over a reload
    if not text:
        st.info(say("look.empty"), icon=":material/edit:")
        return None
    most = current().limits.characters  # checked here too: not everybody who sends a text has our page
    if len(text) > most:
        refuse(say, "look.too_long", n=f"{len(text):,}", most=f"{most:,}")
        return None
    words = len(text.split())
    if not FEWEST_WORDS <= words <= MOST_WORDS:
        st.caption(say("learn.exercise.few" if words < FEWEST_WORDS else "learn.exercise.many", n=words))
    if (count := token_count(MODEL, text, None)) > current().limits.tokens:
        refuse(say, "look.too_many", n=count, most=current().limits.tokens)
        return None
    # All heads first, then one: a visitor who opens on one head takes it for the whole model
    view = st.segmented_control(
        say("learn.choose"), ("model", "head"), format_func=lambda kind: say(f"learn.exercise.show_{kind}"), default="model",
        key="exercise-view", label_visibility="collapsed", required=True,
    )  # fmt: skip
    return Looking(text, "", MODEL, view or "model", showing(PRONOUN) if view == "head" else {})


def _sentence_of_address() -> str:
    """The sentence that the address holds, as after a reload; else the first of the list."""
    return st.query_params.get("text", "")[: current().limits.characters].strip() or SENTENCES["first"][0]


def _take(sentence: str) -> None:
    st.session_state["exercise-text"] = sentence


# ---- The question of each step, and tables below the views


#: Answers to choose from, in every question.
ANSWERS = 3


@fragment
def ask(say: Words, step: Step) -> None:
    """The question of a step: answers to choose from, and whether the chosen one is right."""
    with st.container(border=True, key=f"question-{step.name}"):
        st.markdown(f"**{say('learn.question')}** {say(f'learn.{step.name}.question')}")
        chosen = st.radio(
            say("learn.question"), range(ANSWERS), format_func=lambda index: say(f"learn.{step.name}.answer_{index}"), index=None,
            key=f"answer-{step.name}", label_visibility="collapsed",
        )  # fmt: skip
        if chosen is None:
            return
        if chosen == step.right:
            st.success(say("learn.right") + " " + say(f"learn.{step.name}.why"), icon=":material/check:")
        else:
            st.warning(say("learn.wrong"), icon=":material/replay:")


def show_numbers(say: Words, trace: Trace) -> None:
    """From one query to its output: q·k, scaled, softmax, and the weighted sum of values (their first number)."""
    numbers = key_numbers(trace, *PREVIOUS, SAT)
    weights = [row.weight for row in numbers]
    output = float(trace.outputs[*PREVIOUS, SAT, 0])
    figures.show_table(
        Column(say("learn.vectors.column_key"), [*(row.token for row in numbers), "Σ"], "token"),
        Column(say("learn.vectors.column_dot"), [*(f"{row.dot:.1f}" for row in numbers), ""]),
        Column(say("learn.vectors.column_score"), [*(f"{row.score:.2f}" for row in numbers), ""]),
        Column(say("learn.vectors.column_weight"), [*(f"{weight:.3f}" for weight in weights), f"{sum(weights):.3f}"]),
        Column(say("learn.vectors.column_value"), [*(f"{row.value:.3f}" for row in numbers), ""]),
        Column(say("learn.vectors.column_taken"), [*(f"{row.taken:z.3f}" for row in numbers), f"{output:.3f}"]),
    )


def show_roles(say: Words, trace: Trace) -> None:
    """The head of each role, by the product's own analyses."""
    roles = measured().roles
    baselines = (entry.role.baseline for entry in roles)
    figures.show_table(
        Column(say("learn.heads.column_role"), [_role(say, entry.role) for entry in roles], "word"),
        Column(say("learn.heads.column_head"), [entry.head for entry in roles], "token"),
        Column(say("learn.heads.column_value"), [entry.role.number(say) for entry in roles]),
        Column(say("learn.heads.column_baseline"), ["–" if baseline is None else f"{baseline:.1f} %" for baseline in baselines]),
    )
    st.caption(say("learn.heads.source", n=measured().sentences, command=measured().command))


def _role(say: Words, role: Role) -> str:
    """The name of a role, with the relation that was measured."""
    name = say(f"role.name.{role.name}")
    return f"{name} ({role.detail})" if role.family == "grammar" else name


def show_layers(say: Words, trace: Trace) -> None:
    """The figures of each layer."""
    layers = measured().layers

    def column(name: str, shares: list[float]) -> Column:
        return Column(say(f"learn.depth.column_{name}"), [percent(share) for share in shares], parts=shares)

    figures.show_table(
        Column(say("learn.depth.column_layer"), [str(layer.layer) for layer in layers]),
        column("near", [layer.near for layer in layers]),
        column("special", [layer.special for layer in layers]),
        column("grammar", [layer.grammar / 100 for layer in layers]),
        column("reference", [layer.reference / 100 for layer in layers]),
    )
    st.caption(say("learn.heads.source", n=measured().sentences, command=measured().command))


# ---- Cross attention: a live view of a small translator of our own (look/sample.py)


def show_translation(say: Words, trace: Trace) -> None:
    """The words of a translation, each looking at what was read while it is written; first in the head that aligns most words."""
    best = measured_translator().best
    st.markdown(say("learn.self.cross_title", head=str(best.ref)))
    chosen = st.segmented_control(
        say("learn.choose"), list(TRANSLATIONS), format_func=lambda name: say(f"learn.self.choice_{name.replace('-', '_')}"),
        default=TRANSLATIONS[0], key="lesson-translation", label_visibility="collapsed", required=True,
    )  # fmt: skip
    name = chosen or TRANSLATIONS[0]

    def drawn() -> bytes:
        shown = head_view(by_written_words(sample_translation(name)), layer=best.layer, heads=[best.head], language=say.language)
        return mounted.packed(shown, say.part("view"))

    mounted.show(view_cache().get(("lesson-translation", name, say.language), drawn, len), key=f"lesson-translation-{name}")
    st.caption(say("learn.self.cross_note", command=measured_translator().command, name=name))


# ---- The last step: a head that looks important and is not, and one that is, both to be switched off by the reader


#: The lesson's model with its masked-language-modelling head, and the sentence that it completes.
ANSWERING, SENTENCE = "e5-small-mlm", "He drank a cup of [MASK]."


def show_switched_off(say: Words, _: Trace) -> None:
    """Two heads, chosen by measurement on the live model; what each does to the answer; and a view in which they can be switched off."""
    trace = trace_of(ANSWERING, SENTENCE, None)
    heads = sharpest_and_most_effective(trace, effects_of(ANSWERING, trace))
    looks, matters = heads
    answer = "" if trace.prediction is None else trace.prediction.label
    st.markdown(say("learn.limits.switch_text", sentence=SENTENCE, answer=answer, looks=str(looks.head), matters=str(matters.head)))
    figures.show_table(
        Column(say("learn.heads.column_head"), [str(shown.head) for shown in heads], "token"),
        Column(say("learn.limits.column_looks"), [f"{shown.token} {shown.weight:.2f}" for shown in heads], "token"),
        Column(say("learn.limits.column_answer", answer=answer), [f"{shown.before:.2f}" for shown in heads]),
        Column(say("learn.limits.column_without"), [f"{shown.after:.2f}" for shown in heads]),
    )
    _show_view_of(say, trace, heads)


@fragment
def _show_view_of(say: Words, trace: Trace, heads: tuple[HeadLook, HeadLook]) -> None:
    """The view with a choice of the two heads: what is switched off stays so when the other one is shown. [MASK] is locked."""
    labels = dict(zip(("looks", "matters"), heads, strict=True))
    chosen = st.segmented_control(
        say("learn.heads.column_head"), list(labels), default="looks", required=True, label_visibility="collapsed", key="lesson-off-head",
        format_func=lambda name: say(f"learn.limits.head_{name}", head=str(labels[name].head)),
    )  # fmt: skip
    head = labels[chosen or "looks"].head
    opened = st.session_state.setdefault("lesson-off-opened", {})
    if opened.get("head") != head:
        opened.update(head=head, off=opened.get("now", ""))
    answered = () if trace.prediction is None else trace.prediction.positions
    state = {"layer": trace.layers.index(head.layer), "heads": [head.head], "locked": list(answered), "off": opened["off"]}
    request = ("lesson-off", SENTENCE, repr(state), say.language)

    def drawn() -> bytes:
        return mounted.packed(with_state(head_view(trace, language=say.language), state), say.part("view"), answers=True)

    data = view_cache().get(request, drawn, len)
    off = mounted.show(data, "lesson-off").get("off", opened["off"])
    opened["now"] = off if isinstance(off, str) else ""
    mounted.send_answer(data, answer_of(ANSWERING, trace, opened["now"]), key="lesson-off-answer")


# ---- What is shown below the view of a step


PANELS = {
    "vectors": show_numbers,
    "self": show_translation,
    "heads": show_roles,
    "depth": show_layers,
    "limits": show_switched_off,
}


# ---- The notes of the exercise: they stay in the visitor's browser and are saved from there. The server never sees them


NOTES_FILE = "attention-notes.txt"


@lru_cache(maxsize=1)
def _notes() -> Callable[..., Any]:
    return st.components.v2.component("eyeline_notes", js=joined("notes"), isolate_styles=False)


def show_notes(say: Words, looking: Looking, step: int) -> None:
    """The notes, headed in their file by the sentence and a link to this step with the sentence in it."""
    parameters, _ = write_address(looking)
    _notes()(
        key="exercise-notes",
        data={
            "label": say("learn.exercise.notes"),
            "hint": say("learn.exercise.notes_hint"),
            "save": say("learn.exercise.save"),
            "about": f"{say('learn.exercise.title')}\n\n{looking.text}\n{looking.model}\n",
            "state": urlencode({"step": step, "lang": say.language, **parameters}),
            "name": NOTES_FILE,
        },
    )
