"""A space view on screen: where its points are, and what its pixels show."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.browser import made_up_space as made_up
from tests.browser.conftest import Shown

SCENE = "document.getElementById('view').eyeline.scene().spaces[0]"


def canvas_box(shown: Shown) -> Any:
    return shown.page.locator("canvas").first.bounding_box()


def point_on_screen(shown: Shown, point: int) -> tuple[float, float]:
    box = canvas_box(shown)
    x, y = shown.page.evaluate(f"{SCENE}.positions[{point}]")
    return box["x"] + x, box["y"] + y


def opened(show: Callable[..., Shown], **options: Any) -> Shown:
    state = {"opened": True, "layer": 1, "heads": [2], **options.pop("state", {})}
    return show(made_up.view(state=state, **options))


def pixels(shown: Shown) -> np.ndarray:
    return pixels_of(shown.page)


def pixels_of(page: Any) -> np.ndarray:
    """[row, column, RGB] of the drawing."""
    width, height, data = page.evaluate(
        """() => {
          const canvas = document.getElementById('view').firstElementChild.shadowRoot.querySelector('canvas');
          const {width, height, data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          let text = '';
          for (let i = 0; i < data.length; i += 8192) text += String.fromCharCode(...data.subarray(i, i + 8192));
          return [width, height, btoa(text)];
        }"""
    )
    return np.frombuffer(base64.b64decode(data), dtype=np.uint8).reshape(height, width, 4)[..., :3]
