"""A number for each head of a model, as the grid of heads shows it: in the model view, in the app's maps, and as a picture.

docs/view-format.md describes the record; frontend/src/marks/heads-grid.ts draws it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from eyeline.errors import TraceError
from eyeline.look.answer import LayerEffects
from eyeline.look.palette import DARK_PAGE, LIGHT_PAGE, layer_shade, mixed, role_colour
from eyeline.look.stack import Stack, as_kept, single_precision
from eyeline.look.trace import Trace
from eyeline.look.views.data import ViewData
from eyeline.mathematics import entropy
from eyeline.words import Words

Scale = Literal["signed", "share", "nats", "role"]


@dataclass(frozen=True)
class HeadGrid:
    """values: [layer, head], nan where nothing is known (layers of fewer heads too); of roles, indices into `names`.

    quantity    what the colour says: "effect", "role", "entropy" … or a name of your own
    title       of the grid; low, high: words at the ends of its legend
    scale       signed: blue below zero, orange above; share: from nothing to much; nats: viridis; role: names
    measured    [layer, head], False where the value is an estimate, which is drawn hollow; None: all are measured
    layers      their numbers; None: from 0
    n_heads     heads in each layer; None: as many as there are columns
    largest     the size of the number that has the full colour; None: the largest there is
    names       of roles: pairs of a name and the role, or the colour, that it is drawn in

    >>> HeadGrid("effect", np.array([[0.5, np.nan]]), title="Effect", measured=np.array([[True, False]])).record()["values"]
    [[0.5, None]]
    """

    quantity: str
    values: np.ndarray
    title: str = ""
    scale: Scale = "signed"
    low: str = ""
    high: str = ""
    measured: np.ndarray | None = None
    stack: str = ""
    layers: Sequence[int] | None = None
    n_heads: Sequence[int] | None = None
    largest: float | None = None
    decimals: int | None = None
    unit: str = ""
    names: Sequence[tuple[str, str]] = ()

    def __post_init__(self) -> None:
        shape = np.shape(self.values)
        if len(shape) != 2:
            raise TraceError(f"values of shape {shape}.", "Give a number for each layer and head: [layer, head].")
        for name, given in (("layers", self.layers), ("n_heads", self.n_heads), ("measured", self.measured)):
            if given is not None and len(given) != shape[0]:
                raise TraceError(f"{len(given)} {name} and {shape[0]} rows of values.", "Give one for each layer.")

    def record(self) -> dict[str, Any]:
        """As JSON, for the front end."""
        rows, columns = self.values.shape
        counts = list(self.n_heads) if self.n_heads is not None else [columns] * rows
        known = [
            [None if np.isnan(value) else round(float(value), 6) for value in row[:count]]
            for row, count in zip(self.values, counts, strict=True)
        ]
        if self.scale == "role":
            known = [[None if value is None else int(value) for value in row] for row in known]
        found: dict[str, Any] = {
            "quantity": self.quantity,
            "title": self.title,
            "scale": self.scale,
            "layers": list(self.layers) if self.layers is not None else list(range(rows)),
            "heads": counts,
            "values": known,
        }
        found |= {
            key: value for key in ("low", "high", "stack", "largest", "decimals", "unit") if (value := getattr(self, key)) not in ("", None)
        }
        if self.measured is not None:
            found["measured"] = np.asarray(self.measured, dtype=int).tolist()
        if self.names:
            found["names"] = [{"name": name, "light": shade(role), "dark": shade(role, dark=True)} for name, role in self.names]
        return found


def shade(role: str, *, dark: bool = False) -> str:
    """The colour of a role, or the colour itself."""
    return role if role.startswith("#") else role_colour(role, dark=dark)


# ---- The grids of a model view


def grids_of(view: ViewData, trace: Trace, given: Sequence[HeadGrid] = ()) -> list[dict[str, Any]]:
    """The grids of a model view: those given, effects where they are in the view, and what the maps of this text say of each head."""
    words, found = Words(view.language), [each.record() for each in given]
    for stack in view.spec["stacks"]:
        found += [each.record() for each in effects_of(view, stack, words)]
        if trace.quantity is None:
            found += [each.record() for each in of_maps(view, trace.stacks[stack["name"]], stack, words)]
    return found


def effects_of(view: ViewData, stack: Mapping[str, Any], words: Words) -> list[HeadGrid]:
    """What the probability of the first choice gains without each head, where the view holds it."""
    effects = {each["layer"]: each["probabilities"] for each in view.spec.get("effects", ()) if each["stack"] == stack["name"]}
    if not effects:
        return []
    before = view.spec["prediction"]["choices"][0]["probabilities"][0]
    rows = [np.asarray(effects.get(layer["layer"], []), dtype=float) - before for layer in stack["layers"]]
    low, high = words("view.grid_falls"), words("view.grid_rises")
    return [padded(view, stack, "effect", rows, title=words("view.grid_effect"), scale="signed", low=low, high=high)]


#: A change of probability that has at least this part of the full colour: an answer that nothing changes stays pale.
FULL = 0.1


def grid_of_effects(
    effects: Sequence[LayerEffects], before: float, measured: int, *, stack: str, named: bool, low: str = "", high: str = ""
) -> HeadGrid:
    """What the probability of an answer gains without each head of a stack.

    effects    as `model.head_effects(trace)` gives them, or estimates of them
    before     the probability with all heads
    measured   of how many layers of `effects`, from the first; the others are estimates
    named      whether the names of heads hold that of their stack, as in models of several

    >>> layers = [{"stack": "encoder", "layer": i, "probabilities": [0.5, 0.25]} for i in range(2)]
    >>> grid = grid_of_effects(layers, 0.5, 1, stack="encoder", named=False)
    >>> grid.values.tolist(), grid.measured.tolist()
    ([[0.0, -0.25], [0.0, -0.25]], [[True, True], [False, False]])
    """
    rows = [(number < measured, layer) for number, layer in enumerate(effects) if layer["stack"] == stack]
    counts = [len(layer["probabilities"]) for _, layer in rows]
    values, certain = np.full((len(rows), max(counts)), np.nan), np.zeros((len(rows), max(counts)), dtype=bool)
    for row, (is_measured, layer) in enumerate(rows):
        values[row, : counts[row]] = np.array(layer["probabilities"]) - before
        certain[row] = is_measured
    return HeadGrid(
        "effect",
        values,
        low=low,
        high=high,
        measured=certain,
        stack=stack if named else "",
        layers=[layer["layer"] for _, layer in rows],
        n_heads=counts,
        largest=max(FULL, float(np.nanmax(np.abs(values)))),
        decimals=3,
    )


def of_maps(view: ViewData, kept: Stack, stack: Mapping[str, Any], words: Words) -> list[HeadGrid]:
    """The mean entropy of each head's rows, and its attention on special tokens (where there are none, on the first token)."""
    special = np.array(kept.key_text.special, dtype=bool)
    if not special.any():
        special[:1] = True
    broad, on_special = [], []
    for layer in stack["layers"]:
        weights = np.nan_to_num(single_precision(as_kept(kept.weights_by_layer)[kept.layers.index(layer["layer"])]))  # [head, query, key]
        broad.append(np.nan_to_num(np.nanmean(entropy(weights), axis=-1)))
        on_special.append(weights[:, :, special].sum(axis=-1).mean(axis=-1))
    low, high = words("view.grid_narrow"), words("view.grid_broad")
    return [
        padded(view, stack, "entropy", broad, title=words("view.grid_entropy"), scale="nats", low=low, high=high, unit=words("view.nats")),
        padded(view, stack, "special", on_special, title=words("view.grid_special"), scale="share", largest=1.0),
    ]


