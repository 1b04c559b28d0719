"""A page for each layer of a space: all its heads with lines from every query to its most attended key, and named pairs in red."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eyeline.errors import TraceError
from eyeline.results.space.one_head import layer_space
from eyeline.results.space.space import Space
from eyeline.storage.names import as_path
from eyeline.text.named_pairs import named_pair
from eyeline.views.space import space_view


def save_sheets(space: Space, folder: str | Path, *, red: Sequence[str] = ()) -> list[Path]:
    """Write layer-0.html and so on; the paths. A click on a head opens it.

    red   pairs such as "it → cat" or "brown:##bara"
    """
    if red and space.of == "values":
        raise TraceError("Red pairs in a space of values.", "Pairs are of a query and a key: leave them out.")
    folder = as_path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    pairs = "; ".join(" → ".join(named_pair(written)) for written in red)
    paths = []
    for stack in space.stacks.values():
        prefix = f"{stack.name}-" if len(space.stacks) > 1 else ""
        for index, layer in enumerate(stack.layers):
            path = folder / f"{prefix}layer-{layer}.html"
            if space.of == "shared":  # whole, so that every page has the same axes
                view = space_view(space, stack=stack.name, rows=[index], links="best", pairs=pairs)
            else:
                view = space_view(layer_space(space, stack.name, layer), rows=[0], links="best", pairs=pairs)
            view.save(path)
            paths.append(path)
    return paths
