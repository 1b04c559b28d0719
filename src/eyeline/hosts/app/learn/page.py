"""Learn: the lesson, step by step, on live views; then an exercise with your own sentence."""

from __future__ import annotations

import streamlit as st

from eyeline.capture.trace import Trace
from eyeline.errors import EyelineError
from eyeline.hosts.app import mounted
from eyeline.hosts.app.address import Looking
from eyeline.hosts.app.heading import heading
from eyeline.hosts.app.learn import notes
from eyeline.hosts.app.learn.lesson import MODEL, PRONOUN, SENTENCES, STEPS, Choice, Step, showing
from eyeline.hosts.app.learn.panels import PANELS, ask
from eyeline.hosts.app.look import recipe
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.models import recipe_source, token_count, trace_of, view_cache
from eyeline.hosts.app.plain import refuse
from eyeline.hosts.app.recipe import show_recipe
from eyeline.hosts.app.settings import current
from eyeline.hosts.app.view_state import VIEWS, with_state

EXERCISE = len(STEPS) + 1
#: The number of words, from and to, with which a sentence shows most.
FEWEST_WORDS, MOST_WORDS = 5, 10


def page(say: Say) -> None:
    heading(say, "learn")
    number = _number()
    if number != EXERCISE and "text" in st.query_params:
        del st.query_params["text"]
    _choose_step(say)
    looking = None
    try:
        looking = _exercise(say) if number == EXERCISE else _step(say, STEPS[number - 1], number)
    except EyelineError as error:
        refuse(say, "look.failed", error)
    _turn_page(say, number)
    if looking is not None:
        source, state = recipe_source(MODEL), dict(looking.state)
        show_recipe(say, recipe.python(looking, source, state), recipe.console(looking, source, state))


def trace(text: str, pair: str = "") -> Trace:
    """The lesson is written for the embedded model, whatever else is open."""
    return trace_of(MODEL, text, pair or None)


def _number() -> int:
    requested = st.query_params.get("step", "1")
    if "lesson-step" not in st.session_state:
        st.session_state["lesson-step"] = (
            int(requested) if requested in map(str, range(1, EXERCISE + 1)) else st.session_state.get("lesson-left", 1)
        )
    number = int(st.session_state["lesson-step"])
    st.session_state["lesson-left"] = number
    st.query_params["step"] = str(number)
    return number


def _choose_step(say: Say) -> None:
    st.segmented_control(
        say("learn.step"), range(1, EXERCISE + 1), format_func=lambda n: str(n) if n < EXERCISE else say("learn.exercise_short"),
        key="lesson-step", label_visibility="collapsed", required=True, width="content",
    )  # fmt: skip


def _turn(by: int) -> None:
    """Move this many steps from the visitor's present step: while a step is computed, the page still shows the buttons of the last one."""
    st.session_state["lesson-step"] = min(EXERCISE, max(1, int(st.session_state["lesson-step"]) + by))


def _turn_page(say: Say, number: int) -> None:
    with st.container(horizontal=True, key="turn"):
        if number > 1:
            st.button(say("learn.back"), on_click=_turn, args=(-1,), icon=":material/arrow_back:", key="lesson-back")
        if number < EXERCISE:
            following = say("learn.next") if number < EXERCISE - 1 else say("learn.to_exercise")
            st.button(following, on_click=_turn, args=(1,), type="primary", key="lesson-next")


def _step(say: Say, step: Step, number: int) -> Looking:
    with st.spinner(say("look.loading", model=MODEL)):
        facts = step.facts(trace)
    text, live = st.columns([5, 7], gap="large")
    with text:
        st.subheader(say("learn.numbered", n=number, of=len(STEPS), title=say(f"learn.{step.name}.title")), anchor=False)
        st.markdown(say(f"learn.{step.name}.text", **facts))
    with live:
        shown = _chosen(say, step)
        shown_trace = trace(shown.text, step.pair)
        looking = Looking(shown.text, step.pair, MODEL, step.view, shown.state)
        _show(say, looking, shown_trace, f"lesson-{step.name}")
        st.info(say(f"learn.{step.name}.try"), icon=":material/touch_app:")
        if step.name in PANELS:
            PANELS[step.name](say, shown_trace)
        ask(say, step)
    return looking


def _chosen(say: Say, step: Step) -> Choice:
    """The choice of the switch above the view; the step itself where there is no switch."""
    if not step.choices:
        return Choice("", step.text, step.state)
    named = {choice.name: choice for choice in step.choices}
    picked = st.segmented_control(
        say("learn.choose"), list(named), format_func=lambda name: say(f"learn.{step.name}.choice_{name}"), default=step.choices[0].name,
        key=f"lesson-choice-{step.name}", label_visibility="collapsed", required=True,
    )  # fmt: skip
    return named[picked or step.choices[0].name]


def _show(say: Say, looking: Looking, shown_trace: Trace, key: str) -> None:
    request = ("lesson", looking.model, looking.text, looking.pair, looking.view, repr(sorted(looking.state.items())), say.language)
    view = VIEWS[looking.view]

    def drawn() -> bytes:
        return mounted.packed(with_state(view(shown_trace, language=say.language), dict(looking.state)), say.part("view"))

    _mount(view_cache().get(request, drawn, len), key)


@st.fragment
def _mount(data: bytes, key: str) -> None:
    """What a reader does in the view stays in the view."""
    mounted.show(data, key)


def _exercise(say: Say) -> Looking | None:
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
            _show(say, looking, trace(looking.text), f"lesson-exercise-{looking.view}")
            notes.show(say, looking, EXERCISE)
    return looking


def _own_sentence(say: Say) -> Looking | None:
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
