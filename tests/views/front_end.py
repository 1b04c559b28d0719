"""A front end of three lines, so that the hosts can be tested apart from the real one."""

from __future__ import annotations

import pytest

from eyeline.views import notebook, page

CODE = """const hard = "</script><!--";
function m(element, view, options) { element.textContent = view.spec.texts[0].tokens.join("|"); return { update() {}, destroy() {} }; }
var d = { render: ({ model, el }) => m(el, { spec: model.get("_spec") }, {}) };
export{d as default,m as mount};
"""


def use_small_front_end(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (page, notebook):
        monkeypatch.setattr(module, "bundle", lambda: page.open_module(CODE))
    notebook.widget_class.cache_clear()
