"""Formulas as MathML, which browsers draw by themselves: a page needs no script for them, and none from the network."""

from __future__ import annotations

import re
from html import unescape
from importlib.util import find_spec
from pathlib import Path

from latex2mathml.converter import convert

#: Exponents, roots and accents are placed by the table of a mathematical font. Many systems have none: ziamath brings STIX Two Math.
FONT = "assets/STIXTwoMath-Regular.ttf"

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def font() -> bytes:
    """The font of the formulas, for the site."""
    package = find_spec("ziamath")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("The formulas of the site need ziamath: pip install '.[docs]'")
    return (Path(package.origin).parent / "fonts" / Path(FONT).name).read_bytes()


def as_mathml(html: str) -> str:
    r"""A page with its formulas drawn.

    >>> '<mi>x</mi>' in as_mathml(r'<span class="arithmatex">\(x\)</span>')
    True
    """
    return FORMULA.sub(lambda part: _spaced(convert(unescape(part[3]), display="inline" if part[2] == "(" else "block")), html)


def _spaced(mathml: str) -> str:
    """A thin space on both sides of a logarithm, which the converter leaves out."""
    return mathml.replace("<mi>log</mi>", '<mrow><mspace width="0.17em" /><mi>log</mi><mspace width="0.17em" /></mrow>')
