"""A page for each layer of a space: all its heads with lines from every query to its most attended key, and named pairs in red."""

from __future__ import annotations

from pathlib import Path

from eyeline.results.space.one_head import layer_space
from eyeline.results.space.space import Space
from eyeline.storage.names import as_path
from eyeline.text.named_pairs import PairsGiven
from eyeline.views.space import space_view


def save_sheets(space: Space, folder: str | Path, *, red: PairsGiven = (), language: str = "en") -> list[Path]:
    """Write layer-0.html and so on; the paths. A click on a head opens it.

    red        pairs drawn in red: "it → cat", "brown:##bara", ("it", "cat") or a list of these
    language   of the pages: en, ja or ko
    """
    folder = as_path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for stack in space.stacks.values():
        prefix = f"{stack.name}-" if len(space.stacks) > 1 else ""
        for index, layer in enumerate(stack.layers):
            path = folder / f"{prefix}layer-{layer}.html"
            if space.of == "shared":  # whole, so that every page has the same axes
                view = space_view(space, stack=stack.name, rows=[index], links="best", pairs=red, language=language)
            else:
                view = space_view(layer_space(space, stack.name, layer), rows=[0], links="best", pairs=red, language=language)
            view.save(path)
            paths.append(path)
    return paths
