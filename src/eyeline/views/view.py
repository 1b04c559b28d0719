"""A view that shows and saves itself: `view` as the last line of a notebook cell, `view.save("x.html")`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Unpack

from eyeline.views.data import ViewData
from eyeline.views.notebook import EmbeddedPage, embedded_page, live_widget, mimebundle, show
from eyeline.views.options import StateOptions
from eyeline.views.page import page, save
from eyeline.views.state import checked


class View(ViewData):
    """Attention ready to be looked at.

    The last expression of a notebook cell shows it; `save("x.html")` writes a page that works offline.
    """

    def update(self, **changes: Unpack[StateOptions]) -> None:
        """Change the state of the live widget, as if the reader had: `view.update(layer=3, heads=[7])`."""
        self.widget().state = {**self.state, **checked(dict(changes), self.spec, self.state)}

    def html(self) -> str:
        """One self-contained page, as a string."""
        return page(self)

    def save(self, path: str | Path, language: str | None = None) -> None:
        """Write a page (.html), or a picture of the view in its present state (.svg, .pdf, .png); whole or not at all.

        language   of the page, or of the line under a picture that says how it was made: en, ja or ko; else that of the view
        """
        save(self, path, language)

    def embed(self) -> EmbeddedPage:
        """The view as a page inside the notebook: `view.embed()` as the last line of a cell.

        It stays live in a saved notebook without a kernel, in nbviewer and in exported HTML. The file grows by the size of the page, about
        2 MB for 128 tokens and 144 heads; fewer layers make it smaller (`el.head_view(trace, layers=[3])`).
        """
        return embedded_page(self)

    def widget(self) -> Any:
        """The live anywidget of this view (created once), whose `state` follows the reader."""
        return live_widget(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return mimebundle(self)

    def _ipython_display_(self) -> None:
        show(self)

    def _display_(self) -> Any:
        """Called by marimo."""
        return self.widget()
