"""Space: the queries and keys of every head in one picture; or two models on the same text, side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from eyeline.errors import EyelineError
from eyeline.hosts.app import waiting
from eyeline.hosts.app.jobs import Job
from eyeline.hosts.app.look import recipe
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.models import choices, model_named, place_of
from eyeline.hosts.app.plain import escaped, refuse
from eyeline.hosts.app.settings import current
from eyeline.hosts.app.shell import heading, visitor
from eyeline.hosts.app.space import recipe as space_recipe
from eyeline.hosts.app.space.job import GAUGES, PROJECTIONS, Wanted, measure_comparison, measure_space
from eyeline.hosts.app.texts.source import Source, text_source

if TYPE_CHECKING:
    from eyeline.models.model import Model

TASKS = ("one", "two")
#: Paragraphs to begin with; of two models, which take twice the time.
TEXTS = {"one": 20, "two": 10}
#: Stands for the first model before it was trained; no folder can bear this name.
UNTRAINED = "/untrained"


def page(say: Say) -> None:
    heading(say, "space")
    source, name, other, wanted = _asked(say)
    waiting.outcome(say, "space")
    place = _place(name)
    if other is None:
        recipe.box(say, space_recipe.python(place, source.file, wanted), space_recipe.console(place, source.file, wanted))
    else:
        second = None if other == UNTRAINED else _place(other)
        given = (place, second, source.file, wanted)
        recipe.box(say, space_recipe.compare_python(*given), space_recipe.compare_console(*given))


def _place(name: str) -> str:
    return place_of(name, current()) if name in choices(current()) else name


def _asked(say: Say) -> tuple[Source, str, str | None, Wanted]:
    """The text, one model or two, the projection; the button that begins."""
    limits, own = current().limits, list(choices(current()))
    task = st.segmented_control(
        say("space.task"), TASKS, format_func=lambda name: say(f"space.task_{name}"), default="one", key="space-task", required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    left, right = st.columns([3, 2], gap="large")
    with left:
        source = text_source(say, "space")
    with right:
        name = st.selectbox(say("look.model") if task == "one" else say("space.model_a"), own, key="space-model")
        other = None
        if task == "two":
            other = st.selectbox(
                say("space.model_b"), [UNTRAINED, *own], format_func=lambda one: say("space.untrained") if one == UNTRAINED else one,
                key="space-model-b", help=say("space.model_b_help"),
            )  # fmt: skip
        project, gauge, dims = _projection(say) if task == "one" else ("fitted", None, 2)
        most = limits.documents
        begin = min(TEXTS[task or "one"], most)
        limit = st.number_input(say("corpus.limit"), 1, most, begin, key=f"space-limit-{task}", help=say("space.limit_help"))
        wanted = Wanted(int(limit), limits.tokens, project, gauge, dims)
        run = say("space.run") if task == "one" else say("space.run_two")
        if st.button(run, type="primary", width="stretch", disabled=waiting.running("space"), key="space-run"):
            _begin(say, source, name, other, wanted)
    return source, name, other, wanted


def _projection(say: Say) -> tuple[str, str | None, int]:
    project = st.selectbox(
        say("space.project"), PROJECTIONS, format_func=lambda one: say(f"space.project_{one}"), key="space-project",
        help=say("space.project_help"),
    )  # fmt: skip
    gauge = None
    if project == "pca":
        gauge = st.selectbox(
            say("space.gauge"), GAUGES, format_func=lambda one: say(f"space.gauge_{one}"), key="space-gauge", help=say("space.gauge_help")
        )
    dims = st.segmented_control(say("space.dims"), (2, 3), default=2, key="space-dims", required=True)
    return str(project), gauge, int(dims or 2)


def _begin(say: Say, source: Source, name: str, other: str | None, wanted: Wanted) -> None:
    """Read the text and open the models now, so that what is bad is named at once; the rest happens in the background."""
    try:
        corpus = source.taken(say)
        if corpus is None:
            return
        with st.spinner(say("look.loading", model=escaped(name))):
            model = model_named(name)
        work: Callable[[Job], None]
        if other is None:
            work = measure_space(say, model, corpus, wanted, visitor())
        else:
            work = measure_comparison(say, model, _second(model, other), corpus, wanted, visitor())
    except EyelineError as error:
        refuse(say("corpus.bad_text"), error)
        return
    waiting.begin(say, "space", work)


def _second(model: Model, other: str) -> Callable[[], Model]:
    if other != UNTRAINED:
        opened_now = model_named(other)
        return lambda: opened_now

    def untrained() -> Model:
        from eyeline.models.reinitialise import reinitialised

        return reinitialised(model)

    return untrained
