"""A front end of three lines, so that the hosts can be tested apart from the real one."""

from __future__ import annotations

import pytest

from eyeline.look.views import notebook, page

CORE = """const mount = (element, view) => { element.textContent = view.spec.texts[0].tokens.join("|"); };
"""
HOSTS = {
    "page": 'mount(document.getElementById("view"), JSON.parse(document.getElementById("eyeline-view").textContent));',
    "anywidget": 'export default { render: ({ model, el }) => mount(el, { spec: model.get("_spec") }) };',
}


def use_small_front_end(monkeypatch: pytest.MonkeyPatch) -> None:
    for host_module in (page, notebook):
        monkeypatch.setattr(host_module, "code_of", lambda kind, host: CORE + HOSTS[host])
    notebook.widget_class.cache_clear()
