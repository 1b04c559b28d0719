"""The last step of the lesson: a head that looks important and is not, and one that is, both to be switched off by the reader."""

from __future__ import annotations

import streamlit as st

from eyeline.capture.trace import Trace
from eyeline.hosts.app import mounted
from eyeline.hosts.app.figures import tables
from eyeline.hosts.app.figures.tables import Column
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.models import answer_of, effects_of, trace_of, view_cache
from eyeline.hosts.app.view_state import with_state
from eyeline.results.trace.looks_and_effects import HeadLook, sharpest_and_most_effective
from eyeline.views import head_view

#: The lesson's model with its masked-language-modelling head, and the sentence that it completes.
ANSWERING, SENTENCE = "e5-small-mlm", "He drank a cup of [MASK]."


def show_switched_off(say: Say, _: Trace) -> None:
    """Two heads, chosen by measurement on the live model; what each does to the answer; and a view in which they can be switched off."""
    trace = trace_of(ANSWERING, SENTENCE, None)
    heads = sharpest_and_most_effective(trace, effects_of(ANSWERING, trace))
    looks, matters = heads
    answer = "" if trace.prediction is None else trace.prediction.label
    st.markdown(say("learn.limits.switch_text", sentence=SENTENCE, answer=answer, looks=str(looks.head), matters=str(matters.head)))
    tables.show(
        Column(say("learn.heads.column_head"), [str(shown.head) for shown in heads], "token"),
        Column(say("learn.limits.column_looks"), [f"{shown.token} {shown.weight:.2f}" for shown in heads], "token"),
        Column(say("learn.limits.column_answer", answer=answer), [f"{shown.before:.2f}" for shown in heads]),
        Column(say("learn.limits.column_without"), [f"{shown.after:.2f}" for shown in heads]),
    )
    _mount(say, trace, heads)


@st.fragment
def _mount(say: Say, trace: Trace, heads: tuple[HeadLook, HeadLook]) -> None:
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
