"""Tables below the views of the lesson, and the question of each step."""

from __future__ import annotations

import streamlit as st

from eyeline.capture.trace import Trace
from eyeline.hosts.app.figures import tables
from eyeline.hosts.app.figures.tables import Column
from eyeline.hosts.app.learn.lesson import PREVIOUS, SAT, Step, shown_value
from eyeline.hosts.app.learn.measured import measured
from eyeline.hosts.app.learn.switch_off import show_switched_off
from eyeline.hosts.app.learn.translation import show_translation
from eyeline.hosts.app.messages import Say
from eyeline.results.trace.numbers import key_numbers
from eyeline.words.percent import percent

#: Answers to choose from, in every question.
ANSWERS = 3


def show_numbers(say: Say, trace: Trace) -> None:
    """From one query to its output: q·k, scaled, softmax, and the weighted sum of values (their first number)."""
    numbers = key_numbers(trace, *PREVIOUS, SAT)
    weights = [row.weight for row in numbers]
    output = float(trace.outputs[*PREVIOUS, SAT, 0])
    tables.show(
        Column(say("learn.vectors.column_key"), [*(row.token for row in numbers), "Σ"], "token"),
        Column(say("learn.vectors.column_dot"), [*(f"{row.dot:.1f}" for row in numbers), ""]),
        Column(say("learn.vectors.column_score"), [*(f"{row.score:.2f}" for row in numbers), ""]),
        Column(say("learn.vectors.column_weight"), [*(f"{weight:.3f}" for weight in weights), f"{sum(weights):.3f}"]),
        Column(say("learn.vectors.column_value"), [*(f"{row.value:.3f}" for row in numbers), ""]),
        Column(say("learn.vectors.column_taken"), [*(f"{row.taken:z.3f}" for row in numbers), f"{output:.3f}"]),
    )


def show_roles(say: Say, trace: Trace) -> None:
    """The head of each role, by the product's own analyses."""
    roles = measured().roles
    tables.show(
        Column(say("learn.heads.column_role"), [say(f"learn.heads.role_{role.role}") for role in roles], "word"),
        Column(say("learn.heads.column_head"), [role.label for role in roles], "token"),
        Column(say("learn.heads.column_value"), [shown_value(role, say("figure.label.nats")) for role in roles]),
        Column(say("learn.heads.column_baseline"), ["–" if role.baseline is None else f"{role.baseline:.1f} %" for role in roles]),
    )
    st.caption(say("learn.heads.source", n=measured().sentences, command=measured().command))


def show_layers(say: Say, trace: Trace) -> None:
    """The figures of each layer."""
    layers = measured().layers

    def column(name: str, shares: list[float]) -> Column:
        return Column(say(f"learn.depth.column_{name}"), [percent(share) for share in shares], parts=shares)

    tables.show(
        Column(say("learn.depth.column_layer"), [str(layer.layer) for layer in layers]),
        column("near", [layer.near for layer in layers]),
        column("special", [layer.special for layer in layers]),
        column("grammar", [layer.grammar / 100 for layer in layers]),
        column("reference", [layer.reference / 100 for layer in layers]),
    )
    st.caption(say("learn.heads.source", n=measured().sentences, command=measured().command))


PANELS = {
    "vectors": show_numbers,
    "self": show_translation,
    "heads": show_roles,
    "depth": show_layers,
    "limits": show_switched_off,
}


@st.fragment
def ask(say: Say, step: Step) -> None:
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
