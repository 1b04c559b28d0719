"""A front end of three lines, so that the hosts can be tested apart from the real one."""

from __future__ import annotations

import pytest

from eyeline.views import code, notebook

CORE = """const mount = (element, view) => { element.textContent = view.spec.texts[0].tokens.join("|"); };
"""
HOSTS = {
    "page": 'mount(document.getElementById("view"), JSON.parse(document.getElementById("eyeline-view").textContent));',
    "anywidget": 'export default { render: ({ model, el }) => mount(el, { spec: model.get("_spec") }) };',
}


def use_small_front_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "code_of", lambda kind, host: CORE + HOSTS[host])
    notebook.widget_class.cache_clear()
