"""docs/models.md names every family once; `make test-families` writes it anew."""

from __future__ import annotations

import re
from collections import Counter

from tests.families.kinds import NOT_BUILT, RECORDED, REFUSED, WEIGHTS_ONLY, FamilyKind
from tests.families.small_models import FAMILY_NAMES
from tests.families.table import PAGE, page


def test_the_page_names_every_family_of_this_transformers_once():
    named = Counter(
        name for name in re.findall(r"`([\w.-]+)`", PAGE.read_text(encoding="utf-8").split("## Recorded")[1]) if name != "el.load"
    )
    assert set(FAMILY_NAMES) - set(named) == set(), "run make test-families"
    assert {name for name in FAMILY_NAMES if named[name] > 1} == set()


def test_the_page_groups_families_by_what_they_give_and_why():
    kinds = [
        FamilyKind("a", RECORDED),
        FamilyKind("b", WEIGHTS_ONLY, "why"),
        FamilyKind("c", REFUSED, "no"),
        FamilyKind("d", REFUSED, "no"),
    ]
    text = page([*kinds, FamilyKind("e", NOT_BUILT, "cannot")])
    assert "| no | `c`, `d` |" in text
    assert "| why | `b` |" in text
    assert "| all | 5 |" in text
