"""Figures of corpus statistics: where heads look and how broadly, which of them are alike, and how much their attention matters."""

from __future__ import annotations

from collections import Counter

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.heads import HeadRef
from eyeline.look.palette import layer_colour
from eyeline.measure.heads.profile import HeadProfile, profiles
from eyeline.measure.heads.roles import FAMILY, NONE
from eyeline.measure.runs.figure import SERIES, Figure, Style, colour_bar, finish, head_data, layer_step, part_of, stacks_in, table_of
from eyeline.measure.runs.run import Run
from eyeline.measure.runs.table import Table, heads_of_rows


def add_heads(
    figure: go.Figure, style: Style, part: Table, values: np.ndarray, stack: str, hover: str, *, size: int, row: int, col: int
) -> None:
    """One dot for each head over its layer, in the colour of the head."""
    heads = [head._replace(stack=stack) for head in heads_of_rows(part)]
    figure.add_scatter(
        x=part["layer"].astype(int),
        y=values,
        mode="markers",
        marker={"color": [style.head_colour(head.head) for head in heads], "size": size, "opacity": 0.85},
        text=[str(head) for head in heads],
        customdata=[head_data(head) for head in heads],
        cliponaxis=False,  # a dot on the axis is drawn whole
        hovertemplate=f"{hover}<extra></extra>",
        showlegend=False,
        row=row,
        col=col,
    )
    figure.update_xaxes(layer="below traces", row=row, col=col)


# ---- Average attention


#: Panels side by side.
COLUMNS = 3


