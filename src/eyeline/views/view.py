"""A view: what is shown, as data. Hosts turn it into a page, a notebook cell or a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from eyeline.errors import TraceError
from eyeline.views.encode import Encoded
from eyeline.views.state import checked

KINDS = ("head", "model", "neuron", "space")


@dataclass(frozen=True)
class View:
    """Attention ready to be looked at: JSON in `spec`, numbers in `arrays` (docs/view-format.md is the contract of both).

    The last expression of a notebook cell shows it; `save("x.html")` writes a page that works offline.
    """

    kind: str
    spec: Mapping[str, Any]
    arrays: Mapping[str, Encoded]
    _live: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise TraceError(f"A view of kind {self.kind!r}.", f"Choices: {', '.join(KINDS)}.")

    def __repr__(self) -> str:
        if self.kind == "space":
            count = len(self.spec["texts"])
            return f"<space view of {self.spec['model']}, {count} text{'s' if count != 1 else ''}>"
        text = self.spec["texts"][self.spec["stacks"][0]["query_text"]]
        return f"<{self.kind} view of {self.spec['model']}, {len(text['tokens'])} tokens>"

    @property
    def state(self) -> dict[str, Any]:
        """What the reader chose: follows the live widget in a notebook, elsewhere where the view starts."""
        live = self._live.get("widget")
        return {**self.spec["state"], **(live.state if live is not None else {})}

    def update(self, **changes: Any) -> None:
        """Change the state of the live widget, as if the reader had: `view.update(layer=3, heads=[7])`."""
        self.widget().state = {**self.state, **checked(changes, self.spec, self.state)}

    def starting(self, **state: Any) -> View:
        """The same view with another starting state, for a page: `view.starting(theme="dark").save("x.html")`."""
        now = self.spec["state"]
        return replace(self, spec={**self.spec, "state": {**now, **checked(state, self.spec, now)}})

    def weights(self, stack: int = 0, layer: int = 0) -> np.ndarray:
        """[head, query, key] of the layer at this position, as a reader sees them: right to three decimals."""
        return self.arrays[self.spec["stacks"][stack]["layers"][layer]["weights"]].decode()

    def html(self) -> str:
        """One self-contained page, as a string."""
        from eyeline.hosts.page import page

        return page(self)

    def save(self, path: str | Path) -> None:
        """Write a page (.html), or the attention graph of the one layer and head shown (.svg, .pdf); whole or not at all."""
        from eyeline.hosts.page import save

        save(self, path)

    def widget(self) -> Any:
        """The live anywidget of this view (made once), whose `state` follows the reader."""
        from eyeline.hosts.notebook import widget_of

        if "widget" not in self._live:
            self._live["widget"] = widget_of(self)
        return self._live["widget"]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        from eyeline.hosts.notebook import mimebundle

        return mimebundle(self)

    def _ipython_display_(self) -> None:
        from eyeline.hosts.notebook import show

        show(self)

    def _display_(self) -> Any:
        """marimo asks for this."""
        return self.widget()
