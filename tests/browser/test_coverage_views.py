"""docs/project/coverage.md: every control of a view that the page names is there when the view is opened."""

from __future__ import annotations

import pytest

import eyeline as el
from eyeline.look.views.view import View
from tests.browser import made_up, made_up_space
from tests.project.coverage_page import answers

OPENED = {"opened": True, "layer": 1, "heads": [1]}
#: A control → the state in which it is shown, where that is not the first one.
STATES = {"links_top": {**OPENED, "links": "top"}, "sheet": {}}


def view_of(kind: str, control: str) -> View:
    if kind == "space":
        return made_up_space.view(layers=3, state=STATES.get(control, OPENED))
    if kind == "shared":
        return made_up_space.view(layers=3, of="shared", state=OPENED)
    if kind == "neuron":
        return made_up.neurons(8)
    trace = made_up.trace(8, layers=2, heads=3, pair=True)
    return {"head": el.head_view, "model": el.model_view}[kind](trace)


CONTROLS = dict.fromkeys(answer.code for answer in answers("view"))


@pytest.mark.parametrize("kind", dict.fromkeys(kind for kind, _ in CONTROLS))
def test_every_control_that_the_page_names_is_in_its_view(show, kind):
    opened = {}
    for control in (control for of, control in CONTROLS if of == kind):
        state = str(STATES.get(control, OPENED))
        if state not in opened:
            opened[state] = show(view_of(kind, control))
        assert opened[state].page.locator(f"[data-name={control}], [name={control}]").count() > 0, control
    assert [shown.errors for shown in opened.values()] == [[]] * len(opened)
