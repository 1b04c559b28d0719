"""The options of each view: the keywords of `head_view(trace, theme="dark")`. docs/view-format.md says what each does.

Written by scripts/generate.py from src/eyeline/look/views/state_schema.json: change that file, and run the script.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

from eyeline.text.named_pairs import PairsGiven


class Zoom(TypedDict, total=False):
    """Parts of `zoom`."""

    x: float
    y: float
    k: float


class Turn(TypedDict, total=False):
    """Parts of `turn`."""

    yaw: float
    pitch: float


#: A keyword of Python cannot be a field of a class.
As = TypedDict("As", {"as": Literal["lines", "heatmap"]}, total=False)


class HeadViewOptions(As, total=False):
    """Options of `head_view`."""

    drawn: int
    level: Literal["token", "word"]
    direction: Literal["from", "to"]
    segments: Literal["all", "aa", "ab", "ba", "bb"]
    query_part: int | None
    key_part: int | None
    colour_parts: bool
    hide_special: bool
    hide_sink: bool
    mute_sinks: bool
    renormalise: bool
    threshold: float
    rescale: bool
    combine: Literal["each", "mean", "max"]
    combine_layers: Sequence[int] | int
    locked: Sequence[int] | int
    off: str
    find: str
    theme: Literal["system", "light", "dark"]
    zoom: Zoom


class ModelViewOptions(As, total=False):
    """Options of `model_view`."""

    drawn: int
    level: Literal["token", "word"]
    direction: Literal["from", "to"]
    segments: Literal["all", "aa", "ab", "ba", "bb"]
    query_part: int | None
    key_part: int | None
    colour_parts: bool
    hide_special: bool
    hide_sink: bool
    renormalise: bool
    threshold: float
    rescale: bool
    combine: Literal["each", "mean", "max"]
    combine_layers: Sequence[int] | int
    locked: Sequence[int] | int
    off: str
    rows: Sequence[int] | int
    columns: Sequence[int] | int
    colour_by: Literal["head", "layer", "effect", "role", "entropy", "special"]
    opened: bool
    find: str
    theme: Literal["system", "light", "dark"]
    zoom: Zoom


class NeuronViewOptions(TypedDict, total=False):
    """Options of `neuron_view`."""

    drawn: int
    segments: Literal["all", "aa", "ab", "ba", "bb"]
    query_part: int | None
    key_part: int | None
    colour_parts: bool
    hide_special: bool
    hide_sink: bool
    renormalise: bool
    threshold: float
    rescale: bool
    off: str
    query: int
    expanded: int | None
    find: str
    theme: Literal["system", "light", "dark"]


class SentenceViewOptions(TypedDict, total=False):
    """Options of `sentence_view`."""

    drawn: int
    level: Literal["token", "word"]
    direction: Literal["from", "to"]
    segments: Literal["all", "aa", "ab", "ba", "bb"]
    query_part: int | None
    key_part: int | None
    colour_parts: bool
    hide_special: bool
    hide_sink: bool
    mute_sinks: bool
    renormalise: bool
    threshold: float
    rescale: bool
    locked: Sequence[int] | int
    off: str
    find: str
    theme: Literal["system", "light", "dark"]


class TextViewOptions(SentenceViewOptions, total=False):
    """Options of `text_view`."""


class GenerationViewOptions(TypedDict, total=False):
    """Options of `generation_view`."""

    mute_sinks: bool
    theme: Literal["system", "light", "dark"]
    shown: Literal["mean", "layer", "head"]
    written: int
    part: int | None


class SpaceViewOptions(TypedDict, total=False):
    """Options of `space_view`."""

    rows: Sequence[int] | int
    opened: bool
    find: str
    theme: Literal["system", "light", "dark"]
    zoom: Zoom
    colour_points: Literal["kind", "position", "position5", "token", "tag", "text", "norm"]
    links: Literal["chosen", "best", "top", "none"]
    links_top: float
    point: int | None
    text: int | None
    lasso: Sequence[int] | int
    pairs: PairsGiven
    every_pair: bool
    tool: Literal["move", "lasso"]
    turn: Turn


class StateOptions(ModelViewOptions, total=False):
    """Every key of a state, as `view.starting(…)` and `view.update(…)` take them."""

    stack: int
    layer: int
    heads: Sequence[int] | int
    mute_sinks: bool
    query: int
    expanded: int | None
    colour_points: Literal["kind", "position", "position5", "token", "tag", "text", "norm"]
    links: Literal["chosen", "best", "top", "none"]
    links_top: float
    point: int | None
    text: int | None
    lasso: Sequence[int] | int
    pairs: PairsGiven
    every_pair: bool
    tool: Literal["move", "lasso"]
    turn: Turn
    shown: Literal["mean", "layer", "head"]
    written: int
    part: int | None
