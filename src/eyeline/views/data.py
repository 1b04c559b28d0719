"""What a view shows, as data: a JSON description, encoded arrays and the state it starts in. Pages, widgets and pictures read this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, Unpack

import numpy as np

from eyeline.errors import TraceError
from eyeline.views.encode import Encoded
from eyeline.views.options import StateOptions
from eyeline.views.quantities import decode_quantity
from eyeline.views.state import checked
from eyeline.words import check_language

KINDS = ("head", "model", "neuron", "space")


@dataclass(frozen=True)
class ViewData:
    """JSON in `spec`, numbers in `arrays` (docs/view-format.md is the contract of both)."""

    kind: str
    spec: Mapping[str, Any]
    arrays: Mapping[str, Encoded]
    #: The language of its controls, titles and pictures: en, ja or ko.
    language: str = "en"
    #: The live widget and the class name of its still picture, once a notebook shows the view; the model's answer to what is switched off.
    _live: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise TraceError(f"A view of kind {self.kind!r}.", f"Choices: {', '.join(KINDS)}.")
        check_language(self.language)

    def __repr__(self) -> str:
        if self.kind == "space":
            count = len(self.spec["texts"])
            return f"<space view of {self.spec['model']}, {count} text{'s' if count != 1 else ''}>"
        text = self.spec["texts"][self.spec["stacks"][0]["query_text"]]
        return f"<{self.kind} view of {self.spec['model']}, {len(text['tokens'])} tokens>"

    @property
    def state(self) -> dict[str, Any]:
        """The reader's choices: those of the live widget in a notebook, elsewhere the starting state."""
        live = self._live.get("widget")
        return {**self.spec["state"], **(live.state if live is not None else {})}

    def starting(self, **state: Unpack[StateOptions]) -> Self:
        """The same view with another starting state, for a page: `view.starting(theme="dark").save("x.html")`."""
        now = self.spec["state"]
        other = replace(self, spec={**self.spec, "state": {**now, **checked(dict(state), self.spec, now)}})
        if "answer" in self._live:
            other._live["answer"] = self._live["answer"]
        return other

    def weights(self, stack: int = 0, layer: int = 0, drawn: int = 0) -> np.ndarray:
        """[head, query, key] of the layer with this index in the view, as a reader sees them: right to three decimals.

        drawn: attention (0) or a quantity beside it, whose numbers are given as fractions of the largest one (`spec["quantities"]`).
        """
        record = self.spec["stacks"][stack]["layers"][layer]
        name = record["weights"] if drawn == 0 else record["also"][drawn - 1]
        if name is None:
            return np.zeros((1, *self.weights(stack, layer).shape[1:]), dtype=np.float32)
        quantities = self.spec.get("quantities")
        return self.arrays[name].decode() if quantities is None else decode_quantity(self.arrays[name], quantities[drawn])
