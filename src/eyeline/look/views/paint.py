"""A still picture as PDF or PNG: its SVG drawn with matplotlib, which pip can install without system libraries.

Only the elements of the still pictures are supported: rectangles, text, paths and embedded pictures.
"""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from eyeline.errors import EyelineError, install_hint

SVG = "{http://www.w3.org/2000/svg}"
HREF = "href"
#: Pixels to the inch of the SVG, and of a PNG (twice as fine).
INCH, FINE = 96, 192
INHERITED = ("fill", "font-size", "font-family", "opacity")


def painted(drawn: str, ending: str) -> bytes:
    """The bytes of a .pdf or .png (ending without its dot); the same picture gives the same bytes."""
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise EyelineError(f"A .{ending} picture needs {error.name}.", install_hint("plots")) from error
    from eyeline.look.views.graph import FONTS, installed, tell_missing

    root = ElementTree.fromstring(drawn)  # noqa: S314 - our own output
    wide, high = float(root.get("width", "1")), float(root.get("height", "1"))
    settings: Any = {"font.family": installed(FONTS), "pdf.fonttype": 42, "text.parse_math": False, "text.usetex": False}
    with matplotlib.rc_context(settings), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure = Figure(figsize=(wide / INCH, high / INCH))
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, wide)
        axes.set_ylim(high, 0)
        for order, (element, look) in enumerate(elements(root, {})):
            PAINTERS[element.tag.removeprefix(SVG)](axes, element, look, order, (wide, high))
        written = io.BytesIO()
        title = root.findtext(SVG + "title", "")
        dates = {"CreationDate": None, "ModDate": None} if ending == "pdf" else {}
        about: dict[str, Any] = {**dates, "Creator" if ending == "pdf" else "Software": "eyeline", "Title": title}
        figure.savefig(written, format=ending, dpi=FINE, metadata=about)
    tell_missing([str(warning.message) for warning in caught])
    return written.getvalue()


def elements(parent: ElementTree.Element, look: Mapping[str, str]) -> list[tuple[ElementTree.Element, dict[str, str]]]:
    """Everything to paint, in order, each with the attributes that it has or inherits."""
    own = {**look, **{name: value for name in INHERITED if (value := parent.get(name))}}
    flat: list[tuple[ElementTree.Element, dict[str, str]]] = []
    for child in parent:
        if child.tag == SVG + "g":
            flat += elements(child, own)
        elif child.tag.removeprefix(SVG) in PAINTERS:
            flat.append((child, {**own, **child.attrib}))
    return flat


def rect(axes: Any, _: ElementTree.Element, look: Mapping[str, str], order: int, page: tuple[float, float]) -> None:
    """Paint a rectangle of the SVG with matplotlib."""
    from matplotlib.patches import Rectangle

    wide, high = (page[at] if look[name] == "100%" else float(look[name]) for at, name in enumerate(("width", "height")))
    corner = (float(look.get("x", 0)), float(look.get("y", 0)))
    filled, line = look.get("fill", "none"), look.get("stroke", "none")
    axes.add_patch(
        Rectangle(
            corner, wide, high, facecolor=filled, edgecolor=line, linewidth=0.75 if line != "none" else 0, zorder=order, alpha=alpha(look)
        )
    )


def text(axes: Any, element: ElementTree.Element, look: Mapping[str, str], order: int, _: tuple[float, float]) -> None:
    """Paint a text of the SVG with matplotlib; tokens in letters of one width, where the font has them."""
    from matplotlib import rcParams

    anchor = {"start": "left", "middle": "center", "end": "right"}[look.get("text-anchor", "start")]
    mono = {"family": ["DejaVu Sans Mono", *rcParams["font.family"]]} if look.get("font-family") == "monospace" else {}
    turned = -float(re.findall(r"rotate\((-?[\d.]+)", look["transform"])[0]) if "transform" in look else 0
    axes.text(
        float(look["x"]), float(look["y"]), element.text or "", ha=anchor, va="baseline", color=look.get("fill"), rotation=turned,
        rotation_mode="anchor", fontsize=float(look.get("font-size", 12)) * 72 / INCH, zorder=order, alpha=alpha(look),
        fontweight="bold" if look.get("font-weight") else "normal", **mono,
    )  # fmt: skip


def path(axes: Any, _: ElementTree.Element, look: Mapping[str, str], order: int, __: tuple[float, float]) -> None:
    """Lines and curves, any number of them: M, L and C are absolute, l is relative, Z closes."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    points: list[tuple[float, float]] = []
    codes: list[Any] = []
    for letter, numbers in re.findall(r"([MLlCZ])([^MLlCZ]*)", look["d"]):
        if letter == "Z":
            points.append(points[-1])
            codes.append(Path.CLOSEPOLY)
            continue
        values = [float(number) for number in numbers.split()]
        each = list(zip(values[::2], values[1::2], strict=True))
        points += [(points[-1][0] + x, points[-1][1] + y) for x, y in each] if letter == "l" else each
        codes += [Path.MOVETO] if letter == "M" else [Path.CURVE4] * 3 if letter == "C" else [Path.LINETO]
    closed = Path.CLOSEPOLY in codes
    axes.add_patch(
        PathPatch(
            Path(points, codes), facecolor=look["fill"] if closed else "none", edgecolor="none" if closed else look["stroke"],
            linewidth=float(look.get("stroke-width", 1)) * 72 / INCH, zorder=order, alpha=alpha(look),
        )
    )  # fmt: skip


def picture(axes: Any, _: ElementTree.Element, look: Mapping[str, str], order: int, __: tuple[float, float]) -> None:
    """Paint an image of the SVG with matplotlib."""
    from matplotlib.image import imread

    x, y, wide, high = (float(look[name]) for name in ("x", "y", "width", "height"))
    pixels = imread(io.BytesIO(base64.b64decode(look[HREF].split(",", 1)[1])), format="png")
    axes.imshow(pixels, extent=(x, x + wide, y + high, y), interpolation="nearest", aspect="auto", zorder=order, alpha=alpha(look))


def alpha(look: Mapping[str, str]) -> float | None:
    """The opacity of an element, or None where it has none."""
    return float(look["opacity"]) if "opacity" in look else None


PAINTERS = {"rect": rect, "text": text, "path": path, "image": picture}
