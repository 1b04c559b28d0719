"""What happens with a view: BertViz' `html_action` and `display_mode`."""

from __future__ import annotations

from typing import Any, Literal

from eyeline.errors import EyelineError, TraceError, install_hint
from eyeline.views import View
from eyeline.views.page import frame


def check_action(html_action: str) -> None:
    """Refuse an `html_action` that BertViz does not have."""
    if html_action not in ("view", "return"):
        raise TraceError(f"html_action={html_action!r}.", "Choices: view, return.")


def check_mode(display_mode: str) -> None:
    """Refuse a `display_mode` that BertViz does not have."""
    if display_mode not in ("light", "dark"):
        raise TraceError(f"display_mode={display_mode!r}.", "Choices: light, dark.")


def theme_of(display_mode: str) -> Literal["light", "dark"]:
    """The theme that a checked mode means."""
    return "light" if display_mode == "light" else "dark"


def deliver(view: View, html_action: str) -> Any:
    """Show the view (html_action="view"), or return it as IPython's HTML ("return")."""
    try:
        from IPython import display
    except ImportError as error:
        raise EyelineError("Showing in a notebook needs IPython, which is not installed.", install_hint("notebook")) from error
    if html_action == "view":
        show: Any = display.display
        show(view)
        return None

    class FramedPage(display.HTML):
        """`.data` is a whole page, to be written to a file; in a cell it shows inside a frame, where its style touches nothing else."""

        def _repr_html_(self) -> str:
            return frame(self.data)

    page_class: Any = FramedPage
    return page_class(view.html())
