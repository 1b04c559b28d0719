"""A page shown inside another page."""

from __future__ import annotations

import html


def frame(page: str) -> str:
    """A page inside another, where it can touch nothing around it."""
    return (
        '<iframe sandbox="allow-scripts allow-downloads allow-popups" style="width:100%;height:720px;border:0" '
        f'srcdoc="{html.escape(page)}"></iframe>'
    )
