"""The attention graph of one head for a paper: figure 1 of Clark et al. 2019, drawn with igraph, without a browser."""

from __future__ import annotations

import io
import random
import re
import warnings
from collections.abc import Sized
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from eyeline.errors import Advice, EyelineError, StorageError, TraceError, install_hint, nearest
from eyeline.heads import HeadRef
from eyeline.look.palette import LIGHT_PAGE
from eyeline.look.stack import Stack, as_kept, single_precision
from eyeline.look.trace import Trace, check_trace
from eyeline.mathematics import NEIGHBOURS, project
from eyeline.messages import Message
from eyeline.storage.files import as_path, write_whole
from eyeline.text.named_pairs import PairsGiven, named_pairs
from eyeline.text.tokenized import printable
from eyeline.words import Words

#: The most edges that are drawn: more take minutes and cannot be told apart. Edges weaker than FAINTEST cannot be seen.
MOST_EDGES, FAINTEST = 5000, 1e-6

BLUE = LIGHT_PAGE.query

REDUCERS = ("umap", "learned")

#: igraph's own layouts of a graph between the tokens or words of one text; figure 1 is its grid of two columns (`column_points`).
IGRAPH = ("forces", "circle")

LAYOUTS = ("columns", *IGRAPH, "values", *REDUCERS)


@dataclass(frozen=True)
class DrawnGraph:
    """What is drawn: weights [query, key] between two lists of tokens, red pairs, and, in one plane, a point for each token."""

    weights: np.ndarray
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    title: str
    red: tuple[tuple[int, int], ...] = ()
    threshold: float = 0.0
    positions: np.ndarray | None = None  # [token, 2]
    explained: tuple[float, float] | None = None
    placement: str = ""  # how the points were placed, where not by principal components
    colour: str = BLUE
    language: str = "en"

    def edges(self) -> list[tuple[int, int, float]]:
        """(query, key, weight) from weak to strong, so that the strong are drawn last; the red ones, however weak, after all."""
        red = set(self.red)
        order = np.argsort(self.weights, axis=None, kind="stable")[-MOST_EDGES - len(red) :]
        queries, keys = np.unravel_index(order, self.weights.shape)
        every = zip(queries.tolist(), keys.tolist(), self.weights.ravel()[order].tolist(), strict=True)
        edges = [edge for edge in every if edge[2] >= max(self.threshold, FAINTEST) and edge[:2] not in red]
        return edges[-MOST_EDGES:] + [(query, key, float(self.weights[query, key])) for query, key in self.red]

    @property
    def heading(self) -> str:
        """The title, and what was left out of the drawing."""
        words = Words(self.language)
        left_out = words("figure.label.weights_from", threshold=f"{self.threshold:g}") if self.threshold else ""
        if int((self.weights >= max(self.threshold, FAINTEST)).sum()) > MOST_EDGES:
            left_out = words("figure.label.strongest_weights", n=f"{MOST_EDGES:,}")
        return f"{self.title} · {left_out}" if left_out else self.title


@dataclass(frozen=True)
class AttentionGraph(DrawnGraph):
    """The attention of one head as a graph, to be shown in a notebook or written as a picture."""

    def save(self, path: str | Path) -> None:
        """Write .svg, .pdf or .png, whole or not at all; the same graph gives the same bytes."""
        ending = as_path(path).suffix.lower()
        if ending not in (".svg", ".pdf", ".png"):
            raise StorageError(
                f"{path}: an attention graph cannot be written as {ending or 'a nameless format'}.", "Choices: .svg, .pdf, .png."
            )
        write_whole(path, [draw(self, ending[1:])])

    def _repr_svg_(self) -> str:
        return draw(self, "svg").decode()

    def _repr_png_(self) -> bytes:
        """For untrusted notebooks, in which JupyterLab shows no SVG."""
        return draw(self, "png", pixels=96)


