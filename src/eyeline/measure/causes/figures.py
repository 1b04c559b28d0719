"""Figures of causes: circuits, activation patching, effects of heads, pruning curves, and how faithful each quantity is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.heads import HeadRef
from eyeline.look.palette import layer_colour
from eyeline.measure.causes.result import ANSWER, EMBEDDINGS, Connection, FeedForward, correlation, strongest_connections
from eyeline.measure.runs.figure import (
    ACCENT,
    ORANGE,
    Figure,
    Style,
    colour_bar,
    finish,
    grid_axes,
    head_data,
    head_grid,
    part_of,
    plain,
    stacks_in,
)
from eyeline.measure.runs.run import Run
from eyeline.words import Words

#: The widest edge, in pixels.
WIDEST = 9.0


def draw_circuit(run: Run, style: Style, stack: str) -> go.Figure:
    """A graph, layers upward: nodes are heads and MLPs, the embeddings below and the answer above. An edge is as wide as the share of the
    answer that it carries; one that helps the answer is orange, one that hinders it blue."""
    words, edges = style.words, strongest_connections(run)
    layout = circuit_layout(edges)
    most = max((abs(edge.score) for edge in edges), default=1.0)
    figure = go.Figure()
    for edge, path in reversed(list(zip(edges, layout.paths, strict=True))):  # the strongest on top
        figure.add_scatter(
            x=[x for x, _ in path],
            y=[y for _, y in path],
            mode="lines",
            line={"width": 1 + WIDEST * abs(edge.score) / most, "color": ORANGE if edge.score > 0 else ACCENT, "shape": "spline"},
            opacity=0.7,
            hoverinfo="text",
            text=words(
                "figure.circuit.hover",
                sender=_node_name(words, edge.sender),
                receiver=_node_name(words, edge.receiver),
                reads=words(f"figure.circuit.{edge.reads}"),
                score=f"{edge.score:+.3f}",
            ),
            showlegend=False,
        )
    for left, bottom, right, top in map(layout.box, layout.nodes):
        figure.add_shape(
            type="rect", x0=left, y0=bottom, x1=right, y1=top, layer="between", fillcolor=style.theme.ground,
            line={"color": style.theme.ink, "width": 1.5},
        )  # fmt: skip
    heads = [node for node in layout.nodes if is_head(node)]
    for nodes in (heads, [node for node in layout.nodes if node not in heads]):
        figure.add_scatter(
            x=[layout.nodes[node][0] for node in nodes],
            y=[layout.nodes[node][1] for node in nodes],
            mode="markers+text",
            marker={"size": NODE_HEIGHT, "opacity": 0},
            text=[plain(_node_name(words, node)) for node in nodes],
            textfont={"size": 11, "color": style.theme.ink},
            customdata=[head_data(HeadRef.parse(node)) for node in nodes] if nodes is heads else None,
            hovertext=[words("figure.circuit.open", head=node) for node in nodes] if nodes is heads else None,
            hoverinfo="text" if nodes is heads else "skip",
            showlegend=False,
        )
    return _framed(figure, layout, run, style)


def _framed(figure: go.Figure, layout: CircuitLayout, run: Run, style: Style) -> go.Figure:
    """Size the figure so that one unit of the layout is one pixel; a wider page stretches it."""
    every = [*layout.nodes.values(), *(point for path in layout.paths for point in path)]
    left, right = (end(x for x, _ in every) for end in (partial(min, default=0.0), partial(max, default=0.0)))
    top = max((y for _, y in every), default=0.0)
    width, height = right - left + NODE_WIDTH + 24, top + 2 * NODE_HEIGHT
    figure.update_xaxes(visible=False, range=[left - NODE_WIDTH / 2 - 12, right + NODE_WIDTH / 2 + 12])
    figure.update_yaxes(
        title_text=style.label("layer"), tickvals=list(layout.layers), ticktext=[str(layer) for layer in layout.layers.values()],
        showgrid=True, range=[-NODE_HEIGHT, top + NODE_HEIGHT],
    )  # fmt: skip
    facts = run.facts.options
    heading = style.words("figure.circuit.heading", answer=getattr(facts, "answer", ""), against=getattr(facts, "against", ""))
    finish(figure, run, style, heading, height=int(height) + 150)
    return figure.update_layout(width=max(720, int(width) + 88))


def _node_name(words: Words, node: str) -> str:
    return words(f"figure.circuit.{node}") if node in (EMBEDDINGS, ANSWER) else node


CIRCUIT_FIGURE = Figure("circuit", "circuit", "s(u → v) = (z_u − z′_u) · ∂m/∂x_v / (m − m′)", draw_circuit, clickable="points")


# ---- The layout of a circuit


#: Pixels: a node, the slot of a passing edge, what is left free between neighbours in a row, and the height of a row.
NODE_WIDTH, NODE_HEIGHT, SLOT, GAP, ROW = 60.0, 26.0, 8.0, 12.0, 74.0

#: How often the rows are ordered, upward and downward in turn.
SWEEPS = 24

#: Where an edge enters its receiver, as a part of the node's width: queries, keys, values and gates have a point each.
PORTS = {"queries": -0.3, "keys": 0.0, "values": 0.3, "gates": 0.45}


@dataclass(frozen=True)
class CircuitLayout:
    """Centres of nodes [x, y], the points that each edge runs through, and the layers by the y of their first row. Pixels."""

    nodes: dict[str, tuple[float, float]]
    paths: list[list[tuple[float, float]]]
    layers: dict[float, int]

    def box(self, node: str) -> tuple[float, float, float, float]:
        """Left, bottom, right and top of a node."""
        x, y = self.nodes[node]
        return x - NODE_WIDTH / 2, y - NODE_HEIGHT / 2, x + NODE_WIDTH / 2, y + NODE_HEIGHT / 2


@dataclass
class _Spot:
    """A node, or the slot of an edge that passes: its row, and the spots it is connected with."""

    row: int
    width: float
    x: float = 0.0
    neighbours: list[_Spot] = field(default_factory=list, repr=False)


def circuit_layout(edges: Sequence[Connection]) -> CircuitLayout:
    """The layout of these edges: embeddings below, the answer above, between them for each layer a row of heads and one of its MLP.

    No two nodes lie over each other, no edge runs through a node. As in layered graph drawing (Sugiyama et al. 1981): an edge that passes
    a row gets a narrow slot of its own there, rows are ordered by the mean position of their neighbours, and then pushed apart.
    """
    names = sorted({node for edge in edges for node in (edge.sender, edge.receiver)}, key=_order)
    levels = sorted(
        {_order(name)[:2] for name in names} | {_order(EMBEDDINGS)[:2], _order(ANSWER)[:2]}
    )  # from the embeddings to the answer
    row_of = {level: row for row, level in enumerate(levels)}
    spots = {name: _Spot(row_of[_order(name)[:2]], NODE_WIDTH) for name in names}
    chains = [_chain(spots[edge.sender], spots[edge.receiver]) for edge in edges]
    rows: list[list[_Spot]] = [[] for _ in levels]
    for spot in [*spots.values(), *(spot for chain in chains for spot in chain[1:-1])]:
        rows[spot.row].append(spot)
    _place_rows(rows)
    nodes = {name: (spot.x, spot.row * ROW) for name, spot in spots.items()}
    paths = [_path(edge, chain) for edge, chain in zip(edges, chains, strict=True)]
    layers: dict[float, int] = {}
    for layer, kind in levels[1:-1]:
        if kind == 0 or (layer, 0) not in row_of:
            layers[row_of[layer, kind] * ROW] = layer
    return CircuitLayout(nodes, paths, layers)


def is_head(node: str) -> bool:
    """Whether a node of a circuit is a head, not a feed-forward block, the embeddings or the answer."""
    return node not in (EMBEDDINGS, ANSWER) and FeedForward.parse(node) is None


def _order(name: str) -> tuple[int, int, int]:
    """Layer; 0 for heads, 1 for the feed-forward block behind them; number of the head."""
    if name in (EMBEDDINGS, ANSWER):
        return (-1 if name == EMBEDDINGS else 1_000_000, 0, 0)
    block = FeedForward.parse(name)
    if block is not None:
        return (block.layer, 1, 0)
    head = HeadRef.parse(name)
    return (head.layer, 0, head.head)


def _chain(sender: _Spot, receiver: _Spot) -> list[_Spot]:
    """The sender, a slot in each row between, and the receiver; each is connected with the next."""
    between = [_Spot(row, SLOT) for row in range(sender.row + 1, receiver.row)]
    chain = [sender, *between, receiver]
    for below, above in pairwise(chain):
        below.neighbours.append(above)
        above.neighbours.append(below)
    return chain


def _place_rows(rows: list[list[_Spot]]) -> None:
    for row in rows:
        _push_apart(row, [0.0] * len(row))
    for sweep in range(SWEEPS):
        upward = sweep % 2 == 0
        for row in rows if upward else reversed(rows):
            wanted = {id(spot): _wanted(spot, upward, every=sweep >= SWEEPS // 2) for spot in row}
            row.sort(key=lambda spot: wanted[id(spot)])
            _push_apart(row, [wanted[id(spot)] for spot in row])


def _wanted(spot: _Spot, upward: bool, *, every: bool) -> float:
    """The mean position of the neighbours on the side that was laid out last; of all of them, in the later sweeps."""
    positions = [other.x for other in spot.neighbours if every or (other.row < spot.row) == upward]
    return sum(positions) / len(positions) if positions else spot.x


def _push_apart(row: list[_Spot], wanted: Sequence[float]) -> None:
    """Positions in this order, as near to the wanted ones as a gap between neighbours allows."""
    end = float("-inf")
    for spot, x in zip(row, wanted, strict=True):
        spot.x = max(x, end + GAP + spot.width / 2)
        end = spot.x + spot.width / 2
    shift = sum(x - spot.x for spot, x in zip(row, wanted, strict=True)) / max(1, len(row))
    for spot in row:
        spot.x += shift


def _path(edge: Connection, chain: Sequence[_Spot]) -> list[tuple[float, float]]:
    """From the top of the sender through the edge's slots to the bottom of the receiver."""
    first, *between, last = chain
    half = NODE_HEIGHT / 2
    slots = [point for spot in between for point in ((spot.x, spot.row * ROW - half), (spot.x, spot.row * ROW + half))]
    end = (last.x + PORTS.get(edge.reads, 0.0) * NODE_WIDTH, last.row * ROW - half)
    return [(first.x, first.row * ROW + half), *slots, end]


