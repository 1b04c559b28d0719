"""Drawing an attention graph: igraph lays it out and draws the edges, on a matplotlib page cut to the measured text.

igraph can also draw with cairo, which needs the system library libcairo; pip can install matplotlib without system libraries.
"""

from __future__ import annotations

import io
import re
import warnings
from typing import Any

import numpy as np

from eyeline.errors import EyelineError, install_hint
from eyeline.plots.graph.drawn_graph import DrawnGraph
from eyeline.text.printable import printable
from eyeline.words import Words

RED, INK, QUIET = "#d00000", "#1a1d23", "#5b6472"
#: The first that is installed for each character is used; SVG names them all and lets the reader's machine choose.
FONTS = (
    "DejaVu Sans",
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans JP",
    "Source Han Sans",
    "IPAexGothic",
    "Hiragino Sans",
    "Yu Gothic",
    "Microsoft YaHei",
    "Malgun Gothic",
    "PingFang SC",
    "Noto Sans KR",
    "Noto Emoji",
    "Symbola",
)
POINTS, ROW, GAP, EDGE = 9.0, 15.0, 5.0, 170.0  # in points, 1/72 inch
MARGIN = 12.0
PIXELS = 216  # of a .png, to the inch
PLANE = 380.0
#: Two edges between the same tokens are curves: the distance of their control points from the straight line, as a fraction of its length.
CURVE = 0.25
#: Weaker edges have no arrowhead; the radius of a token's dot in the plane, in points.
FAINT_ARROW, DOT = 0.06, 2.5


def draw(graph: DrawnGraph, ending: str, pixels: int = PIXELS) -> bytes:
    """The file's bytes: the same for the same graph. ending: "svg", "pdf" or "png"."""
    try:
        import igraph
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise EyelineError(f"The attention graph needs {error.name}.", install_hint("plots")) from error

    settings: Any = {
        "font.family": installed(FONTS),
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": "eyeline",
        "pdf.fonttype": 42,  # fonts are embedded
        "text.parse_math": False,  # a token may hold dollars
        "text.usetex": False,
    }
    with matplotlib.rc_context(settings), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        figure = Figure()
        canvas: Any = FigureCanvasAgg(figure)
        measure = Measure(figure, canvas.get_renderer())
        layout = columns if graph.positions is None else plane
        points, labels, (wide, high) = layout(graph, measure)
        figure.set_size_inches(wide / 72, high / 72)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        links = edges_of(graph, igraph, len(points))
        igraph.plot(
            links,
            target=axes,
            layout=igraph.Layout(points.tolist()),
            vertex_size=0 if graph.positions is None else 4,
            vertex_shape="rectangle" if graph.positions is None else "circle",  # unseen circles would be half of the work
            vertex_color=QUIET,
            vertex_frame_width=0,
            edge_arrow_size=0,
            edge_arrow_width=0,
        )
        axes.add_collection(arrowheads(graph, points))
        axes.set_xlim(0, wide)
        axes.set_ylim(high, 0)  # downwards, as one reads
        axes.set_aspect("auto")
        ground = None if graph.positions is None else {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.5}
        for x, y, text, align, colour in labels:
            axes.text(x, y, text, ha=align, va="center", fontsize=POINTS, color=colour, zorder=5, bbox=ground)
        picture = io.BytesIO()
        maker = {"svg": "Creator", "pdf": "Creator", "png": "Software"}[ending]
        no_dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None, "ModDate": None}, "png": {}}[ending]
        figure.savefig(
            picture,
            format=ending,
            dpi=pixels if ending == "png" else "figure",
            metadata={**no_dates, maker: "eyeline", "Title": printable(graph.heading)},
        )
    if ending != "svg":
        tell_missing([str(warning.message) for warning in seen])
    return picture.getvalue()


class Measure:
    """How wide a text will be, in points."""

    def __init__(self, figure: Any, renderer: Any) -> None:
        self.figure, self.renderer = figure, renderer

    def __call__(self, text: str) -> float:
        shown = self.figure.text(0, 0, text, fontsize=POINTS)
        wide: float = shown.get_window_extent(self.renderer).width * 72 / self.figure.dpi
        shown.remove()
        return wide


