"""A browser on the first page, as soon as the app answers, where there is a screen to open it on."""

from __future__ import annotations

import os
import sys
import threading
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Mapping

#: Seconds that the app may take to answer, and between two tries.
PATIENCE, BETWEEN = 60.0, 0.2


def open_when_ready(address: str, link: str) -> None:
    """Wait in a thread of its own: the app itself runs in this one."""
    if has_screen(sys.platform, os.environ):
        threading.Thread(target=_wait_and_open, args=(address, link), name="opening", daemon=True).start()


def has_screen(platform: str, environment: Mapping[str, str]) -> bool:
    """Whether there is a screen: on Linux where the environment names a display, on other systems always.

    >>> has_screen("darwin", {}), has_screen("linux", {}), has_screen("linux", {"WAYLAND_DISPLAY": "wayland-0"})
    (True, False, True)
    """
    return platform != "linux" or bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def _wait_and_open(address: str, link: str) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if answers(f"{address}/_stcore/health"):
            webbrowser.open(link)
            return
        time.sleep(BETWEEN)


def answers(url: str) -> bool:
    """Whether something answers there with 200."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - our own address
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False
