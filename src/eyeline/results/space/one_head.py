"""The part of a space that belongs to one head, as a space of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eyeline.heads import HeadRef
from eyeline.results.space.ask import HeadPicture
from eyeline.results.space.space import Space

#: Arrays of a stack whose first two axes are layer and head.
PER_HEAD = ("queries", "keys", "query_norms", "key_norms", "top_keys", "top_weights", "maps")


def head_space(space: Space, head: HeadRef) -> Space:
    """The space of one head alone."""
    stack = space.stacks[head.stack]
    i, j = stack.index_of(head.layer, head.head)

    def cut(array: np.ndarray | None) -> np.ndarray | None:
        return None if array is None else array[i : i + 1, j : j + 1]

    arrays = {name: cut(getattr(stack, name)) for name in PER_HEAD}
    facts = {name: values[i : i + 1, j : j + 1] for name, values in stack.facts.items()}
    alone = replace(stack, layers=(head.layer,), heads=(head.head,), facts=facts, linear=None, vectors=None, pairs={}, **arrays)  # type: ignore[arg-type]
    return replace(space, stacks={stack.name: alone})


def picture_space(space: Space, picture: HeadPicture) -> Space:
    """The space of one head alone, with the points of another projection."""
    alone = head_space(space, HeadRef(picture.stack, picture.layer, picture.head))
    stack = alone.stacks[picture.stack]
    fidelity = {"top1_projected": picture.top1, "top5_projected": picture.top5, "rank_correlation": picture.rank_correlation}
    facts = {name: np.array([[value]]) for name, value in fidelity.items()} | {"entropy": stack.facts["entropy"]}
    points = {"queries": None if space.of == "values" else picture.queries[None, None], "keys": picture.keys[None, None]}
    changed = replace(stack, facts=facts, **points)  # type: ignore[arg-type]
    return replace(alone, project=picture.project, gauge=picture.gauge, stacks={stack.name: changed})