def draw_average_attention(run: Run, style: Style, stack: str) -> go.Figure:
    """The mean share of attention that each head gives to each target: a panel for each target, a dot for each head, a line through the
    means of the layers."""
    words, table = style.words, run.table("average_attention")
    panels = [(name, target) for name in stacks_in(table) for target in _targets(part_of(table, name))]
    rows = -(-len(panels) // COLUMNS)
    titles = [style.in_stack(name, words.name("to", target)) for name, target in panels]
    figure = make_subplots(
        rows, COLUMNS, subplot_titles=titles, shared_xaxes="all", shared_yaxes="all", vertical_spacing=0.28 / rows, horizontal_spacing=0.04
    )
    for index, (name, target) in enumerate(panels):
        cell = {"row": index // COLUMNS + 1, "col": index % COLUMNS + 1}
        part = part_of(table, name).where(target=target)
        layers, means = part["layer"].astype(int), part["mean"].astype(float)
        add_heads(figure, style, part, means, name, "%{text}: %{y:.3f}", size=6, **cell)
        numbers = sorted(set(layers.tolist()))
        figure.add_scatter(
            x=numbers,
            y=[float(np.mean(means[layers == number])) for number in numbers],
            mode="lines",
            line={"color": style.theme.ink, "width": 1.5},
            hovertemplate=style.label("layer_mean_at", digits=".3f", unit="") + "<extra></extra>",
            showlegend=False,
            **cell,
        )
        last = index >= len(panels) - COLUMNS
        figure.update_xaxes(title_text=style.label("layer") if last else None, showticklabels=True, dtick=layer_step(len(numbers)), **cell)
        if cell["col"] == 1:
            figure.update_yaxes(title_text=style.label("share"), **cell)
    figure.update_annotations(font={"size": 12}, yshift=2)
    figure.update_yaxes(rangemode="tozero", tickformat=".1f")
    return finish(figure, run, style, words("figure.average_attention.heading"), height=150 + 190 * rows)


def _targets(table: Table) -> list[str]:
    return list(dict.fromkeys(map(str, table.columns["target"])))


AVERAGE_ATTENTION_FIGURE = Figure(
    "average_attention", "average_attention", "a(h, T) = ⟨ Σ_{k ∈ T} α_h(q, k) ⟩", draw_average_attention, clickable="points"
)


# ---- Entropy


#: Columns with the entropy of a single token's attention; a table has one of them.
SINGLE = ("cls", "first", "last", "one_row")


def draw_entropy(run: Run, style: Style, stack: str) -> go.Figure:
    """One dot for each head, the line is the mean of the layer, the dashed line is attention spread evenly."""
    words, theme, table = style.words, style.theme, run.table("entropy")
    stacks, unit = stacks_in(table), f" {style.label('nats')}"
    single = next(name for name in SINGLE if name in table.columns)
    panels = [(name, series) for name in stacks for series in ("all", single)]
    titles = [style.in_stack(name, words.name("from", series)) for name, series in panels]
    figure = make_subplots(
        len(stacks), 2, subplot_titles=titles, shared_yaxes="all", horizontal_spacing=0.05, vertical_spacing=0.3 / len(stacks)
    )
    for index, (name, series) in enumerate(panels):
        part, cell = part_of(table, name), {"row": index // 2 + 1, "col": index % 2 + 1}
        layers, values = part["layer"].astype(int), part[series].astype(float)
        numbers = sorted(set(layers.tolist()))
        add_heads(figure, style, part, values, name, f"%{{text}}: %{{y:.2f}}{unit}", size=7, **cell)
        figure.add_scatter(
            x=numbers,
            y=[float(values[layers == number].mean()) for number in numbers],
            mode="lines",
            line={"color": theme.ink, "width": 1.5},
            name=style.label("layer_mean"),
            hovertemplate=style.label("layer_mean_at", digits=".2f", unit=unit) + "<extra></extra>",
            showlegend=index == 0,
            **cell,
        )
        # for a single token that sees the whole text, even attention would be ln n, which the table gives for encoders only
        if series == "all" or single in ("cls", "first"):
            uniform = part["uniform"].astype(float)
            figure.add_scatter(
                x=numbers,
                y=[float(uniform[layers == number].mean()) for number in numbers],
                mode="lines",
                line={"color": theme.quiet, "width": 1.5, "dash": "dash"},
                name=style.label("even"),
                hovertemplate=style.label("even_at", unit="") + "<extra></extra>",
                showlegend=index == 0,
                **cell,
            )
        figure.update_xaxes(title_text=style.label("layer"), dtick=layer_step(len(numbers)), **cell)
        if cell["col"] == 1:
            figure.update_yaxes(title_text=style.label("entropy"), **cell)
    figure.update_annotations(font={"size": 12}, yshift=2)
    figure.update_yaxes(rangemode="tozero")
    legend = {"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yref": "container", "yanchor": "top"}
    return finish(
        figure, run, style, words("figure.entropy.heading"), height=150 + 310 * len(stacks), above=24 if style.titled else 48, legend=legend
    )


ENTROPY_FIGURE = Figure("entropy", "entropy", "H_h(q) = − Σ_k α_h(q, k) · ln α_h(q, k)", draw_entropy, clickable="points")


# ---- Distances


#: With more heads than this, only some of the names are written, so that none overlap on a phone; hovering gives them all.
MAX_NAMES = 36


def draw_distances(run: Run, style: Style, stack: str) -> go.Figure:
    """A heatmap, strongest in colour where heads are alike, similar heads side by side. Of several stacks the one that is named, or the
    first."""
    words = style.words
    stack, table = table_of(run, "distances", stack)
    names = list(map(str, table.columns["head"]))
    square = np.array([table[name] for name in names], dtype=float)  # [head, head]
    order = by_cluster(square)
    ordered = [names[i] for i in order]
    figure = go.Figure(
        go.Heatmap(
            z=square[np.ix_(order, order)].round(5),
            x=ordered,
            y=ordered,
            colorscale=style.theme.sequential,
            reversescale=True,
            zmin=0,
            colorbar=colour_bar(style.label("divergence")),
            hovertemplate=words("figure.distances.hover") + "<extra></extra>",
        )
    )
    step = -(-len(names) // MAX_NAMES)
    ticks = {"tickmode": "array", "tickvals": ordered[::step], "tickfont": {"size": 9}, "showgrid": False}
    figure.update_xaxes(title_text=words("figure.distances.axis"), tickangle=-90, constrain="domain", **ticks)
    figure.update_yaxes(title_text=style.label("head"), autorange="reversed", scaleanchor="x", constrain="domain", **ticks)
    heading = words("figure.distances.heading")
    if stack:
        heading = words("figure.distances.heading_stack", stack=words.name("stack", stack))
    return finish(figure, run, style, heading, height=860, margin={"l": 80, "b": 80})


def by_cluster(square: np.ndarray) -> list[int]:
    """An order of the heads in which similar ones are neighbours: the leaves of an average-linkage tree."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(square) < 3:
        return list(range(len(square)))
    symmetric = (square + square.T) / 2
    np.fill_diagonal(symmetric, 0)
    return [int(i) for i in leaves_list(linkage(squareform(symmetric, checks=False), "average", optimal_ordering=True))]


DISTANCES_FIGURE = Figure(
    "distances",
    "distances",
    "D(h, h′) = ⟨ JS( α̃_h(q, ·), α̃_{h′}(q, ·) ) ⟩,  JS(p, r) = H((p + r) / 2) − H(p) / 2 − H(r) / 2,  α̃ = (1 − ε) · α + ε / n",
    draw_distances,
)


# ---- Heads in a plane


#: Behaviour → marker.
MARKERS = {
    "next": "triangle-right",
    "previous": "triangle-left",
    "broad": "hexagon2",
    "first": "diamond",
    "cls": "square",
    "sep": "x",
    "punctuation": "star",
    "none of these": "circle",
    "not measured": "circle",
}


def head_map_colours(run: Run) -> list[str]:
    """What the colour of a head can mean: its role, its layer, or a number that the run has of every head."""
    every = profiles(run)
    numbers = {"entropy": "entropy", "position": "position_alone"}
    measured = [name for name, field in numbers.items() if any(getattr(profile, field) is not None for profile in every)]
    targets = dict.fromkeys(target for profile in every for target in profile.shares or {})
    return ["role", "layer", *measured, *targets]


def _number(profile: HeadProfile, colour: str) -> float | None:
    """The number of a head that its colour shows."""
    if colour == "layer":
        return float(profile.head.layer)
    if colour in ("entropy", "position"):
        return profile.entropy if colour == "entropy" else profile.position_alone
    return (profile.shares or {}).get(colour)


def _colour_label(style: Style) -> str:
    """What the colour of a head means, in words."""
    if style.colour == "layer":
        return style.label("layer")
    if style.colour in ("entropy", "position"):
        return style.words(f"figure.head_map.colour_{style.colour}")
    return style.words.name("to", style.colour)


def _colour_scale(style: Style, table: Table) -> list[list[float | str]]:
    """Layers have the colours that they have in every figure; numbers go from the ground to the strongest colour."""
    if style.colour != "layer":
        return [[share, colour] for share, colour in style.theme.sequential]
    count = int(table["layer"].astype(int).max()) + 1
    return [[layer / max(count - 1, 1), layer_colour(layer, count, dark=style.dark)] for layer in range(count)]


def draw_head_map(run: Run, style: Style, stack: str) -> go.Figure:
    """One point for each head: the colour is its role (or what `style.colour` names), the marker what it does by the paper's thresholds. Of
    several stacks the one that is named, or the first."""
    words, theme, by_role = style.words, style.theme, style.colour in ("", "role")
    stack, table = table_of(run, "head_map", stack)
    of_head = {profile.head: profile for profile in profiles(run)}
    roles = {head: profile.role.name for head, profile in of_head.items()}
    points = [(roles.get(head, NONE), head, row) for row in table.rows() for head in [HeadRef.of_row(row, stack)]]
    counts = Counter(role for role, _, _ in points)
    points.sort(key=lambda point: -counts[point[0]])  # rare roles lie above frequent ones
    numbers = {} if by_role else {head: _number(of_head[head], style.colour) for _, head, _ in points if head in of_head}
    label = "" if by_role else _colour_label(style)
    figure = go.Figure()
    for without_role in (True, False) if by_role else (False,):  # heads without a role lie under the others
        for behaviour, symbol in MARKERS.items():
            chosen = [
                point for point in points if point[2]["behaviour"] == behaviour and (not by_role or (point[0] == NONE) == without_role)
            ]
            if not chosen:
                continue
            paper_rule = words("corpus.paper_rule", rule=words.name("behaviour", behaviour))
            values = [numbers.get(head) for _, head, _ in chosen]
            colours = [style.role_colour(role) for role, _, _ in chosen] if by_role else values
            shown = ["" if by_role or value is None else f"<br>{label}: {value:.4g}" for value in values]
            figure.add_scatter(
                x=[row["x"] for _, _, row in chosen],
                y=[row["y"] for _, _, row in chosen],
                mode="markers",
                marker={
                    "color": colours, "symbol": symbol, "size": 11, "coloraxis": None if by_role else "coloraxis",
                    "line": {"color": theme.ground if by_role and not without_role else theme.quiet, "width": 1},
                },
                customdata=[head_data(head) for _, head, _ in chosen],
                text=[
                    f"{head} · {words(f'role.name.{role}')}{number}<br>{paper_rule}"
                    for (role, head, _), number in zip(chosen, shown, strict=True)
                ],
                hovertemplate="%{text}<extra></extra>",
                showlegend=False,
            )  # fmt: skip
    if by_role:
        for role in (*FAMILY, NONE):
            if role in roles.values():
                add_key(
                    figure, words(f"role.name.{role}"), "circle", style.role_colour(role), "legend", theme.quiet if role == NONE else ""
                )
    else:
        figure.update_layout(coloraxis={"colorscale": _colour_scale(style, table), "colorbar": colour_bar(label)})
    for behaviour, symbol in MARKERS.items():
        if behaviour in table["behaviour"]:
            add_key(figure, words.name("behaviour", behaviour), symbol, theme.quiet, "legend2")
    stress = run.facts.stress.get(f"head_map_{stack}" if stack else "head_map")
    if stress is not None:
        figure.add_annotation(
            text=words("figure.head_map.stress", stress=f"{stress:.2f}"), x=1, y=0, xref="paper", yref="paper", xanchor="right",
            yanchor="bottom", showarrow=False, font={"color": theme.quiet}, bgcolor=theme.ground,
        )  # fmt: skip
    figure.update_xaxes(title_text=words("figure.head_map.axis"))
    figure.update_yaxes(title_text=style.label("divergence"), scaleanchor="x", scaleratio=1)
    legends = (("legend", words("figure.head_map.colour")), ("legend2", words("figure.head_map.marker")))
    titles = {name: {"title": {"text": title, "font": {"size": 12}}, "itemsizing": "constant"} for name, title in legends}
    legend = titles["legend"] | {"x": 1.02, "y": 1, "yanchor": "top"}
    below = titles["legend2"] | {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}
    heading = words("figure.head_map.heading")
    if stack:
        heading = words("figure.head_map.heading_stack", stack=words.name("stack", stack))
    return finish(figure, run, style, heading, height=620, above=56, legend=legend, legend2=below, showlegend=True)


def add_key(figure: go.Figure, label: str, symbol: str, colour: str, legend: str, outline: str = "") -> None:
    """A row of a legend, without a point in the figure."""
    marker = {"color": colour, "symbol": symbol, "size": 11, "line": {"color": outline or colour, "width": 1}}
    figure.add_scatter(x=[None], y=[None], mode="markers", marker=marker, name=label, legend=legend)


HEAD_MAP_FIGURE = Figure(
    "head_map", "head_map", "stress = √( Σ (d − D)² / Σ d² )", draw_head_map, clickable="points", colours=head_map_colours
)


# ---- Importance


#: The most distinct colours of the palette.
COLOURS = {
    "sep": SERIES[8],
    "cls": SERIES[6],
    "bos": SERIES[6],
    "eos": SERIES[8],
    "punctuation": SERIES[1],
    "other": SERIES[3],
    "first": SERIES[0],
}

DASHES = ("solid", "dash", "dot")


def draw_importance(run: Run, style: Style, stack: str) -> go.Figure:
    """The mean size of the gradient of the loss, |∂L/∂α|, by layer: a line for each target."""
    words, table = style.words, run.table("importance")
    figure = go.Figure()
    numbers: set[int] = set()
    for dash, name in zip(DASHES, stacks_in(table), strict=False):
        part = part_of(table, name)
        targets = list(dict.fromkeys(map(str, part.columns["target"])))
        for index, target in enumerate(target for target in targets if _shown(target, targets)):
            line = part.where(target=target)
            numbers |= set(line["layer"].astype(int).tolist())
            label = words.name("to", target)
            figure.add_scatter(
                x=line["layer"],
                y=line["mean"].astype(float),
                mode="lines+markers",
                name=style.in_stack(name, label),
                line={"color": COLOURS.get(target, SERIES[(index + 4) % 12]), "width": 2, "dash": dash},
                marker={"size": 7},
                hovertemplate=words("figure.importance.hover", target=label) + "<extra></extra>",
            )
    figure.update_xaxes(title_text=style.label("layer"), dtick=layer_step(len(numbers)))
    figure.update_yaxes(title_text=words("figure.importance.axis"), rangemode="tozero", exponentformat="power", showexponent="all")
    legend = {"title": {"text": style.label("attention")}, "x": 1.02, "y": 1}
    return finish(figure, run, style, words("figure.importance.heading"), height=440, legend=legend, margin={"l": 80})


def _shown(name: str, names: list[str]) -> bool:
    """`special` is the sum of targets that are shown; `first` is [CLS] where there is one."""
    return name != "special" and not (name == "first" and ("cls" in names or "bos" in names))


IMPORTANCE_FIGURE = Figure("importance", "importance", "g(T) = ⟨ |∂L / ∂α(q, k)| ⟩,  k ∈ T", draw_importance)