# ---- Activation patching


#: How many of the strongest heads are shown token by token.
STRONGEST = 16


def draw_patching(run: Run, style: Style, stack: str) -> go.Figure:
    """The share of the answer that heads bring back. Left: every head. Right: the strongest heads at each token of the corrupt text, where
    that was measured."""
    words, table = style.words, run.table("patching")
    two = "patching_positions" in run.tables and len(run.table("patching_positions")) > 0
    titles = [words("figure.patching.heads"), words("figure.patching.positions")][: 1 + two]
    figure = make_subplots(rows=1, cols=1 + two, subplot_titles=titles, horizontal_spacing=0.18)
    most = max(1e-6, float(np.nanmax(np.abs(table["restored"].astype(float)), initial=0)))
    look: dict[str, Any] = {"zmin": -most, "zmax": most, "colorscale": style.theme.signed}
    bar = colour_bar(words("figure.patching.share"), **({"x": 0.41} if two else {}))
    figure.add_trace(head_grid(table, "restored", style, hover="%{z:+.3f}", colorbar=bar, **look), row=1, col=1)
    grid_axes(figure, style, table)
    figure.update_yaxes(title_text=style.label("layer"), col=1)
    if two:
        grid, heads, tokens = _by_token(run)
        shown = [plain(token) for token in tokens]
        figure.add_heatmap(
            z=grid.round(4), x=list(range(len(tokens))), y=heads, showscale=False, xgap=1, ygap=1,
            text=[[name] * len(tokens) for name in heads],
            customdata=[[[token] for token in shown]] * len(heads),
            hovertemplate="%{y}, %{customdata[0]}: %{z:+.3f}<extra></extra>", row=1, col=2, **look,
        )  # fmt: skip
        figure.update_xaxes(title_text="", tickvals=list(range(len(tokens))), ticktext=shown, tickangle=-60, col=2)
        figure.update_yaxes(title_text="", dtick=1, col=2)
    n_layers = len(set(table["layer"].tolist()))
    return finish(figure, run, style, words("figure.patching.heading"), height=200 + max(260, 22 * n_layers), above=48)


