"""The still picture of a neuron view: from query and key to the weight, and from the weights to the sum of values."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from eyeline.heads import HeadRef
from eyeline.measures.outputs import head_outputs
from eyeline.plots.palette import SIGNED, SIGNED_DARK, rgb
from eyeline.text.printable import printable
from eyeline.views.data import ViewData
from eyeline.views.encode import LOWEST
from eyeline.views.pictures.drawing import NEGATIVE, QUIET, ROW, TOP, svg, width
from eyeline.views.pictures.png import png_bytes
from eyeline.views.pictures.shown import drawn_quantity, quantity_title, shown
from eyeline.words import Words

#: Keys drawn at most, and the widths of a strip, a number and a bar.
MOST_KEYS, STRIP, NUMBER, BAR, GAP = 48, 150, 76, 60, 14
#: Pixels from the headings of the columns to the first key: the query and the heading of the keys are between them.
FIRST_KEY = 54


@dataclass(frozen=True)
class QueryDetail:
    """Everything between one query and its keys. Arrays have a row a key that is shown.

    weights         the attention, or the quantity that is drawn in its place
    quantity        its method; empty for attention
    bias            added to each score; None where the model adds nothing
    masked          keys that the query may not look at
    contributions   attention x value; None where values were not kept
    output          their sum
    """

    query: str
    vector: np.ndarray
    tokens: list[str]
    keys: np.ndarray
    scores: np.ndarray
    weights: np.ndarray
    quantity: str
    bias: np.ndarray | None
    masked: np.ndarray
    contributions: np.ndarray | None
    output: np.ndarray | None
    left_out: int


def neuron(view: ViewData, caption: str, words: Words) -> str:
    """Strips of the key, of query x key and of weight x value in a row a key; the query and the output above them."""
    state, at = view.state, view.state.get("layer", 0)
    stack = view.spec["stacks"][state.get("stack", 0)]
    layer, head = stack["layers"][at], (state.get("heads") or [0])[0]
    step = read(view, stack, layer, at, head)
    name = HeadRef("", layer["layer"], head)
    title = f"{quantity_title(drawn_quantity(view), words)}{view.spec['model']} · {words.name('stack', stack['name'])} · {name}"
    if step is None:
        return svg(0, TOP + 16, f"{title} · {words('figure.still.nothing')}", "")
    title += f" · {words('figure.still.query', query=step.query)}"
    if step.left_out:
        title += f", {words('figure.still.strongest', n=len(step.tokens), of=len(step.tokens) + step.left_out)}"
    return drawn(step, title, stack.get("why_no_values", ""), layer["scale"], caption, words, dark=state.get("theme") == "dark")


def read(view: ViewData, stack: dict[str, Any], layer: dict[str, Any], at: int, head: int) -> QueryDetail | None:
    """What the neuron view shows of one query; None where all its tokens are hidden."""
    seen = shown(view, at, level="token")
    if not seen.rows or not seen.columns:
        return None
    query = view.state.get("query", 0)
    row = seen.rows.index(query) if query in seen.rows else 0
    quantity = drawn_quantity(view)
    method, unit = ("", 1.0) if quantity is None else (str(quantity["method"]), float(quantity["largest"]))
    weights = seen.weights[min(head, len(seen.weights) - 1), row]  # [key]; a quantity without heads has one map
    amounts = np.nan_to_num(abs(weights))
    above = np.flatnonzero(amounts >= view.state.get("threshold", 0.0))
    chosen = np.sort(above[np.argsort(-amounts[above], kind="stable")[:MOST_KEYS]])
    columns = [seen.columns[index] for index in chosen]
    queries, keys = (view.arrays[layer[what]].decode() for what in ("queries", "keys"))  # [head, token, dim]
    vector = queries[head, seen.rows[row]]
    kept = keys[head * len(keys) // len(queries)][columns]
    query_index = seen.rows[row]
    bias = view.arrays[layer["bias"]].decode()[head, query_index, columns] if layer.get("bias") else None
    mask = view.arrays[layer["mask"]].decode()[query_index, columns] if layer.get("mask") else np.ones(len(columns))
    contributions = output = None
    if layer.get("values"):
        values = view.arrays[layer["values"]].decode()
        every = values[head * len(values) // len(queries)]  # [key, dim]
        attention = weights if quantity is None else view.weights(view.state.get("stack", 0), at)[head, query_index, seen.columns]
        contributions = attention[chosen][:, None] * every[columns]
        output = head_outputs(attention[None, None], every[None, seen.columns])[0, 0]
    return QueryDetail(
        seen.queries[row], vector, [seen.keys[index] for index in chosen], kept, kept @ vector * layer["scale"], weights[chosen] * unit,
        method, bias, mask == 0, contributions, output, len(above) - len(chosen),
    )  # fmt: skip


def drawn(step: QueryDetail, title: str, why_no_values: str, scale: float, caption: str, words: Words, *, dark: bool) -> str:
    """The picture of one query, step by step, as SVG."""
    left = 16 + max(map(width, [*step.tokens, step.query]))
    xs = {"key": left + GAP}
    xs["product"] = xs["key"] + STRIP + GAP
    xs["score"] = xs["product"] + STRIP + GAP
    xs["bias"] = xs["score"] + NUMBER + GAP
    xs["weight"] = xs["bias"] + (NUMBER + GAP if step.bias is not None else 0)
    xs["value"] = xs["weight"] + NUMBER + BAR + GAP
    right = xs["value"] + (STRIP if step.contributions is not None else 0)
    products = step.keys * step.vector
    most = {"key": largest(step.vector, step.keys), "product": largest(products)}
    longest = 1.0 if not step.quantity else float(np.nan_to_num(abs(step.weights)).max(initial=0)) or 1.0
    top = TOP + 4
    body = [
        quiet(xs["key"], top + 8, f"{words('view.query_vector')} · ±{most['key']:.1f}"),
        quiet(xs["score"], top + 8, f"q·k × {scale:.4g}"),
        quiet(xs["product"], top + 8, f"{words('view.product')} · ±{most['product']:.1f}"),
        quiet(xs["weight"], top + 8, step.quantity or words("view.weight")),
        *([quiet(xs["bias"], top + 8, words("view.bias"))] if step.bias is not None else []),
        token(left, top + 28, step.query, bold=True),
        quiet(xs["key"], top + 48, words("view.keys")),
        strip(step.vector, most["key"], xs["key"], top + 16, dark=dark),
    ]
    if step.contributions is not None and step.output is not None:
        most["value"] = largest(step.contributions, step.output)
        body.append(quiet(xs["value"], top + 8, f"{words('view.output')} · ±{most['value']:.1f}"))
        body.append(strip(step.output, most["value"], xs["value"], top + 16, dark=dark))
        right = max(right, xs["value"] + width(f"{words('view.output')} · ±10.0"))
    for row, text in enumerate(step.tokens):
        y, masked = top + FIRST_KEY + row * ROW, bool(step.masked[row])
        cells = [token(left, y + 12, text)]
        cells.append(strip(step.keys[row], most["key"], xs["key"], y, dark=dark))
        cells.append(strip(products[row], most["product"], xs["product"], y, dark=dark))
        cells.append(quiet(xs["score"] + NUMBER, y + 12, number(step.scores[row]), end=True))
        if step.bias is not None:
            cells.append(quiet(xs["bias"] + NUMBER, y + 12, number(step.bias[row]), end=True))
        weight = float(step.weights[row])
        written = words("view.masked") if masked else "–" if np.isnan(weight) else f"{weight:.3f}".replace("-", "−")
        cells.append(quiet(xs["weight"] + (46 if masked else 40), y + 12, written, end=True))
        long, fill = BAR * abs(np.nan_to_num(weight)) / longest, QUIET if not weight < 0 else NEGATIVE
        cells.append(f'<rect x="{xs["weight"] + 46:.0f}" y="{y + 2:.0f}" width="{long:.1f}" height="10" fill="{fill}"/>')
        if step.contributions is not None:
            cells.append(strip(step.contributions[row], most["value"], xs["value"], y, dark=dark))
        body.append(f'<g opacity="0.35">{"".join(cells)}</g>' if masked else "".join(cells))
    high = top + FIRST_KEY + ROW * len(step.tokens) + 8
    if step.contributions is None and why_no_values:
        why = words(f"view.values_{why_no_values}")
        body.append(quiet(16, high + 10, why))
        high, right = high + 20, max(right, 16 + width(why))
    return svg(right + 16, high, title, "".join(body), caption)


def number(value: float) -> str:
    """A number with a true minus sign; −∞ for a bias of minus infinity."""
    return "−∞" if value < LOWEST / 6 else f"{round(float(value), 2) + 0.0:.2f}".replace("-", "−")


def token(x: float, y: float, text: str, *, bold: bool = False) -> str:
    """A token as SVG text that ends at x."""
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="end" font-family="monospace"{weight}>{escape(printable(text))}</text>'


def quiet(x: float, y: float, text: str, *, end: bool = False) -> str:
    """A text in the colour of secondary information, as SVG."""
    anchor = ' text-anchor="end"' if end else ""
    return f'<text x="{x:.0f}" y="{y:.0f}"{anchor} fill="{QUIET}">{escape(printable(text))}</text>'


def strip(values: np.ndarray, most: float, x: float, y: float, *, dark: bool) -> str:
    """One cell a dimension: blue negative, orange positive, the ground at zero."""
    data = base64.b64encode(png_bytes(signed(values / most, dark=dark)[None])).decode()
    return (
        f'<image x="{x:.0f}" y="{y:.0f}" width="{STRIP}" height="{ROW - 3}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'
    )


def signed(values: np.ndarray, *, dark: bool) -> np.ndarray:
    """values from -1 to 1 → [..., 3] bytes, as signedColour of frontend/src/core/colours.ts.

    >>> signed(np.array([-1.0, 0.0, 1.0]), dark=False).tolist()
    [[37, 99, 235], [255, 255, 255], [234, 88, 12]]
    """
    below, ground, above = (rgb(colour) for colour in (SIGNED_DARK if dark else SIGNED))
    share = np.minimum(1, np.abs(values))[..., None] ** 0.65
    ends = np.where((values < 0)[..., None], below, above)
    return np.asarray(np.rint(ground + (ends - ground) * share).astype(np.uint8))


def largest(*arrays: np.ndarray) -> float:
    """The largest absolute value of all arrays; never 0."""
    return max(1e-9, *(float(np.abs(array).max(initial=0)) for array in arrays))
