"""A circuit as a graph: layers upward, an edge as wide as the share of the answer it carries."""

from __future__ import annotations

import plotly.graph_objects as go

from eyeline.heads import HeadRef
from eyeline.plots.clickable_cells import head_data
from eyeline.plots.figure import Figure
from eyeline.plots.style import ACCENT, ORANGE, Style, finish, plain
from eyeline.results.circuit import ANSWER, EMBEDDINGS, Connection, strongest_connections
from eyeline.results.run import Run
from eyeline.words import Words

#: The widest edge, in pixels.
WIDEST = 9.0


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """Nodes are heads, the embeddings below and the answer above; an edge that helps the answer is orange, one that hinders it blue."""
    words, edges = style.words, strongest_connections(run)
    spots = _positions(edges)
    most = max((abs(edge.score) for edge in edges), default=1.0)
    figure = go.Figure()
    for edge in reversed(edges):  # the strongest on top
        (x0, y0), (x1, y1) = spots[edge.sender], spots[edge.receiver]
        bend = {"queries": -0.5, "keys": 0.0, "values": 0.5}.get(edge.reads, 0.0)  # edges of one pair stand side by side
        figure.add_scatter(
            x=[x0, (x0 + x1) / 2 + bend, x1],
            y=[y0, (y0 + y1) / 2, y1],
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
    heads = [node for node in spots if node not in (EMBEDDINGS, ANSWER)]
    for nodes, size in ((heads, 46), ([node for node in spots if node not in heads], 54)):
        figure.add_scatter(
            x=[spots[node][0] for node in nodes],
            y=[spots[node][1] for node in nodes],
            mode="markers+text",
            marker={"size": size, "color": style.theme.ground, "line": {"color": style.theme.ink, "width": 1.5}},
            text=[plain(_name(words, node)) for node in nodes],
            textfont={"size": 10, "color": style.theme.ink},
            customdata=[head_data(HeadRef.parse(node)) for node in nodes] if nodes is heads else None,
            hoverinfo="text",
            showlegend=False,
        )
    layers = sorted({int(y) for node, (_, y) in spots.items() if node not in (EMBEDDINGS, ANSWER)})
    figure.update_xaxes(visible=False)
    figure.update_yaxes(title_text=style.label("layer"), tickvals=layers, showgrid=True)
    facts = run.facts.options
    heading = words("figure.circuit.heading", answer=getattr(facts, "answer", ""), against=getattr(facts, "against", ""))
    return finish(figure, run, style, heading, height=340 + 52 * (max(layers, default=0) - min(layers, default=0)))


def _positions(edges: list[Connection]) -> dict[str, tuple[float, float]]:
    """Where each node stands: heads at the height of their layer, across by their number."""
    nodes = {node for edge in edges for node in (edge.sender, edge.receiver)}
    heads = sorted(HeadRef.parse(node)[1:] for node in nodes if node not in (EMBEDDINGS, ANSWER))
    spots = {str(HeadRef("", layer, head)): (float(head), float(layer)) for layer, head in heads}
    layers, numbers = [layer for layer, _ in heads] or [0], [head for _, head in heads] or [0]
    middle = (min(numbers) + max(numbers)) / 2
    ends = {EMBEDDINGS: (middle, min(layers) - 1.5), ANSWER: (middle, max(layers) + 1.5)}
    return {**{node: spot for node, spot in ends.items() if node in nodes}, **spots}


def _name(words: Words, node: str) -> str:
    return words(f"figure.circuit.{node}") if node in (EMBEDDINGS, ANSWER) else node


FIGURE = Figure("circuit", "circuit", "s(u → v) = (z_u − z′_u) · ∂m/∂x_v / (m − m′)", draw, clickable="points")