def _by_token(run: Run) -> tuple[np.ndarray, list[str], list[str]]:
    """Shares [head, token] of the heads that restore most, strongest first, their names, and the tokens."""
    table = run.table("patching_positions")
    tokens = {int(row["position"]): str(row["token"]) for row in table.rows()}
    values: dict[str, np.ndarray] = {}
    for row in table.rows():
        name = str(HeadRef.of_row(row))
        values.setdefault(name, np.zeros(len(tokens)))[int(row["position"])] = float(row["restored"])
    order = sorted(values, key=lambda name: -float(np.abs(values[name]).max()))[:STRONGEST]
    return np.array([values[name] for name in order]), order, [tokens[i] for i in sorted(tokens)]


PATCHING_FIGURE = Figure("patching", "patching", "r(h) = ( m(h from the clean text) − m′ ) / ( m − m′ )", draw_patching, clickable="cells")


# ---- The effect of each head


def draw_effects(run: Run, style: Style, stack: str) -> go.Figure:
    """For each stack the change of the loss when a head is ablated (blue: it falls), and how much less probable the answers become."""
    words, table = style.words, run.table("causes")
    stacks = stacks_in(table)
    panels = ("loss_change", "answer_change")
    titles = [style.in_stack(name, words(f"figure.causes.{panel}")) for name in stacks for panel in panels]
    figure = make_subplots(rows=len(stacks), cols=2, subplot_titles=titles, horizontal_spacing=0.16, vertical_spacing=0.24 / len(stacks))
    units = {"loss_change": style.label("nats"), "answer_change": words("figure.causes.probability")}
    for row, name in enumerate(stacks, 1):
        for column, panel in enumerate(panels, 1):
            most = max(1e-6, float(np.nanmax(np.abs(table[panel].astype(float)), initial=0)))
            bar = colour_bar(units[panel], **({"x": 0.43} if column == 1 else {}))
            grid = head_grid(
                part_of(table, name), panel, style, hover=f"%{{z:+.4f}} {units[panel]}", stack=name, zmin=-most, zmax=most,
                showscale=row == 1, colorscale=style.theme.signed, colorbar=bar,
            )  # fmt: skip
            figure.add_trace(grid, row=row, col=column)
    figure.update_yaxes(title_text=style.label("layer"))
    grid_axes(figure, style, table)
    n_layers = len(set(table["layer"].tolist()))
    height = 180 + len(stacks) * max(220, 22 * n_layers)
    return finish(figure, run, style, words("figure.causes.heading"), height=height, above=48)


