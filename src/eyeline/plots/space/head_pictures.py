"""Pictures of a space for a paper: a file for each head, and a sheet for each layer, with lines and named pairs in red."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eyeline.errors import StorageError, TextError, TraceError, install_hint
from eyeline.heads import HeadRef
from eyeline.plots.pictures import PICTURE_KINDS
from eyeline.results.space.record import pairs_in_space
from eyeline.results.space.shown_fidelity import UNSEEN, shown_columns
from eyeline.results.space.space import Space
from eyeline.results.space.stack import SpaceStack
from eyeline.storage.files import write_whole
from eyeline.storage.names import as_path
from eyeline.text.named_pairs import PairsGiven, named_pairs, pairs_in_texts
from eyeline.words.percent import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: As on the page: queries, keys, lines, named pairs.
QUERY, KEY, LINE, RED = "#2563eb", "#ea580c", "#475063", "#d00000"
#: Lines weaker than this are not drawn.
FAINT = 0.1


def red_rows(stack: SpaceStack, red: PairsGiven) -> list[tuple[int, int]]:
    """Rows of queries and keys of the named pairs, in every text that holds both. A pair that no text holds is an error that names it."""
    rows: list[tuple[int, int]] = []
    for pair in named_pairs(red):
        for text, query, key in pairs_in_texts(pair, stack.query_tokens.texts, stack.key_tokens.texts):
            rows.append((int(stack.query_tokens.starts[text]) + query, int(stack.key_tokens.starts[text]) + key))
    return rows


def red_rows_by_stack(space: Space, red: PairsGiven) -> dict[str, list[tuple[int, int]]]:
    """The rows of the named pairs in each stack. A pair need not be in all stacks; one that is in none is an error that names it."""
    rows: dict[str, list[tuple[int, int]]] = {name: [] for name in space.stacks}
    for pair in named_pairs(red):
        errors: list[TextError] = []
        for name, stack in space.stacks.items():
            try:
                rows[name] += red_rows(stack, pair)
            except TextError as error:
                errors.append(error)
        if len(errors) == len(space.stacks):
            raise errors[0]
    return rows


def save_pictures(space: Space, folder: str | Path, *, formats: Sequence[str] = PICTURE_KINDS, red: PairsGiven = ()) -> list[Path]:
    """Write L0-H0.png and so on for every head, and layer-0.png for every layer; the paths.

    formats   of png, svg, pdf
    red       pairs drawn in red: "it → cat", "brown:##bara", ("it", "cat") or a list of these
    """
    for wrong in (name for name in formats if name not in PICTURE_KINDS):
        raise StorageError(f"Pictures as {wrong!r}.", f"Choices: {', '.join(PICTURE_KINDS)}.")
    pairs = pairs_in_space(space.of, red)
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise StorageError("Pictures need matplotlib, which is not installed.", install_hint("plots")) from error

    folder = as_path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    rows_of = red_rows_by_stack(space, pairs)
    for stack in space.stacks.values():
        named, prefix = rows_of[stack.name], f"{stack.name}-" if len(space.stacks) > 1 else ""
        for i, layer in enumerate(stack.layers):
            columns = min(4, len(stack.heads))
            rows = -(-len(stack.heads) // columns)
            sheet = Figure(figsize=(3 * columns, 3.2 * rows + 0.5), layout="constrained")
            sheet.suptitle(f"{space.model} · layer {layer} · {space.project}", fontsize=11)
            for j, head in enumerate(stack.heads):
                figure = Figure(figsize=(5.2, 5.5), layout="constrained")
                _draw_head(figure.subplots(), space, stack, i, j, named, f"{space.model} · ")
                paths += _write(figure, folder / f"{prefix}L{layer}-H{head}", formats)
                _draw_head(sheet.add_subplot(rows, columns, j + 1), space, stack, i, j, named, "")
            paths += _write(sheet, folder / f"{prefix}layer-{layer}", formats)
    return paths


def relative_distance(stack: SpaceStack, rows: Sequence[tuple[int, int]]) -> np.ndarray:
    """How far apart these queries and keys lie in each head, [layer, head]: their mean distance over that of all queries from all keys.

    mean_p ‖x_p − y_p‖ / mean_{i,j} ‖x_i − y_j‖        so that pictures of different scale can be compared
    """
    if stack.queries is None:
        raise TraceError("Distances between queries and keys in a space of values.", "Make a space of queries and keys.")
    query, key = (list(side) for side in zip(*rows, strict=True))
    near = np.linalg.norm(stack.queries[:, :, query] - stack.keys[:, :, key], axis=-1).mean(-1)
    every = [
        [np.linalg.norm(x[:, None] - y[None], axis=-1).mean() for x, y in zip(*layer, strict=True)]
        for layer in zip(stack.queries, stack.keys, strict=True)
    ]
    return np.asarray(near / np.maximum(every, np.finfo(float).tiny))


def came_nearer(before: Space, after: Space, red: PairsGiven) -> list[str]:
    """A sentence for each named pair: in how many heads it lies nearer in the second space, and the mean relative distances."""
    lines = []
    for pair in named_pairs(red):
        rows_of = red_rows_by_stack(before, pair), red_rows_by_stack(after, pair)
        for name, first in before.stacks.items():
            if not (rows_of[0][name] and rows_of[1][name]):
                continue
            second = after.stacks[name]
            distance_before, distance_after = relative_distance(first, rows_of[0][name]), relative_distance(second, rows_of[1][name])
            change = numbers_apart(float(distance_before.mean()), float(distance_after.mean()))
            nearer = int((distance_after < distance_before).sum())
            verdict = "came nearer" if distance_after.mean() < distance_before.mean() else "did not come nearer"
            lines.append(
                f"{pair} ({name}): {verdict}. Distance over the mean distance {change}; nearer in {nearer} of {distance_before.size} heads."
            )
    return lines


def numbers_apart(before: float, after: float) -> str:
    """Two numbers with as many digits as it takes to see that they differ, at least two and at most six.

    >>> numbers_apart(1.5, 1.25), numbers_apart(1.0912, 1.0893), numbers_apart(1.0, 1.0)
    ('1.50 → 1.25', '1.091 → 1.089', '1.00 → 1.00')
    """
    for digits in range(2, 7) if before != after else (2,):
        first, second = f"{before:.{digits}f}", f"{after:.{digits}f}"
        if first != second:
            break
    return f"{first} → {second}"


def _draw_head(axes: Axes, space: Space, stack: SpaceStack, i: int, j: int, red: list[tuple[int, int]], before: str) -> None:
    """Points, a line from each query to its most attended key, and the named pairs with their tokens."""
    keys = stack.keys[i, j]
    queries = keys if stack.queries is None else stack.queries[i, j]
    if stack.queries is not None:
        best, weights = stack.top_keys[i, j, :, 0], stack.top_weights[i, j, :, 0]
        for query in np.flatnonzero((best >= 0) & (weights >= FAINT)).tolist():
            _arrow(axes, queries[query], keys[best[query]], LINE, 0.25 * float(weights[query]), 0.4 + float(weights[query]))
        axes.scatter(queries[:, 0], queries[:, 1], s=9, c=QUERY, linewidths=0, alpha=0.8, label="queries", zorder=2)
    what = "keys" if stack.queries is not None else "values"
    axes.scatter(keys[:, 0], keys[:, 1], s=9, c=KEY, marker="D", linewidths=0, alpha=0.8, label=what, zorder=2)
    for query, key in red:
        _arrow(axes, queries[query], keys[key], RED, 1.0, 1.6)
        for point, name in ((queries[query], stack.query_tokens.strings[query]), (keys[key], stack.key_tokens.strings[key])):
            axes.annotate(name, (point[0], point[1]), xytext=(3, 3), textcoords="offset points", fontsize=8, color=RED)
    column = shown_columns(stack.facts)[0]
    share = float(stack.facts[column][i, j]) if column in stack.facts else float("nan")
    unseen = " on unseen text" if space.held_out in UNSEEN else ""
    fidelity = "" if np.isnan(share) else f" · nearest {percent(share)}{unseen}"
    axes.set_title(f"{before}{HeadRef('', stack.layers[i], stack.heads[j])}{fidelity}", fontsize=9)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal", adjustable="datalim")
    if before:
        axes.legend(fontsize=8, frameon=False, loc="lower left")


def _arrow(axes: Axes, start: np.ndarray, end: np.ndarray, colour: str, opacity: float, width: float) -> None:
    style: dict[str, Any] = {"arrowstyle": "->", "color": colour, "alpha": opacity, "lw": width, "shrinkA": 2, "shrinkB": 2}
    axes.annotate("", xy=(end[0], end[1]), xytext=(start[0], start[1]), arrowprops=style, zorder=1)


def _write(figure: Any, path: Path, formats: Sequence[str]) -> list[Path]:
    """The figure in each format, whole or not at all."""
    paths = [path.with_name(f"{path.name}.{name}") for name in formats]
    for target, name in zip(paths, formats, strict=True):
        data = BytesIO()
        figure.savefig(data, format=name, dpi=150, metadata={"Date": None} if name == "svg" else None)
        write_whole(target, [data.getvalue()])
    return paths
