"""A visitor's words beside ours: shown as they are, never read as markup."""

from __future__ import annotations

import re

import streamlit as st

from eyeline.errors import EyelineError
from eyeline.text.printable import printable


def escaped(text: str) -> str:
    """Text that Markdown, and Streamlit's own signs (colours, icons, formulas), leave as it is.

    >>> escaped("*a* <b> :red[x] $y$")
    '\\\\*a\\\\* \\\\<b\\\\> \\\\:red\\\\[x\\\\] \\\\$y\\\\$'
    """
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", printable(text))


def refuse(lead: str, error: EyelineError | str = "") -> None:
    """What went wrong, in the visitor's language, and below it the exact words."""
    st.error(lead, icon=":material/error:")
    if error:
        st.code("\n".join(printable(line) for line in str(error).splitlines()), language=None, wrap_lines=True)