EFFECTS_FIGURE = Figure(
    "causes",
    "causes",
    "ΔL(h) = ⟨ L(h ablated) − L ⟩,  Δp(h) = ⟨ p(y) − p(y | h ablated) ⟩",
    draw_effects,
    clickable="cells",
)


# ---- Effect against entropy: does a head that looks sharply matter more?


def draw_sharpness(run: Run, style: Style, stack: str) -> go.Figure:
    """One point for each head: entropy across, change of the loss up; the colour is the layer."""
    words, causes = style.words, run.table("causes")
    figure = go.Figure()
    layers = sorted({int(layer) for layer in causes["layer"]})
    colours = {layer: layer_colour(index, len(layers), dark=style.dark) for index, layer in enumerate(layers)}
    for name in stacks_in(causes):
        part = part_of(causes, name)
        entropy = {(int(a), int(b)): float(c) for a, b, c in zip(*_columns(run, name), strict=True)}
        heads = list(zip(part["layer"].astype(int).tolist(), part["head"].astype(int).tolist(), strict=True))
        figure.add_scatter(
            x=[entropy.get(head, np.nan) for head in heads],
            y=part["loss_change"].astype(float),
            mode="markers",
            name=words.name("stack", name) if name else "",
            marker={"size": 9, "color": [colours[layer] for layer, _ in heads], "line": {"color": style.theme.outline, "width": 1}},
            text=[HeadRef(name, *head).full_label for head in heads],
            customdata=[head_data(HeadRef(name, *head)) for head in heads],
            cliponaxis=False,  # a dot on the axis is drawn whole
            error_y={
                "type": "data",
                "array": part["loss_change_error"].astype(float),
                "width": 0,
                "thickness": 1,
                "color": style.theme.hairline,
            },
            hovertemplate=words("figure.causes_sharpness.hover") + "<extra></extra>",
            showlegend=bool(name),
        )
    figure.add_hline(y=0, line={"color": style.theme.ink, "width": 1, "dash": "dot"})
    figure.update_xaxes(title_text=style.label("entropy"), rangemode="tozero")
    figure.update_yaxes(title_text=words("figure.causes_sharpness.axis"))
    value = correlation(run, "|loss_change|", "entropy")
    heading = words("figure.causes_sharpness.heading", correlation="–" if value is None else f"{value:+.2f}")
    return finish(figure, run, style, heading, height=480)


