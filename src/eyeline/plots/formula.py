"""Formulas as HTML."""

from __future__ import annotations

import html
import re

SUBSCRIPT = re.compile(r"_(?:\{([^}]*)\}|(\w))")


def formula_html(formula: str) -> str:
    """A formula with its subscripts, `_x` and `_{xyz}`, as HTML.

    >>> formula_html("H_h(q) = Σ_{k < q} α")
    'H<sub>h</sub>(q) = Σ<sub>k &lt; q</sub> α'
    """
    return SUBSCRIPT.sub(lambda match: f"<sub>{match[1] or match[2]}</sub>", html.escape(formula, quote=False))
