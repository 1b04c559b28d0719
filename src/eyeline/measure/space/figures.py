"""Figures of a space: how far each head can be trusted, dot product against distance, and pictures for a paper."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.errors import StorageError, TextError, TraceError, install_hint
from eyeline.heads import HeadRef
from eyeline.look.palette import LIGHT_PAGE
from eyeline.measure.runs.figure import Figure, Style, colour_bar, finish, grid_axes, head_grid, part_of, plain, stacks_in, table_of
from eyeline.measure.runs.pictures import PICTURE_KINDS
from eyeline.measure.runs.run import Run
from eyeline.measure.runs.table import Table
from eyeline.measure.space.options import SpaceFacts
from eyeline.measure.space.result import Space
from eyeline.measure.space.stack import HELD_OUT, IN_PICTURE, UNSEEN, SpaceStack, is_cross_validated, pairs_distance, pairs_in_space
from eyeline.storage.files import as_path, write_whole
from eyeline.text.named_pairs import PairsGiven, named_pairs, pairs_in_texts
from eyeline.words import Words, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: The columns of the three grids: nearest key and nearest five as a reader is shown them, and nearest key before projection.
GRIDS: tuple[str, ...] = (*HELD_OUT[:2], "top1_full")


def draw_space(run: Run, style: Style, stack: str) -> go.Figure:
    """Three grids of layers and heads for each stack: the share of queries whose most attended key is near, in the picture and in the
    vectors before projection."""
    words, table = style.words, run.table("space")
    options = run.facts.of_kind(SpaceFacts).options
    stacks, columns = stacks_in(table), GRIDS
    if options.of == "values":
        return _entropies(run, style)
    if not np.isfinite(table[columns[0]].astype(float)).any():
        columns = ("top1_full",)  # no fidelity of the picture can be held out
    named = columns if is_cross_validated(options.of, options.project, options.gauge) else (*IN_PICTURE[: len(columns) - 1], "top1_full")
    titles = [style.in_stack(name, words(f"figure.space.{column}")) for name in stacks for column in named]
    figure = make_subplots(
        rows=len(stacks), cols=len(columns), subplot_titles=titles, horizontal_spacing=0.06, vertical_spacing=0.24 / len(stacks)
    )
    figure.update_annotations(font={"size": 12})
    for row, name in enumerate(stacks, 1):
        for index, column in enumerate(columns, 1):
            shown = row == 1 and index == len(columns)
            bar = colour_bar(words("figure.space.share")) if shown else None
            grid = head_grid(
                part_of(table, name), column, style, hover="%{z:.3f}", stack=name, zmin=0, zmax=1, showscale=shown, colorbar=bar
            )
            figure.add_trace(grid, row=row, col=index)
    figure.update_yaxes(title_text=style.label("layer"), col=1)
    grid_axes(figure, style, table)
    n_layers = len(set(table["layer"].tolist()))
    heading = words("figure.space.heading", project=words.name("project", options.project), dims=options.dims)
    return finish(figure, run, style, heading, height=180 + len(stacks) * max(220, 22 * n_layers), above=48)


def _entropies(run: Run, style: Style) -> go.Figure:
    """Values have no fidelity, so the grid shows the entropy of each head."""
    bar = colour_bar(style.label("nats"))
    figure = go.Figure(head_grid(run.table("space"), "entropy", style, hover=f"%{{z:.2f}} {style.label('nats')}", colorbar=bar))
    figure.update_yaxes(title_text=style.label("layer"))
    grid_axes(figure, style, run.table("space"))
    return finish(figure, run, style, style.words("figure.space.heading_values"))


SPACE_FIGURE = Figure("space", "space", "top1 = |{q : argmin_k ‖x_q − y_k‖ = argmax_k α(q, k)}| / |{q}|", draw_space, clickable="cells")


# ---- Dot product against distance


#: The share of the figure's width between two heads: the numbers of an axis stand there, beside the dots of the head before.
GAP = 0.04


def draw_space_pairs(run: Run, style: Style, stack: str) -> go.Figure:
    """A column for each head, as the model has its vectors above and in the gauge below, of this stack, or of the first that has pairs.

    The distance of the dots is that of the correlation above them: the table says which.

    Source: AttentionViz (Yeh et al. 2023), figure 4b.
    """
    words = style.words
    named, (stack, table) = stack, table_of(run, "space_pairs", stack)
    heads = [
        HeadRef(stack, layer, head) for layer, head in dict.fromkeys(zip(table["layer"].tolist(), table["head"].tolist(), strict=True))
    ]
    distance = distance_label(words, *pairs_distance(table))
    figure = make_subplots(
        rows=2, cols=len(heads), column_titles=[_title(run, style, head, table) for head in heads], x_title=plain(distance),
        row_titles=[words("figure.space_pairs.before"), words("figure.space_pairs.after")], vertical_spacing=0.12,
        horizontal_spacing=min(GAP, 0.5 / len(heads)),
    )  # fmt: skip
    for column, head in enumerate(heads, 1):
        part = table.where(layer=head.layer, head=head.head)
        size = 3 + 9 * np.sqrt(np.clip(part["weight"].astype(float), 0, 1))
        for row, when in enumerate(("before", "after"), 1):
            figure.add_trace(
                go.Scatter(  # not Scattergl: a report must also draw where there is no WebGL
                    x=part[f"distance_{when}"],
                    y=part[f"dot_{when}"],
                    mode="markers",
                    marker={"size": size, "color": style.head_colour(head.head), "opacity": 0.5, "line": {"width": 0}},
                    customdata=part["weight"],
                    hovertemplate=words("figure.space_pairs.hover") + "<extra></extra>",
                    showlegend=False,
                ),
                row=row,
                col=column,
            )
    figure.update_annotations(font_size=12)
    figure.update_xaxes(nticks=3)
    figure.update_yaxes(nticks=4, tickfont={"size": 10})
    figure.update_yaxes(title_text=words("figure.space_pairs.dot"), col=1)
    gauge = words.name("gauge", run.facts.of_kind(SpaceFacts).options.gauge)
    heading = words("figure.space_pairs.heading", distance=distance, gauge=gauge)
    if named:
        heading = words("figure.space_pairs.heading_stack", distance=distance, gauge=gauge, stack=words.name("stack", named))
    return finish(figure, run, style, heading, height=510, above=72, margin={"r": 40})


def distance_label(words: Words, distance: str, where: str) -> str:
    """Which distance this is, and where it is measured.

    >>> distance_label(Words(), "cosine", "plane")
    'cosine distance (the plane of the picture)'
    """
    return words("figure.space_pairs.distance", distance=words.name("distance", distance), where=words.name("where", where))


def _title(run: Run, style: Style, head: HeadRef, pairs: Table) -> str:
    """The label of the head, and its correlation of dot product and distance before and after.

    A table that does not name its distances may have others than those that were searched: then no correlation of what is drawn is known.
    """
    options = run.facts.of_kind(SpaceFacts).options
    if pairs_distance(pairs) != (options.distance, options.correlate):
        return str(head)
    row = next(run.table("space").where(layer=head.layer, head=head.head, **({"stack": head.stack} if head.stack else {})).rows())
    before, after = (f"{float(row[f'correlation_{when}']):.2f}".replace("-", "−") for when in ("before", "after"))
    return style.words("figure.space_pairs.correlation", head=head, before=before, after=after)


SPACE_PAIRS_FIGURE = Figure("space_pairs", "space_pairs", "r = corr_α( q · k, d(q, k) )", draw_space_pairs)


# ---- Pictures for a paper


#: As on the page: queries, keys, lines, named pairs.
QUERY, KEY, LINE, RED = LIGHT_PAGE.query, LIGHT_PAGE.key, LIGHT_PAGE.link, LIGHT_PAGE.pair

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


def save_pictures(
    space: Space, folder: str | Path, *, formats: Sequence[str] = PICTURE_KINDS, red: PairsGiven = (), every_pair: bool = False
) -> list[Path]:
    """Write L0-H0.png and so on for every head, and layer-0.png for every layer, with lines and named pairs in red; the paths.

    formats     of png, svg, pdf
    red         pairs drawn in red, in heads in which the key is the query's most attended one: "it → cat", "brown:##bara",
                ("it", "cat") or a list of these; the line is as wide as the weight
    every_pair  draw them in every head
    """
    for wrong in (name for name in formats if name not in PICTURE_KINDS):
        raise StorageError(f"Pictures as {wrong!r}.", f"Choices: {', '.join(PICTURE_KINDS)}.")
    pairs = pairs_in_space(space.of, red)
    try:
        from matplotlib.figure import Figure as Picture  # `Figure` is the record of a figure of a run
    except ImportError as error:
        raise StorageError("Pictures need matplotlib, which is not installed.", install_hint("plots")) from error

    folder = as_path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    rows_of = red_rows_by_stack(space, pairs)
    for stack in space.stacks.values():
        named, prefix = rows_of[stack.name], stack.name if len(space.stacks) > 1 else ""
        for i, layer in enumerate(stack.layers):
            columns = min(4, len(stack.heads))
            rows = -(-len(stack.heads) // columns)
            sheet = Picture(figsize=(3 * columns, 3.2 * rows + 0.5), layout="constrained")
            sheet.suptitle(f"{space.model} · layer {layer} · {space.project}", fontsize=11)
            for j, head in enumerate(stack.heads):
                figure = Picture(figsize=(5.2, 5.5), layout="constrained")
                _draw_head(figure.subplots(), space, stack, i, j, named, f"{space.model} · ", every_pair)
                paths += _write(figure, folder / HeadRef(prefix, layer, head).file_name, formats)
                _draw_head(sheet.add_subplot(rows, columns, j + 1), space, stack, i, j, named, "", every_pair)
            paths += _write(sheet, folder / f"{prefix}-layer-{layer}".lstrip("-"), formats)
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


def _draw_head(axes: Axes, space: Space, stack: SpaceStack, i: int, j: int, red: list[tuple[int, int]], before: str, every: bool) -> None:
    """Points, a line from each query to its most attended key, and the named pairs with their tokens; every: also weaker ones."""
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
        of_query = stack.top_keys[i, j, query] == key
        if not (every or of_query[0]):
            continue
        _arrow(axes, queries[query], keys[key], RED, 1.0, 0.4 + 2.4 * float(stack.top_weights[i, j, query][of_query].sum()))
        for point, name in ((queries[query], stack.query_tokens.strings[query]), (keys[key], stack.key_tokens.strings[key])):
            axes.annotate(name, (point[0], point[1]), xytext=(3, 3), textcoords="offset points", fontsize=8, color=RED)
    share = float(stack.facts[HELD_OUT[0]][i, j]) if HELD_OUT[0] in stack.facts else float("nan")
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