Label = tuple[float, float, str, str, str]
Layout = tuple[np.ndarray, list[Label], tuple[float, float]]


def columns(graph: DrawnGraph, measure: Measure) -> Layout:
    """Queries left, keys right; the page is as wide as the longest tokens need."""
    queries, keys = [printable(t) for t in graph.query_tokens], [printable(t) for t in graph.key_tokens]
    left = MARGIN + max(map(measure, queries)) + GAP
    right = left + EDGE
    top = MARGIN + 2 * ROW
    wide = max(right + GAP + max(map(measure, keys)) + MARGIN, 2 * MARGIN + measure(printable(graph.heading)))
    high = top + ROW * max(len(queries), len(keys)) + MARGIN
    points = [(x, top + ROW * (row + 0.5)) for x, texts in ((left, queries), (right, keys)) for row in range(len(texts))]
    labels: list[Label] = [(MARGIN, MARGIN + ROW / 2, printable(graph.heading), "left", QUIET)]
    reds = {query for query, _ in graph.red}, {key for _, key in graph.red}
    labels += [(left - GAP, points[row][1], text, "right", RED if row in reds[0] else INK) for row, text in enumerate(queries)]
    labels += [(right + GAP, points[len(queries) + row][1], text, "left", RED if row in reds[1] else INK) for row, text in enumerate(keys)]
    return np.array(points), labels, (wide, high)


def plane(graph: DrawnGraph, measure: Measure) -> Layout:
    """Each token at its position in the value plane, its label beside it; the page is wide enough for the longest label."""
    tokens = [printable(t) for t in graph.query_tokens]
    coordinates = np.array(graph.positions)  # [token, 2]
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    points = (coordinates - low) / (float(max(high - low)) or 1.0) * PLANE  # one scale for both axes: distances keep their meaning
    points[:, 1] = points[:, 1].max() - points[:, 1]  # the second component grows upwards
    bulge = curves(graph, points)
    points += np.array((MARGIN + GAP, MARGIN + 2.5 * ROW)) - np.minimum(0, bulge.min(axis=0))
    bulge = curves(graph, points)
    first, second = graph.explained or (0.0, 0.0)
    shares = Words(graph.language)("figure.graph.components", first=f"{first * 100:.1f}", second=f"{second * 100:.1f}")
    heading = [printable(graph.heading), graph.placement or shares]
    boxes = beside(points, [measure(text) for text in tokens])  # [token, (left, middle, right)]
    size = (
        max(*boxes[:, 2], *bulge[:, 0], *(MARGIN + measure(line) for line in heading)) + MARGIN,
        float(max(bulge[:, 1].max(), boxes[:, 1].max())) + ROW,
    )
    named = {token for pair in graph.red for token in pair}
    labels: list[Label] = [(MARGIN, MARGIN + ROW * (line + 0.5), text, "left", QUIET) for line, text in enumerate(heading)]
    labels += [(boxes[row, 0], boxes[row, 1], text, "left", RED if row in named else INK) for row, text in enumerate(tokens)]
    return points, labels, size


def curves(graph: DrawnGraph, points: np.ndarray) -> np.ndarray:
    """The points, and points on the two curves that igraph draws where two tokens attend to each other, one to each side."""
    drawn = {edge[:2] for edge in graph.edges()}
    ends = np.array([pair for pair in drawn if pair[0] < pair[1] and pair[::-1] in drawn], dtype=int).reshape(-1, 2)
    start, end = points[ends[:, 0]], points[ends[:, 1]]  # [pair, 2]
    aside = (end - start)[:, ::-1] * (CURVE, -CURVE)
    along = np.linspace(0, 1, 17)[:, None, None]
    middle = start + along * (end - start)  # [step, pair, 2]
    out = 3 * along * (1 - along) * aside  # a cubic curve whose two control points lie `aside` of the line
    return np.concatenate([points, (middle + out).reshape(-1, 2), (middle - out).reshape(-1, 2)])