def padded(view: ViewData, stack: Mapping[str, Any], quantity: str, rows: Sequence[np.ndarray], **options: Any) -> HeadGrid:
    """A grid of rows of unequal lengths. rows: for each layer [head]"""
    counts = [int(layer["n_heads"]) for layer in stack["layers"]]
    values = np.full((len(rows), max(counts)), np.nan)
    for row, numbers in enumerate(rows):
        values[row, : len(numbers)] = numbers
    name = stack["name"] if len(view.spec["stacks"]) > 1 else ""
    return HeadGrid(quantity, values, stack=name, layers=[layer["layer"] for layer in stack["layers"]], n_heads=counts, **options)


def line_colour(grid: Mapping[str, Any], row: int, head: int, *, dark: bool) -> str:
    """The colour of a head's lines in a picture, as frontend/src/marks/heads-grid.ts has it: small values are grey."""
    page = DARK_PAGE if dark else LIGHT_PAGE
    value = grid["values"][row][head]
    if value is None:
        return page.muted
    if grid["scale"] == "role":
        return str(grid["names"][value]["dark" if dark else "light"])
    largest = grid.get("largest") or max(1e-9, *(abs(each) for values in grid["values"] for each in values if each is not None))
    share = min(1.0, abs(value) / largest)
    if grid["scale"] == "signed":
        return mixed(page.muted, page.negative if value < 0 else page.positive, share**0.65)
    if grid["scale"] == "nats":
        return layer_shade(share, dark=dark)
    return mixed(page.muted, page.accent, share**0.5)
