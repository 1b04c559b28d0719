"""The embedded models, each opened once."""

from __future__ import annotations

from functools import cache

import eyeline as el


@cache
def model(name: str) -> el.Model:
    return el.load(name)
