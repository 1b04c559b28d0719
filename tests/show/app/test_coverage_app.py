"""docs/project/coverage.md: every address of the app that the page names opens, and has the control or the words that the page names."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest

from eyeline.show.app.shell import PAGES
from tests.project.coverage_page import answers

#: Address → page: the first page has no name in the address.
PAGE_OF = {"/" if page.default else f"/{page.name}": page.name for page in PAGES}
#: Address → what must be there: one opening for all rows of an address.
WANTED: dict[str, list[str]] = {}
for answer in answers("app"):
    WANTED.setdefault(answer.code[0], []).append(answer.code[1])


@pytest.mark.slow
@pytest.mark.parametrize("address", WANTED)
def test_every_page_of_the_app_has_what_the_coverage_page_names(script, address):
    parts = urlsplit(address)
    query = dict(parse_qsl(parts.query))
    at = script(PAGE_OF[parts.path], query.pop("lang", "en"))
    for name, value in query.items():
        at.query_params[name] = value
    at.run()
    assert not at.exception, [element.value for element in at.exception]
    elements = list(at.main)
    keys = [str(getattr(element, "key", None) or "") for element in elements]
    text = "\n".join(str(getattr(element, name, "")) for element in elements for name in ("value", "label", "proto"))

    def is_there(wanted: str) -> bool:
        return any(key.startswith(wanted) for key in keys) or wanted in text

    assert not is_there("no such control")
    assert [wanted for wanted in WANTED[address] if not is_there(wanted)] == []
