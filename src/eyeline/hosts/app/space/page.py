"""Space: the queries and keys of every head in one picture; or two models on the same text, side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from eyeline.hosts.app.heading import heading
from eyeline.hosts.app.jobs import panel
from eyeline.hosts.app.jobs.reuse import request_key
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.models import choices, declared_by, model_source, recipe_source
from eyeline.hosts.app.plain import escaped
from eyeline.hosts.app.recipe import show_recipe
from eyeline.hosts.app.settings import current
from eyeline.hosts.app.space import recipe
from eyeline.hosts.app.space.job import PROJECTIONS, ComparisonWork, SecondModel, SpaceRequest, SpaceWork, first_request
from eyeline.hosts.app.texts.opening import open_text_and_models
from eyeline.hosts.app.texts.source import TextSource, text_source
from eyeline.measures.space.gauge import GAUGES, SHARED_GAUGES
from eyeline.measures.space.search_gauge import DISTANCES, WHERE
from eyeline.results.space.record import KINDS

TASKS = ("one", "two")
#: The choice of an untrained copy of the first model; no folder can have this name.
UNTRAINED = "/untrained"


@dataclass(frozen=True)
class SpaceForm:
    """What the visitor filled in. other: the second model, where two are compared."""

    source: TextSource
    model: str
    other: str | None
    options: SpaceRequest


def page(say: Say) -> None:
    heading(say, "space")
    form = _form(say)
    panel.show_job(say, "space")
    first = recipe_source(form.model)
    if form.other is None:
        arguments = (first, form.source.file, form.options)
        show_recipe(say, recipe.python(*arguments), recipe.console(*arguments))
    else:
        two = (first, None if form.other == UNTRAINED else recipe_source(form.other), form.source.file, form.options)
        show_recipe(say, recipe.compare_python(*two), recipe.compare_console(*two))


def _form(say: Say) -> SpaceForm:
    """The text, one model or two, the projection; the button that starts."""
    limits, names = current().limits, list(choices(current()))
    task = st.segmented_control(
        say("space.task"), TASKS, format_func=lambda name: say(f"space.task_{name}"), default="one", key="space-task", required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    left, right = st.columns([3, 2], gap="large")
    with left:
        source = text_source(say, "space")
    with right:
        model = st.selectbox(say("look.model") if task == "one" else say("space.model_a"), names, key="space-model")
        other = None
        if task == "two":
            other = _second_model(say, model, names)
        request = first_request(limits, task or "one")
        request = _picture(say, request) if task == "one" else request
        most = limits.documents
        limit = st.number_input(say("corpus.limit"), 1, most, request.limit, key=f"space-limit-{task}", help=say("space.limit_help"))
        form = SpaceForm(source, model, other, replace(request, limit=int(limit)))
        label = say("space.run") if task == "one" else say("space.run_two")
        if st.button(label, type="primary", width="stretch", disabled=panel.is_running("space"), key="space-run"):
            _submit(say, form)
    return form


def _second_model(say: Say, first: str, names: list[str]) -> str:
    """The second model. One whose heads cannot be compared with those of the first is not offered, and the page says why."""
    own = declared_by(first)
    others = {name: declared_by(name) for name in names}
    left_out = [name for name, known in others.items() if own is not None and known is not None and not own.is_comparable(known)]
    offered = [UNTRAINED, *(name for name in names if name not in left_out)]
    if st.session_state.get("space-model-b", UNTRAINED) not in offered:
        st.session_state["space-model-b"] = UNTRAINED
    chosen: str = st.selectbox(
        say("space.model_b"), offered, format_func=lambda name: say("space.untrained") if name == UNTRAINED else name,
        key="space-model-b", help=say("space.model_b_help"),
    )  # fmt: skip
    if left_out:
        st.caption(say("space.not_offered", model=escaped(first), names=escaped(say.listed(left_out))))
    return chosen


def _picture(say: Say, request: SpaceRequest) -> SpaceRequest:
    """What the points are, the projection and the gauge that go with them."""
    of = st.selectbox(
        say("space.of"),
        KINDS,
        format_func=lambda name: say(f"space.of_{name.replace('-', '_')}"),
        key="space-of",
        help=say("space.of_help"),
    )
    projections = PROJECTIONS if of == "queries-keys" else ("pca",)
    project = st.selectbox(
        say("space.project"), projections, format_func=lambda name: say(f"space.project_{name}"), key=f"space-project-{of}",
        help=say("space.project_help"),
    )  # fmt: skip
    gauge = None
    if project == "pca" and of != "values":
        gauges = SHARED_GAUGES if of == "shared" else GAUGES
        gauge = st.selectbox(
            say("space.gauge"), gauges, format_func=lambda name: say(f"space.gauge_{name}"), key=f"space-gauge-{of}",
        )  # fmt: skip
        st.caption(say("space.gauge_help"))
    distance, correlate = DISTANCES[0], WHERE[0]
    if gauge == "searched":
        distance = st.selectbox(
            say("space.distance"), DISTANCES, format_func=lambda name: say(f"space.distance_{name}"), key="space-distance"
        )
        correlate = st.selectbox(
            say("space.correlate"), WHERE, format_func=lambda name: say(f"space.correlate_{name}"), key="space-correlate"
        )
    dims = st.segmented_control(say("space.dims"), (2, 3), default=2, key="space-dims", required=True)
    request = replace(request, of=str(of), project=str(project), gauge=gauge, dims=int(dims or 2))
    return replace(request, distance=str(distance), correlate=str(correlate))


def _submit(say: Say, form: SpaceForm) -> None:
    """Open the text and the models now, so that what is wrong is named at once; the rest happens in the background."""
    names = [form.model] if form.other in (None, UNTRAINED) else [form.model, str(form.other)]
    opened = open_text_and_models(say, form.source, *names)
    if opened is None:
        return
    first, content = model_source(form.model, current()), form.source.content()
    if form.other is None:
        key = request_key("space", first, content, form.options, say.language)
        panel.submit(say, "space", SpaceWork(say, first, opened.corpus, form.options), key)
    else:
        second = SecondModel(first, None if form.other == UNTRAINED else model_source(form.other, current()))
        key = request_key("space", first, content, (second, form.options), say.language)
        panel.submit(say, "space", ComparisonWork(say, first, second, opened.corpus, form.options), key)
