"""The options of each view, as types: the keywords of `head_view(trace, theme="dark")`. The state's keys are those of state_schema.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

from eyeline.text.named_pairs import PairsGiven


class Zoom(TypedDict, total=False):
    """The part of a view that is shown: its scale and where it begins."""

    x: float
    y: float
    k: float


class Turn(TypedDict, total=False):
    """How a cube of points is turned."""

    yaw: float
    pitch: float


class EveryViewOptions(TypedDict, total=False):
    """Options that every view has."""

    find: str
    theme: Literal["system", "light", "dark"]


class ReadingOptions(EveryViewOptions, total=False):
    """What is drawn, and which weights are left in, for views of a trace."""

    drawn: int
    segments: Literal["all", "aa", "ab", "ba", "bb"]
    hide_special: bool
    hide_sink: bool
    renormalise: bool
    threshold: float
    rescale: bool


#: `as` is a keyword of Python, so it cannot be a field of a class.
Shape = TypedDict("Shape", {"as": Literal["lines", "heatmap"]}, total=False)


class HeadViewOptions(ReadingOptions, Shape, total=False):
    """Options of `head_view`."""

    off: str
    level: Literal["token", "word"]
    direction: Literal["from", "to"]
    combine: Literal["each", "mean", "max"]
    combine_layers: Sequence[int]
    locked: Sequence[int]
    zoom: Zoom


class ModelViewOptions(HeadViewOptions, total=False):
    """Options of `model_view`."""

    rows: Sequence[int]
    columns: Sequence[int]
    colour_by: Literal["head", "layer"]
    opened: bool


class NeuronViewOptions(ReadingOptions, total=False):
    """Options of `neuron_view`."""

    off: str
    query: int
    expanded: int | None


class PointOptions(TypedDict, total=False):
    """Options that only a space has."""

    colour_points: Literal["kind", "position", "position5", "token", "tag", "text", "norm"]
    links: Literal["chosen", "best", "top", "none"]
    links_top: int
    point: int | None
    text: int | None
    lasso: Sequence[int]
    pairs: PairsGiven
    tool: Literal["move", "lasso"]
    turn: Turn


class SpaceViewOptions(EveryViewOptions, PointOptions, total=False):
    """Options of `space_view`."""

    rows: Sequence[int]
    zoom: Zoom
    opened: bool


class StateOptions(ModelViewOptions, PointOptions, total=False):
    """Every key of a state, as `view.starting(…)` and `view.update(…)` take them."""

    stack: int
    layer: int
    heads: Sequence[int] | int
    query: int
    expanded: int | None