def beside(points: np.ndarray, widths: list[float]) -> np.ndarray:
    """[token, (left, middle, right)]: labels beside their points, each in the first free position: right, left, lower or higher."""
    boxes: list[tuple[float, float, float]] = []
    for (x, y), wide in zip(points.tolist(), widths, strict=True):
        starts = [x + GAP] + ([x - GAP - wide] if x - GAP - wide >= MARGIN else [])
        steps = [step * 0.75 * ROW for step in (0, 1, -1, 2, -2)]
        tries = [(start, y + step, start + wide) for step in steps for start in starts if y + step >= MARGIN + 2 * ROW]
        free = (
            box for box in tries if all(box[2] < other[0] or other[2] < box[0] or abs(box[1] - other[1]) >= 0.75 * ROW for other in boxes)
        )
        boxes.append(next(free, tries[0]))
    return np.array(boxes)


def edges_of(graph: DrawnGraph, igraph: Any, n_points: int) -> Any:
    """An igraph graph whose edges carry width and colour; weak edges first, so that strong ones lie above."""
    edges = graph.edges()
    shift = len(graph.query_tokens) if graph.positions is None else 0
    if shift == 0:  # a token's attention to itself has no length in the plane
        edges = [edge for edge in edges if edge[0] != edge[1]]
    drawn = {edge[:2] for edge in edges}
    links = igraph.Graph(n=n_points, edges=[(query, key + shift) for query, key, _ in edges], directed=False)
    red, strong = set(graph.red), tuple(int(graph.colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    links.es["width"] = [0.3 + 2.7 * weight for _, _, weight in edges]
    links.es["color"] = [RED if (query, key) in red else (*strong, max(0.02, min(1.0, weight))) for query, key, weight in edges]
    links.es["curved"] = [
        (2 * CURVE if link.tuple == (query, key + shift) else -2 * CURVE) if shift == 0 and (key, query) in drawn else 0.0
        for link, (query, key, _) in zip(links.es, edges, strict=True)
    ]  # two tokens that attend to each other: one curve to each side
    return links


def arrowheads(graph: DrawnGraph, points: np.ndarray) -> Any:
    """A filled tip at the key end of every edge that can be seen: attention goes from the query to the key."""
    from matplotlib.collections import PolyCollection

    shift = len(graph.query_tokens) if graph.positions is None else 0
    red, drawn = set(graph.red), {edge[:2] for edge in graph.edges()}
    corners, colours = [], []
    for query, key, weight in graph.edges():
        start, end = points[query], points[key + shift]
        along = end - start
        if not along.any() or (weight < FAINT_ARROW and (query, key) not in red):
            continue
        bend = CURVE if shift == 0 and (key, query) in drawn else 0.0
        tangent = along / 3 - np.array((along[1], -along[0])) * bend  # from the second control point of the curve to its end
        forth = tangent / np.hypot(*tangent)
        width = 0.3 + 2.7 * weight
        tip = end - forth * (DOT if shift == 0 else 0.0)
        back, aside = tip - forth * (3.5 + 1.2 * width), np.array((-forth[1], forth[0])) * (1.4 + 0.7 * width)
        corners.append([tip, back + aside, back - aside])
        colours.append(RED if (query, key) in red else (graph.colour, max(0.25, min(1.0, weight))))
    return PolyCollection(corners, facecolors=colours, linewidths=0, zorder=2, gid="arrowheads")


def installed(fonts: tuple[str, ...]) -> list[str]:
    """Those of the fonts that matplotlib finds on this machine."""
    from matplotlib.font_manager import fontManager

    have = {font.name for font in fontManager.ttflist}
    return [font for font in fonts if font in have]


def tell_missing(messages: list[str]) -> None:
    """One short warning that names the missing characters, in place of one of matplotlib's for each."""
    missing = sorted({chr(int(glyph[1])) for message in messages if (glyph := re.match(r"Glyph (\d+) .* missing", message))})
    if missing:
        warnings.warn(
            f"No installed font has {' '.join(missing[:12])}: the picture shows boxes there. "
            "Install one that does (Noto Sans CJK, Noto Emoji), or write .svg, where the reader's fonts are used.",
            stacklevel=4,
        )