def attention_graph(
    trace: Trace,
    layer: int,
    head: int,
    *,
    stack: str | None = None,
    red: PairsGiven = (),
    layout: str = "columns",
    words: bool = False,
    threshold: float = 0.0,
    colour: str = BLUE,
    language: str = "en",
) -> AttentionGraph:
    """One head's attention as a graph: `attention_graph(trace, 3, 7, red="she → Mary").save("figure.pdf")`.

    layout      "columns": queries left, keys right, width and opacity by weight
                "forces": tokens that attend to each other lie near each other (igraph: Fruchterman-Reingold). "circle": in reading order
                "values": each token where its value vector lies in the plane of that head's first two principal components (the trace must
                hold values). "umap": by UMAP of the same vectors. "learned": by a linear reducer trained to keep their distances
    red         pairs of a query and a key drawn in red, everywhere they occur: "she → Mary", ("she", "Mary") or a list of these,
                by word, piece or position
    words       between words instead of tokens
    threshold   weaker edges are left out, and always all but the 5,000 strongest; the heading says so
    colour      of the edges that are not red
    language    of the heading: en, ja or ko
    """
    check_trace(trace)
    if layout not in LAYOUTS:
        raise TraceError(f"A layout called {layout!r}.", nearest(layout, LAYOUTS))
    if not 0 <= threshold <= 1:
        raise TraceError(f"A threshold of {threshold}.", "Weights are from 0 to 1.")
    tokens = trace.stack(stack)
    index = index_of_layer(tokens, layer)
    if words and layout not in ("columns", *IGRAPH):
        raise TraceError(
            "A word has no value vector of its own.",
            Advice(
                "With words=True use layout='columns', 'forces' or 'circle'.",
                "With --words use --layout columns, --layout forces or --layout circle.",
            ),
        )
    source = tokens.words() if words else tokens
    ref = HeadRef(tokens.name if len(trace.stacks) > 1 else "", layer, head)
    weights = weights_of_head(source, index, ref)
    graph = AttentionGraph(
        weights=weights,
        query_tokens=source.query_text.tokens,
        key_tokens=source.key_text.tokens,
        title=title_of(trace.model, ref, source.query_text, source.level, language),
        red=red_pairs(red, source),
        threshold=threshold,
        colour=colour,
        language=language,
    )
    if layout == "columns":
        return graph
    if tokens.query_text != tokens.key_text:
        raise TraceError(
            f"The layout {layout!r} needs the same tokens as queries and keys.",
            Advice("For cross attention use layout='columns'.", "For cross attention use --layout columns."),
        )
    if layout in IGRAPH:
        return replace(graph, positions=igraph_points(graph, layout), placement=Words(language)(f"figure.graph.{layout}"))
    if layout in REDUCERS:
        points, placement = reduced(own_values(tokens, index, head), layout, language)
        return replace(graph, positions=points, placement=placement)
    positions, explained = value_plane(tokens, index, head)
    return replace(graph, positions=positions, explained=explained)


def title_of(model: str, head: HeadRef, text: Sized, unit: str, language: str = "en") -> str:
    """model · stack · L3·H7 · 12 tokens; the stack only where the model has several."""
    return " · ".join(part for part in (model, head.stack, str(head), Words(language).count(f"{unit}s", len(text))) if part)


def index_of_layer(stack: Stack, layer: int) -> int:
    """The index of this layer in the arrays of a stack."""
    if layer not in stack.layers:
        raise TraceError(f"Layer {layer} is not in this trace.", f"It has {', '.join(map(str, stack.layers))}.")
    return stack.layers.index(layer)


def weights_of_head(stack: Stack, index: int, ref: HeadRef) -> np.ndarray:
    """The weights of one head: [query, key]."""
    stack.check_has("weights")
    weights: np.ndarray = as_kept(stack.weights_by_layer)[index]
    return np.asarray(single_precision(weights[stack.index_of_head(ref.head, len(weights), ref.layer)]))  # [query, key]


