"""A circuit as a graph: layers upward, an edge as wide as the share of the answer it carries."""

from __future__ import annotations

from functools import partial

import plotly.graph_objects as go

from eyeline.heads import HeadRef
from eyeline.plots.causes.circuit_layout import NODE_HEIGHT, NODE_WIDTH, CircuitLayout, circuit_layout
from eyeline.plots.clickable_cells import head_data
from eyeline.plots.figure import Figure
from eyeline.plots.style import ACCENT, ORANGE, Style, finish, plain
from eyeline.results.circuit import ANSWER, EMBEDDINGS, strongest_connections
from eyeline.results.run import Run
from eyeline.words import Words

#: The widest edge, in pixels.
WIDEST = 9.0


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """Nodes are heads, the embeddings below and the answer above; an edge that helps the answer is orange, one that hinders it blue."""
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
                sender=_name(words, edge.sender),
                receiver=_name(words, edge.receiver),
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
    heads = [node for node in layout.nodes if node not in (EMBEDDINGS, ANSWER)]
    for nodes in (heads, [node for node in layout.nodes if node not in heads]):
        figure.add_scatter(
            x=[layout.nodes[node][0] for node in nodes],
            y=[layout.nodes[node][1] for node in nodes],
            mode="markers+text",
            marker={"size": NODE_HEIGHT, "opacity": 0},
            text=[plain(_name(words, node)) for node in nodes],
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


def _name(words: Words, node: str) -> str:
    return words(f"figure.circuit.{node}") if node in (EMBEDDINGS, ANSWER) else node


FIGURE = Figure("circuit", "circuit", "s(u → v) = (z_u − z′_u) · ∂m/∂x_v / (m − m′)", draw, clickable="points")
