"""The attention graph of one head for a paper: figure 1 of Clark et al. 2019, drawn with igraph, without a browser."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from eyeline.capture.stack import Stack
from eyeline.capture.trace import Trace, check_trace
from eyeline.errors import Advice, StorageError, TraceError, nearest
from eyeline.heads import HeadRef
from eyeline.plots.graph.draw import draw
from eyeline.plots.graph.drawn_graph import BLUE, DrawnGraph
from eyeline.plots.graph.placement import REDUCERS, reduced
from eyeline.storage.files import write_whole
from eyeline.storage.names import as_path
from eyeline.text.named_pairs import PairsGiven, named_pairs
from eyeline.words import Words

LAYOUTS = ("columns", "values", *REDUCERS)


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

    layout      "columns": queries left, keys right, width and opacity by weight. "values": each token where its value vector lies in
                the plane of that head's first two principal components (the trace must hold values)
                "umap": by UMAP of the same vectors. "learned": by a linear reducer trained to keep their distances
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
    if words and layout != "columns":
        raise TraceError(
            "A word has no value vector of its own.",
            Advice("Use layout='columns' with words=True, or words=False.", "Use --layout columns with --words, or leave out --words."),
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
            "The value layout needs the same tokens as queries and keys.",
            Advice("For cross attention use layout='columns'.", "For cross attention use --layout columns."),
        )
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
    if not stack.has("weights"):
        raise TraceError(f"This trace has no weights: {stack.why_missing.format(name='weights')}.")
    weights: np.ndarray = stack.weights_by_layer[index]
    if not 0 <= ref.head < len(weights):
        raise TraceError(f"Head {ref.head} is not in layer {ref.layer}.", f"It has {len(weights)} heads, 0 to {len(weights) - 1}.")
    return np.asarray(weights[ref.head])  # [query, key]


def red_pairs(given: PairsGiven, stack: Stack) -> tuple[tuple[int, int], ...]:
    """Every query of the first name with every key of the second, in each pair that a user named."""
    every = [pair.positions(stack.query_text, stack.key_text) for pair in named_pairs(given)]
    return tuple(dict.fromkeys(positions for each in every for positions in each))


def own_values(stack: Stack, index: int, head: int) -> np.ndarray:
    """[key, dim]: the values of this head; heads in a group share theirs."""
    if not stack.has("values"):
        raise TraceError(f"The value layout needs values, and this trace has none: {stack.why_missing.format(name='values')}.")
    values = stack.values_by_layer[index]  # [key head, key, dim]
    return np.asarray(values[head * len(values) // len(stack.weights_by_layer[index])], dtype=np.float64)


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
