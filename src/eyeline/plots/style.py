"""How every Plotly figure looks: its language, its colours on a light or a dark page, and the line that says what its numbers come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from eyeline.plots.palette import HEAD_COLOURS, SIGNED, SIGNED_DARK, head_colour
from eyeline.results.facts import AnalyseOptions
from eyeline.results.run import AMOUNTS, Run
from eyeline.text.printable import printable
from eyeline.words import Words

Scale = tuple[tuple[float, str], ...]
#: For lines that are not heads: the first colours of the palette.
SERIES = HEAD_COLOURS[:12]
INK, GROUND, HAIRLINE, QUIET = "#1a1d23", "#ffffff", "#d9dde3", "#5b6472"
ACCENT, GOLD, ORANGE = "#2563eb", "#d00000", "#ea580c"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Noto Sans Mono CJK JP', monospace"
SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Noto Sans CJK JP', 'Noto Sans CJK KR', sans-serif"
#: How the name of a corpus begins if the probes were scored on one half of it.
OTHER_HALF = "the other half of "
#: Pixels that a heading takes above a figure, with the line under it.
HEADING = 72


@dataclass(frozen=True)
class Theme:
    """The colours of a page.

    sequential   numbers from 0 upwards: from the ground to the strongest colour
    signed       numbers of both signs: blue negative, the ground at zero, orange positive; always with the same range on both sides
    outline      the line around a dot, visible against the ground whatever the colour of the dot
    button       of a button, and the ink on it; Plotly makes the chosen button nearly white on every page
    """

    ink: str
    ground: str
    hairline: str
    quiet: str
    outline: str
    gold: str
    button: str
    button_ink: str
    sequential: Scale
    signed: Scale


LIGHT = Theme(
    ink=INK, ground=GROUND, hairline=HAIRLINE, quiet=QUIET, outline=GROUND, gold=GOLD, button=GROUND, button_ink=INK,
    sequential=((0.0, "#f7fbff"), (0.25, "#c6dbef"), (0.5, "#6baed6"), (0.75, "#2171b5"), (1.0, "#08306b")),
    signed=tuple(zip((0.0, 0.5, 1.0), SIGNED, strict=True)),
)  # fmt: skip
DARK = Theme(
    ink="#e6e8ec", ground="#0f1115", hairline="#2a2f37", quiet="#9aa3b0", outline="#9aa3b0", gold="#ff5a5a", button="#9aa3b0",
    button_ink="#0f1115",
    sequential=((0.0, "#141922"), (0.35, "#1e3a75"), (0.7, "#4f86ff"), (1.0, "#dbe7ff")),
    signed=tuple(zip((0.0, 0.5, 1.0), SIGNED_DARK, strict=True)),
)  # fmt: skip


ENGLISH = Words()


@dataclass(frozen=True)
class Style:
    """How the page that shows a figure wants it drawn.

    words       the messages of the page's language
    dark        whether the page is dark
    titled      whether the figure carries its own heading; False where the page has one already
    clickable   whether cells of grids get points on top that can be clicked, which Streamlit needs
    """

    words: Words = ENGLISH
    dark: bool = False
    titled: bool = True
    clickable: bool = False

    @property
    def theme(self) -> Theme:
        return DARK if self.dark else LIGHT

    def head_colour(self, head: int) -> str:
        """The colour of a head on this page, as the views have it."""
        return head_colour(head, dark=self.dark)

    def label(self, key: str, **values: Any) -> str:
        """A message that several figures use."""
        return self.words(f"figure.label.{key}", **values)

    def in_stack(self, stack: str, label: str) -> str:
        """A label with the name of its stack before it, where there are several stacks."""
        return self.label("in_stack", stack=self.words.name("stack", stack), label=label) if stack else label


def provenance(run: Run, words: Words) -> str:
    """Model, corpus, how much of it."""
    counts = run.facts.counts
    shown = [name for name in AMOUNTS if name in counts and not (name == "documents" and "texts" in counts)]
    corpus = run.facts.corpus.name
    if corpus.startswith(OTHER_HALF):
        corpus = words("count.other_half", corpus=corpus.removeprefix(OTHER_HALF))
    pairs = isinstance(run.facts.options, AnalyseOptions) and run.facts.options.pairs
    amounts = [words.count("pairs" if pairs and name == "texts" else name, counts[name]) for name in shown]
    return f"{run.facts.model.name} · {corpus} · {', '.join(amounts)}"


def finish(figure: go.Figure, run: Run, style: Style, heading: str, *, height: int = 420, above: int = 24, **layout: Any) -> go.Figure:
    """Give a figure its heading, its provenance beneath, and the look of the page.

    height   of the whole figure with its heading, in pixels
    above    pixels between the heading and the axes, for titles of panels, legends and buttons
    """
    theme, margin = style.theme, {"l": 64, "r": 24, "b": 56, **layout.pop("margin", {})}
    title = {
        "text": f"{plain(heading)}<br><span style='font-size:12px;color:{theme.quiet}'>{plain(provenance(run, style.words))}</span>",
        "font": {"size": 20, "color": theme.ink},
        "x": 0,
        "xref": "container",
        "xanchor": "left",
        "y": 1,
        "yref": "container",
        "yanchor": "top",
        "pad": {"l": 16, "t": 26},  # to the baseline of the heading
    }
    figure.update_layout(
        title=title if style.titled else None,
        font={"family": SANS, "size": 12, "color": theme.ink},
        paper_bgcolor=theme.ground,
        plot_bgcolor=theme.ground,
        height=height if style.titled else height - HEADING,
        margin={**margin, "t": above + (HEADING if style.titled else 0)},
        hoverlabel={"font": {"family": SANS, "size": 12}, **({"bgcolor": "#191d24"} if style.dark else {})},
        colorway=list(SERIES),
        legend={"title": {"font": {"size": 12}}, "itemsizing": "constant"},
    )
    lines: dict[str, Any] = {
        "gridcolor": theme.hairline,
        "zeroline": False,
        "title_standoff": 10,
        "title_font_size": 12,
        "automargin": True,
    }
    figure.update_xaxes(showline=True, linecolor=theme.hairline, ticks="outside", tickcolor=theme.hairline, **lines)
    figure.update_yaxes(showline=False, ticklabelstandoff=4, **lines)
    figure.update_layout(**layout)
    return figure


def colour_bar(title: str, **look: Any) -> dict[str, Any]:
    """A colour bar with its title a line above the highest number: beside the bar, or right over it, the two would overlap."""
    text = f"{title}<br><span style='font-size:16px'>\u00a0</span>"
    return {"title": {"text": text, "side": "top", "font": {"size": 12}}, "thickness": 14, "outlinewidth": 0, **look}


def buttons(theme: Theme, **look: Any) -> dict[str, Any]:
    """The look of a row of buttons of a figure."""
    return {"bgcolor": theme.button, "bordercolor": theme.hairline, "font": {"color": theme.button_ink}, "showactive": True, **look}


def layer_step(n_layers: int) -> int:
    """A tick for each layer where they fit, else for every second, fifth or tenth."""
    return next((step for step in (1, 2, 5, 10) if n_layers / step <= 13), 20)


def plain(text: str) -> str:
    """Text as Plotly shows it and nothing else: it reads some tags, and names and words of a text are data, never markup.

    >>> plain("<b>R&D</b>")
    '&lt;b&gt;R&amp;D&lt;/b&gt;'
    """
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