def _columns(run: Run, stack: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = part_of(run.table("entropy"), stack) if "entropy" in run.tables else None
    empty = np.array([])
    return (empty, empty, empty) if table is None else (table["layer"], table["head"], table["all"])


SHARPNESS_FIGURE = Figure("causes_sharpness", "causes_agreement", "ρ = corr_{rank}( |ΔL(h)|, H(h) )", draw_sharpness, clickable="points")


# ---- Pruning curves


#: The lines of random orders.
DASHES = ("dash", "dot", "dashdot")


def draw_pruning(run: Run, style: Style, stack: str) -> go.Figure:
    """Two panels over the share of heads that are gone: the loss, and the share of answers that stay."""
    words, table = style.words, run.table("pruning")
    panels = ("loss", "kept")
    figure = make_subplots(rows=1, cols=2, subplot_titles=[words(f"figure.pruning.{panel}") for panel in panels], horizontal_spacing=0.12)
    for number, order in enumerate(dict.fromkeys(map(str, table.columns["order"]))):
        line = table.where(order=order)
        is_random = order.startswith("random")
        label = words("figure.pruning.random", n=int(order.split()[1]) + 1) if is_random else words("figure.pruning.least")
        for column, panel in enumerate(panels, 1):
            figure.add_scatter(
                x=line["share"].astype(float) * 100,
                y=line[panel].astype(float) * (100 if panel == "kept" else 1),
                mode="lines+markers",
                name=label,
                legendgroup=order,
                showlegend=column == 1,
                line={"color": "#8a93a1" if is_random else ACCENT, "width": 2, "dash": DASHES[number % 3] if is_random else "solid"},
                marker={"size": 6},
                hovertemplate=words(f"figure.pruning.hover_{panel}", order=label) + "<extra></extra>",
                row=1,
                col=column,
            )
    figure.update_xaxes(title_text=words("figure.pruning.axis"), ticksuffix=" %")
    figure.update_yaxes(title_text=style.label("nats"), rangemode="tozero", col=1)
    figure.update_yaxes(ticksuffix=" %", rangemode="tozero", col=2)
    legend = {"orientation": "h", "x": 0, "y": -0.22, "yanchor": "top"}
    return finish(figure, run, style, words("figure.pruning.heading"), height=440, above=48, legend=legend, margin={"b": 110})


PRUNING_FIGURE = Figure("pruning", "pruning", "L( h_1, …, h_k ablated ),  k = 0, …, n", draw_pruning)


# ---- Faithfulness


PANELS = ("aopc", "comprehensiveness", "sufficiency")

RANDOM = "random"


def draw_faithfulness(run: Run, style: Style, stack: str) -> go.Figure:
    """Bars with their standard errors, the most faithful first, in a panel for each measure; a random order is drawn in grey,
    and as a line through the others."""
    words = style.words
    rows = sorted(run.table("faithfulness").rows(), key=lambda row: float(row["aopc"]))
    names = [_method_name(style, str(row["method"])) for row in rows]
    titles = [words(f"figure.faithfulness.{panel}") for panel in PANELS]
    figure = make_subplots(rows=1, cols=len(PANELS), shared_yaxes=True, horizontal_spacing=0.04, subplot_titles=titles)
    for column, panel in enumerate(PANELS, 1):
        figure.add_bar(
            x=[float(row[panel]) for row in rows],
            y=names,
            orientation="h",
            error_x={"type": "data", "array": [float(row[f"{panel}_error"]) for row in rows], "thickness": 1, "width": 3},
            marker={"color": [style.theme.quiet if row["method"] == RANDOM else ACCENT for row in rows]},
            hovertemplate="%{y}: %{x:.3f}<extra></extra>",
            showlegend=False,
            row=1,
            col=column,
        )
        for row in rows:
            if row["method"] == RANDOM:
                figure.add_vline(x=float(row[panel]), line={"color": style.theme.quiet, "width": 1, "dash": "dot"}, row=1, col=column)
    figure.update_xaxes(title_text=words("figure.faithfulness.axis"))
    return finish(figure, run, style, words("figure.faithfulness.heading"), height=200 + 26 * len(rows), above=40)


def _method_name(style: Style, method: str) -> str:
    if method == RANDOM:
        return style.words(f"figure.faithfulness.{RANDOM}")
    return style.words.name("quantity", method.replace("-", "_"))


FAITHFULNESS_FIGURE = Figure("faithfulness", "faithfulness", "AOPC = 1/(K+1) · Σ_k ( p(x) − p(x without the first k) )", draw_faithfulness)