def red_pairs(given: PairsGiven, stack: Stack) -> tuple[tuple[int, int], ...]:
    """Every query of the first name with every key of the second, in each pair that a user named."""
    every = [pair.positions(stack.query_text, stack.key_text) for pair in named_pairs(given)]
    return tuple(dict.fromkeys(positions for each in every for positions in each))


def own_values(stack: Stack, index: int, head: int) -> np.ndarray:
    """[key, dim]: the values of this head; heads in a group share theirs."""
    if not stack.has("values"):
        raise TraceError(Message("refusal.value_layout", why=stack.why("values")))
    values = as_kept(stack.values_by_layer)[index]  # [key head, key, dim]
    count = len(as_kept(stack.weights_by_layer)[index])
    position = stack.index_of_head(head, count, stack.layers[index])
    return np.asarray(single_precision(values[position * len(values) // count]), dtype=np.float64)


def value_plane(stack: Stack, index: int, head: int) -> tuple[np.ndarray, tuple[float, float]]:
    """Each token's value vector in the plane of the first two principal components of this head's values, and their shares of variance."""
    own = own_values(stack, index, head)
    centred = own - own.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    plane = np.zeros((len(own), 2))
    for axis in range(min(2, len(sizes))):
        column = left[:, axis] * sizes[axis]
        plane[:, axis] = column * (1 if column[np.abs(column).argmax()] >= 0 else -1)  # a sign that does not depend on the machine
    total = float((sizes**2).sum()) or 1.0
    shares = [float(size**2) / total for size in sizes[:2]] + [0.0, 0.0]
    return plane, (shares[0], shares[1])


# ---- Value layouts other than PCA: UMAP, or a linear reducer that is trained on the text


#: The least number of neighbours for UMAP.
FEWEST_NEIGHBOURS = 3


def reduced(values: np.ndarray, how: str, language: str = "en") -> tuple[np.ndarray, str]:
    """values: [token, dim] → [token, 2], and a line for the heading that names the method, in this language.

    umap      UMAP of the value vectors (umap-learn), seed 0; of a short text with fewer neighbours than usual
    learned   the linear projection whose distances are nearest to those between the values, trained from the principal components on
    """
    neighbours = max(FEWEST_NEIGHBOURS, min(NEIGHBOURS, len(values) - 2))
    points = np.asarray(project(values, "umap", neighbours=neighbours), dtype=np.float64) if how == "umap" else learned_plane(values)
    kept = distance_correlation(values, points)
    return points, Words(language)(f"figure.graph.{how}", neighbours=neighbours, kept=f"{kept:.2f}")


def learned_plane(values: np.ndarray) -> np.ndarray:
    """values W with W = argmin Σ_ij (|W x_i − W x_j| − |x_i − x_j|)², from the principal components, by L-BFGS."""
    from scipy.optimize import minimize

    centred = np.asarray(values, dtype=np.float64) - values.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    start = np.zeros((centred.shape[1], 2))
    start[:, : min(2, len(axes))] = axes[:2].T
    rows, columns = np.triu_indices(len(centred), 1)
    differences = centred[rows] - centred[columns]  # [pair, dim]
    distances = np.linalg.norm(differences, axis=1)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        projected = differences @ flat.reshape(-1, 2)
        lengths = np.linalg.norm(projected, axis=1)
        error = lengths - distances
        gradient = differences.T @ (projected * (2 * error / np.maximum(lengths, 1e-12))[:, None])
        return float(error @ error), gradient.ravel()

    best = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
    return np.asarray(centred @ best.reshape(-1, 2))


def distance_correlation(values: np.ndarray, points: np.ndarray) -> float:
    """The correlation between the distances of all pairs before and after; 0 where one of them does not vary."""
    rows, columns = np.triu_indices(len(values), 1)
    before, after = (np.linalg.norm(part[rows] - part[columns], axis=1) for part in (values, points))
    return float(np.corrcoef(before, after)[0, 1]) if len(rows) > 1 and before.std() and after.std() else 0.0


# ---- Layouts of igraph


def igraph_module() -> Any:
    """igraph, which comes with the extra `plots`."""
    try:
        import igraph
    except ImportError as error:
        raise EyelineError("The attention graph needs igraph.", install_hint("plots")) from error
    return igraph


def igraph_points(graph: DrawnGraph, layout: str) -> np.ndarray:
    """[token, 2]: one text in a plane by igraph, whose random numbers begin anew, so that the same graph is laid out alike each time."""
    igraph = igraph_module()
    edges = [edge for edge in graph.edges() if edge[0] != edge[1]]
    links = igraph.Graph(n=len(graph.query_tokens), edges=[edge[:2] for edge in edges])
    if layout == "circle":
        return np.array(links.layout_circle().coords)[:, ::-1]  # from the top, clockwise
    igraph.set_random_number_generator(random.Random(0))  # noqa: S311 - a drawing
    try:
        return np.array(links.layout_fruchterman_reingold(weights=[weight for *_, weight in edges], niter=2000).coords)
    finally:
        igraph.set_random_number_generator(random)


def column_points(queries: int, keys: int) -> np.ndarray:
    """[token, (column, row)], queries first, on igraph's grid. Not its bipartite layout: that reorders tokens until few edges cross."""
    longest = max(queries, keys)
    grid = np.array(igraph_module().Graph(n=2 * longest).layout_grid(width=longest).coords)[:, ::-1]
    return np.concatenate([grid[:queries], grid[longest : longest + keys]])


# ---- The drawing: igraph draws the edges, on a matplotlib page cut to the measured text
#
# igraph can also draw with cairo, which needs the system library libcairo; pip can install matplotlib without system libraries.


RED, INK, QUIET = LIGHT_PAGE.pair, LIGHT_PAGE.text, LIGHT_PAGE.muted

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
    igraph = igraph_module()
    try:
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
    with matplotlib.rc_context(settings), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure = Figure()
        canvas: Any = FigureCanvasAgg(figure)
        measure = TextWidths(figure, canvas.get_renderer())
        layout = column_layout if graph.positions is None else plane_layout
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
        tell_missing([str(warning.message) for warning in caught])
    return picture.getvalue()


class TextWidths:
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


def column_layout(graph: DrawnGraph, measure: TextWidths) -> Layout:
    """Queries left, keys right; the page is as wide as the longest tokens need."""
    queries, keys = [printable(t) for t in graph.query_tokens], [printable(t) for t in graph.key_tokens]
    left = MARGIN + max(map(measure, queries)) + GAP
    right = left + EDGE
    top = MARGIN + 2 * ROW
    wide = max(right + GAP + max(map(measure, keys)) + MARGIN, 2 * MARGIN + measure(printable(graph.heading)))
    high = top + ROW * max(len(queries), len(keys)) + MARGIN
    points = column_points(len(queries), len(keys)) * (EDGE, ROW) + (left, top + ROW / 2)
    labels: list[Label] = [(MARGIN, MARGIN + ROW / 2, printable(graph.heading), "left", QUIET)]
    reds = {query for query, _ in graph.red}, {key for _, key in graph.red}
    labels += [(left - GAP, points[row][1], text, "right", RED if row in reds[0] else INK) for row, text in enumerate(queries)]
    labels += [(right + GAP, points[len(queries) + row][1], text, "left", RED if row in reds[1] else INK) for row, text in enumerate(keys)]
    return points, labels, (wide, high)


def plane_layout(graph: DrawnGraph, measure: TextWidths) -> Layout:
    """Each token at its position in the plane, its label beside it; the page is wide enough for the longest label."""
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
    boxes = place_labels(points, [measure(text) for text in tokens])  # [token, (left, middle, right)]
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


def place_labels(points: np.ndarray, widths: list[float]) -> np.ndarray:
    """[token, (left, middle, right)]: labels beside their points, each in the first free position: right, left, lower or higher.

    igraph's own labels lie all at one angle, over each other where tokens are near.
    """
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
