"""The part of a space that belongs to one head or one layer, as a space of its own; and distinct names for two spaces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eyeline.heads import HeadRef
from eyeline.results.space.ask import HeadPicture
from eyeline.results.space.shown_fidelity import HELD_OUT
from eyeline.results.space.space import Space

#: Arrays of a stack whose first two axes are layer and head.
PER_HEAD = ("queries", "keys", "query_norms", "key_norms", "top_keys", "top_weights", "maps")


def head_space(space: Space, head: HeadRef) -> Space:
    """The space of one head alone."""
    i, j = space.stacks[head.stack].index_of(head.layer, head.head)
    return _part(space, head.stack, slice(i, i + 1), slice(j, j + 1))


def layer_space(space: Space, stack: str, layer: int) -> Space:
    """The space of all heads of one layer."""
    i = space.stacks[stack].layers.index(layer)
    return _part(space, stack, slice(i, i + 1), slice(None))


def _part(space: Space, name: str, layers: slice, heads: slice) -> Space:
    stack = space.stacks[name]

    def cut(array: np.ndarray | None) -> np.ndarray | None:
        return None if array is None else array[layers, heads]

    arrays = {what: cut(getattr(stack, what)) for what in PER_HEAD}
    part = replace(
        stack,
        layers=stack.layers[layers],
        heads=stack.heads[heads],
        facts={fact: values[layers, heads] for fact, values in stack.facts.items()},
        linear=None,
        vectors=None,
        pairs={},
        **arrays,  # type: ignore[arg-type]
    )
    return replace(space, stacks={name: part})


def distinct_names(first: str, second: str) -> tuple[str, str]:
    """The names of two models; numbered where they are the same.

    >>> distinct_names("base", "tuned"), distinct_names("base", "base")
    (('base', 'tuned'), ('base (1)', 'base (2)'))
    """
    return (first, second) if first != second else (f"{first} (1)", f"{second} (2)")


def picture_space(space: Space, picture: HeadPicture) -> Space:
    """The space of one head alone, with the points of another projection."""
    alone = head_space(space, HeadRef(picture.stack, picture.layer, picture.head))
    stack = alone.stacks[picture.stack]
    fidelity = dict(zip(HELD_OUT, (picture.top1, picture.top5, picture.rank_correlation), strict=True))
    facts = {name: np.array([[value]]) for name, value in fidelity.items()} | {"entropy": stack.facts["entropy"]}
    points = {"queries": None if space.of == "values" else picture.queries[None, None], "keys": picture.keys[None, None]}
    changed = replace(stack, facts=facts, **points)  # type: ignore[arg-type]
    return replace(alone, project=picture.project, gauge=picture.gauge, stacks={stack.name: changed}, held_out=picture.held_out)
