"""An option that is added to a record is in the form of the app, and what is chosen there is in the recipe."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, get_type_hints

import pytest

from eyeline.kinds import RUNS, named
from tests.measure.runs.test_options import with_one_more
from tests.show.app.test_pages import errors

#: Kind of run → the page with its form, and what is chosen there first. A circuit has no form.
FORMS: dict[str, tuple[str, dict[str, str]]] = {
    "analyse": ("corpus", {}),
    "syntax": ("grammar", {}),
    "coreference": ("grammar", {}),
    "probe": ("grammar", {}),
    "space": ("space", {}),
    "compare": ("space", {"space-task": "two"}),
}


def test_every_kind_of_run_but_circuits_has_a_form() -> None:
    assert set(RUNS) - set(FORMS) == {"circuit"}


@pytest.mark.parametrize("kind", FORMS)
def test_an_option_that_is_added_to_a_record_is_in_the_form_and_the_recipe(
    kind: str, script: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    page, choices = FORMS[kind]
    at = script(page).run()
    record = get_type_hints(named(RUNS[kind].facts))["options"]
    longer = with_one_more(record)
    users = [module for name, module in sys.modules.items() if name.startswith("eyeline.show.app") and hasattr(module, record.__name__)]
    for module in users:
        monkeypatch.setattr(module, record.__name__, longer)
    for key, choice in choices.items():
        at.segmented_control(key=key).set_value(choice)
    at.run()
    (widget,) = [widget for widget in at.number_input if widget.key.endswith("-sharpness")]
    widget.set_value(7).run()
    assert errors(at) == []
    recipe = "\n".join(code.value for code in at.code)
    assert "sharpness=7" in recipe
    assert "--sharpness 7" in recipe
