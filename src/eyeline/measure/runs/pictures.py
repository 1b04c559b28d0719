"""Figures as files that need no browser to look at: PNG, SVG or PDF, drawn by a Chromium that is already there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eyeline.errors import EyelineError, StorageError, install_hint

PICTURE_KINDS = ("png", "svg", "pdf")

#: The size, in pixels, of a figure that sets none.
WIDTH, HEIGHT = 1000, 500

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def save_pictures(figures: Mapping[Path, Any]) -> None:
    """Draw Plotly figures into files, the kind by their ending; one browser for all of them."""
    for path in figures:
        check_kind(path.suffix.removeprefix(".").lower(), str(path))
        if not path.parent.is_dir():
            raise StorageError(f"{path}: there is no folder {path.parent}.", "Create it first, or choose another path.")
    if "BROWSER_PATH" not in os.environ:
        os.environ["BROWSER_PATH"] = _browser()  # where kaleido looks
    try:
        import kaleido  # noqa: F401  imported here for a short error message: plotly's own is long
        import plotly.io
    except ImportError as error:
        raise EyelineError(f"Pictures of figures need {error.name}.", install_hint("plots")) from error
    layouts = [figure.layout for figure in figures.values()]
    plotly.io.write_images(
        fig=list(figures.values()),
        file=list(figures),
        width=[layout.width or WIDTH for layout in layouts],
        height=[layout.height or HEIGHT for layout in layouts],
        scale=2,
    )


def check_kind(kind: str, given: str) -> None:
    """Refuse a kind of picture that cannot be drawn."""
    if kind not in PICTURE_KINDS:
        raise EyelineError(
            f"{given}: not a kind of picture that can be drawn.", f"Choose {', '.join(PICTURE_KINDS[:-1])} or {PICTURE_KINDS[-1]}."
        )


def _browser() -> str:
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        raise EyelineError(
            f"Pictures of figures are drawn by a Chromium, and none of {', '.join(BROWSERS)} is on the path.",
            "Install one, or open the figure's page (figures/NAME.html): its camera saves SVG.",
        )
    return browser
