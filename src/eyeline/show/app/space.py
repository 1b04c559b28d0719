"""Space: the queries and keys of every head in one picture; or two models on the same text, side by side."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace

import streamlit as st

from eyeline.measure.compare.options import CompareOptions
from eyeline.measure.runs.options import as_command, as_python
from eyeline.measure.space.options import FITTED, SpaceOptions, gauges, projections
from eyeline.show.app.jobs import panel
from eyeline.show.app.jobs.job import request_key
from eyeline.show.app.jobs.space import PROJECTIONS, ComparisonWork, SecondModel, SpaceWork, first_comparison, first_request
from eyeline.show.app.kit.form import ask
from eyeline.show.app.kit.models import choices, declared_by, model_source, recipe_source
from eyeline.show.app.kit.page import CorpusFile, console_opening, escaped, heading, python_opening, show_recipe
from eyeline.show.app.kit.settings import current
from eyeline.show.app.kit.texts import TextSource, open_text_and_models, text_source
from eyeline.show.app.run_parts import show_folder
from eyeline.words import Words

TASKS = ("one", "two")

#: What the page offers of the projections and gauges that points of a kind can have: a gauge only where it makes a difference.
OFFERED = {
    "project": lambda options: tuple(name for name in projections(options) if name in PROJECTIONS),
    "gauge": lambda options: () if options.of == "values" or options.project in FITTED else gauges(options),
}

#: The choice of an untrained copy of the first model; no folder can have this name.
UNTRAINED = "/untrained"


@dataclass(frozen=True)
class SpaceForm:
    """What the visitor filled in. other: the second model, and the options of a comparison, where two are compared."""

    source: TextSource
    model: str
    options: SpaceOptions
    other: str = UNTRAINED
    comparison: CompareOptions | None = None


def page(say: Words) -> None:
    heading(say, "space")
    form = _form(say)
    panel.show_job(say, "space", show_folder)
    first = recipe_source(form.model)
    if form.comparison is None:
        arguments = (first, form.source.file, form.options)
        show_recipe(say, python(*arguments), console(*arguments))
    else:
        two = (first, None if form.other == UNTRAINED else recipe_source(form.other), form.source.file, form.comparison)
        show_recipe(say, compare_python(*two), compare_console(*two))


def _form(say: Words) -> SpaceForm:
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
        size = {"limit": (1, limits.documents)}
        form = SpaceForm(source, model, first_request(limits))
        if task == "two":
            other = _second_model(say, model, names)
            form = replace(form, other=other, comparison=ask(say, first_comparison(limits), "space-two", limits=size))
        else:
            form = replace(form, options=ask(say, form.options, "space", limits=size, narrowed=OFFERED, explained=("gauge",)))
        label = say("space.run") if task == "one" else say("space.run_two")
        if st.button(label, type="primary", width="stretch", disabled=panel.is_running("space"), key="space-run"):
            _submit(say, form)
    return form


def _second_model(say: Words, first: str, names: list[str]) -> str:
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


def _submit(say: Words, form: SpaceForm) -> None:
    """Open the text and the models now, so that what is wrong is named at once; the rest happens in the background."""
    names = [form.model] if form.other == UNTRAINED else [form.model, form.other]
    opened = open_text_and_models(say, form.source, *names)
    if opened is None:
        return
    first, content = model_source(form.model, current()), form.source.content()
    if form.comparison is None:
        key = request_key("space", first, content, form.options, say.language)
        panel.submit(say, "space", SpaceWork(say, first, opened.corpus, form.options), key)
    else:
        second = SecondModel(first, None if form.other == UNTRAINED else model_source(form.other, current()))
        key = request_key("space", first, content, (second, form.comparison), say.language)
        panel.submit(say, "space", ComparisonWork(say, first, second, opened.corpus, form.comparison), key)


# ---- The page in Python and as commands


def python(source: str, file: CorpusFile, options: SpaceOptions) -> str:
    """As Python. source: what `el.load` takes."""
    return "\n".join(
        (
            *python_opening(file),
            f"space = el.space(el.load({source!r}), el.corpora.read_corpus({file.name!r}), {as_python(options)})",
            'space.run().save("run")  # tables',
            'el.runs.write_report("run")  # figures and report.html',
            'el.space_view(space).save("space.html")',
        )
    )


def console(source: str, file: CorpusFile, options: SpaceOptions) -> str:
    """As commands."""
    words = ["eyeline", "space", file.name, "--model", source, *as_command(options), "-o", "run"]
    return "\n".join([*console_opening(file), shlex.join(words)])


def compare_python(source: str, other: str | None, file: CorpusFile, options: CompareOptions) -> str:
    """As Python. other: None stands for an untrained copy of the first model."""
    untrained = ["from eyeline.models import reinitialised"] if other is None else []
    second = "reinitialised(first)" if other is None else f"el.load({other!r})"
    return "\n".join(
        (
            *python_opening(file, *untrained),
            f"first = el.load({source!r})",
            f"second = {second}",
            f"comparison = el.compare(first, second, el.corpora.read_corpus({file.name!r}), {as_python(options)})",
            'comparison.save("run")  # tables and spaces',
            'el.runs.write_report("run")  # figures and report.html',
            'el.space_view(*comparison.spaces).save("compare.html")',
        )
    )


def compare_console(source: str, other: str | None, file: CorpusFile, options: CompareOptions) -> str:
    """As commands. other: None stands for an untrained copy of the first model."""
    second = ["--untrained"] if other is None else ["--with", other]
    words = ["eyeline", "compare", file.name, "--model", source, *second, *as_command(options), "-o", "run"]
    return "\n".join([*console_opening(file), shlex.join(words)])
