"""A parse with the heads behind it: arcs over the words, and for a chosen pair of words what each head adds to the score of its arc."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.plots.probes.probe_parses import PANEL, draw_parse
from eyeline.plots.style import SANS, Style, plain
from eyeline.results.grammar.directions import ARC_DIRECTIONS
from eyeline.results.probes.parse import ROOT, Parse

#: Pixels of one layer in a grid of heads, of the lowest grid, and between the arcs and the grids: the menu and the titles.
ROW, LOWEST, BETWEEN = 18, 90, 80


def draw_parse_heads(parse: Parse, pair: tuple[str | int, str | int] | None = None, style: Style | None = None) -> go.Figure:
    """The arcs of a parse and, under them, a grid of heads for each direction: attention · weight for one pair of words.

    pair   a dependent and a governor, by text or by index; unless given, the first word and its governor. A menu on the page chooses
           among this pair and every word with its governor in the tree
    """
    style = style or Style()
    words = style.words
    given = (0, parse.governors[0]) if pair is None else parse.indices(*pair)
    pairs = list(dict.fromkeys([given, *enumerate(parse.governors)]))
    layers, heads = (sorted({getattr(head, name) for head in parse.heads}) for name in ("layer", "head"))
    height = max(LOWEST, ROW * len(layers))
    whole = PANEL + BETWEEN + height
    figure = make_subplots(2, 2, specs=[[{"colspan": 2}, None], [{}, {}]], horizontal_spacing=0.08)
    arcs = draw_parse(parse, style)
    for trace in arcs.data:
        figure.add_trace(trace, row=1, col=1)
    figure.update_xaxes(arcs.layout.xaxis, row=1, col=1)
    figure.update_yaxes(arcs.layout.yaxis, row=1, col=1)
    figure.update_xaxes(domain=[0, 1], row=1, col=1)
    figure.update_yaxes(domain=[(BETWEEN + height) / whole, 1], row=1, col=1)
    grids = {each: _grids(parse, each, layers, heads) for each in pairs}
    reach = max(float(np.nanmax(np.abs(grid))) for grid in grids.values()) or 1.0
    for column, grid in enumerate(grids[given], 1):
        figure.add_trace(
            go.Heatmap(
                z=grid,
                x=heads,
                y=layers,
                coloraxis="coloraxis",
                hovertemplate="L%{y}·H%{x}: %{z:+.3f}<extra></extra>",
                name=f"heads-{column}",
            ),
            row=2,
            col=column,
        )
        figure.update_xaxes(title_text=style.label("head"), dtick=1, row=2, col=column)
        figure.update_yaxes(title_text=style.label("layer") if column == 1 else "", dtick=1, autorange="reversed", row=2, col=column)
        figure.update_yaxes(domain=[0, height / whole], row=2, col=column)
        direction = words.name("direction", ARC_DIRECTIONS[column - 1])
        figure.add_annotation(
            text=direction, x=(0.0, 0.54)[column - 1], y=height / whole, xref="paper", yref="paper", xanchor="left", yanchor="bottom",
            showarrow=False,
        )  # fmt: skip
    n_arcs = len(arcs.data)
    buttons = [
        {
            "label": plain(_label(parse, each)),
            "method": "restyle",
            "args": [{"z": [grid.tolist() for grid in grids[each]]}, [n_arcs, n_arcs + 1]],
        }
        for each in pairs
    ]
    theme = style.theme
    top = (height + BETWEEN - 8) / whole
    bar = {"len": height / whole, "y": 0, "yanchor": "bottom"}
    figure.update_layout(
        paper_bgcolor=theme.ground, plot_bgcolor=theme.ground, font={"family": SANS, "size": 12, "color": theme.ink}, showlegend=False,
        height=whole + 72, margin={"l": 56, "r": 24, "t": 16, "b": 56}, hovermode="closest",
        coloraxis={"colorscale": theme.signed, "cmin": -reach, "cmax": reach, "colorbar": bar},
        updatemenus=[{"buttons": buttons, "x": 0, "xanchor": "left", "y": top, "yanchor": "top", "direction": "down", "active": 0}],
    )  # fmt: skip
    figure.add_annotation(
        text=words("figure.label.parse_heads"), x=1, y=top - 6 / whole, xref="paper", yref="paper", xanchor="right", yanchor="top",
        showarrow=False, font={"color": theme.quiet},
    )  # fmt: skip
    return figure


def _label(parse: Parse, pair: tuple[int, int]) -> str:
    """An arrow from the governor to its dependent, as in the arcs."""
    dependent, governor = pair
    return f"{ROOT if governor < 0 else parse.words[governor]} → {parse.words[dependent]}"


def _grids(parse: Parse, pair: tuple[int, int], layers: list[int], heads: list[int]) -> np.ndarray:
    """What each head adds: [direction, layer, head]; nan where the model has no such head."""
    grids = np.full((len(ARC_DIRECTIONS), len(layers), len(heads)), np.nan)
    for weight in parse.pair(*pair):
        at = ARC_DIRECTIONS.index(weight.direction), layers.index(weight.head.layer), heads.index(weight.head.head)
        grids[at] = weight.contribution
    return grids.round(4)
