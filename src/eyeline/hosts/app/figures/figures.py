"""The figures of a run on the page: in the visitor's language, light or dark, and a head clicked says which it is."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from eyeline.heads import HeadRef
from eyeline.hosts.app.figures.heatmap_clicks import clickable
from eyeline.hosts.app.messages import Say
from eyeline.plots.figures import figure
from eyeline.plots.style import MONO, in_dark
from eyeline.results.run import Run

#: Heatmaps of heads.
GRIDS = ("syntax", "coreference_heads", "probe_weights", "space", "compare")
#: Figures with nothing above their axes.
BARE = ("syntax", "coreference", "probes", "probes_curve")
#: Figures without a head to click.
STILL = ("importance", "coreference", "coreference_example", "probes", "probes_curve", "space_pairs")
CONFIG = {"displaylogo": False, "displayModeBar": False, "scrollZoom": False}
#: Texts that come in lists: what points say, ticks, and the names of bars.
LISTED = ("text", "ticktext", "x", "y")


def show(say: Say, run: Run, name: str, key: str) -> HeadRef | None:
    """Draw one figure; the head that the visitor clicked in it, if any."""
    drawn = figure(run, name)
    drawn = translated(clickable(drawn) if name in GRIDS else drawn, say)
    if drawn.layout.updatemenus:
        _colour(say, drawn, key)
    if st.context.theme.type == "dark":
        in_dark(drawn)
    # the tab and the line above it say what the title would
    drawn.update_layout(title=None, margin_t=16 if name in BARE else 48, dragmode=False, clickmode="event+select")
    if name in GRIDS:
        titled_bars(drawn)
        drawn.update_annotations(font_size=14)
    if name in STILL:
        st.plotly_chart(drawn, theme=None, key=key, config=CONFIG)
        return None
    event: Any = st.plotly_chart(drawn, theme=None, key=key, config=CONFIG, on_select="rerun", selection_mode="points")
    return clicked(event)


def titled_bars(figure: go.Figure) -> None:
    """The titles of colour bars over them, a line above the highest number: beside the bar they meet its numbers."""
    for trace in figure.data:
        if trace.type == "heatmap" and trace.colorbar.title.text:
            trace.colorbar.title.update(side="top", text=f"{trace.colorbar.title.text}<br>\u00a0")
    if figure.layout.coloraxis.colorbar.title.text:
        figure.layout.coloraxis.colorbar.title.update(side="top", text=f"{figure.layout.coloraxis.colorbar.title.text}<br>\u00a0")


def _colour(say: Say, drawn: go.Figure, key: str) -> None:
    """A switch of the page in place of the figure's own, whose chosen button cannot be read on dark."""
    buttons = drawn.layout.updatemenus[0].buttons
    chosen = st.segmented_control(
        say("corpus.colour"), range(len(buttons)), format_func=lambda place: str(buttons[place].label), default=0, key=f"{key}-colour",
        label_visibility="collapsed", required=True,
    )  # fmt: skip
    for trace, visible in zip(drawn.data, buttons[chosen or 0].args[0]["visible"], strict=True):
        trace.visible = visible
    drawn.layout.updatemenus = ()


def clicked(event: Any) -> HeadRef | None:
    """The head of the first dot selected."""
    for point in (event or {}).get("selection", {}).get("points", ()):
        data = point.get("customdata")
        if isinstance(data, dict):  # Streamlit hands lists on as {"0": …, "1": …}
            data = [data[place] for place in sorted(data, key=int)]
        if isinstance(data, list | tuple) and len(data) >= 2:
            return HeadRef(str(data[2]) if len(data) > 2 else "", int(data[0]), int(data[1]))
    return None


def translated(figure: go.Figure, say: Say) -> go.Figure:
    """The figure with its words in another language; numbers and names stay."""
    if say.language == "en":
        return figure
    told = _phrases(say.language)
    pattern = re.compile(r"(?<![A-Za-z])(" + "|".join(map(re.escape, sorted(told, key=len, reverse=True))) + r")(?![A-Za-z])")

    antecedent = tuple(Say(language)("grammar.antecedent_is") for language in ("en", say.language))

    def turn(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            if value.get("mode") == "text" and value.get("textfont", {}).get("family") == MONO:
                return {**value, "hovertext": [one.replace(*antecedent) for one in value.get("hovertext", [])]}  # the words of a text
            return {name: turn(one, name) for name, one in value.items()}
        if isinstance(value, list) and key in ("data", "annotations", "updatemenus", "buttons", *LISTED):
            return [turn(one, key) for one in value]
        if isinstance(value, str) and key in ("name", "label", "hovertemplate", *LISTED):
            return pattern.sub(lambda found: told[found[0]], value)
        return value

    return go.Figure(turn(json.loads(figure.to_json())), skip_invalid=True)


@lru_cache
def _phrases(language: str) -> dict[str, str]:
    """English → the other language, phrase by phrase."""
    theirs = Say(language).part("figure")
    return {text: theirs[key] for key, text in Say("en").part("figure").items()}
