"""Streamlit's options for the app: nothing is sent anywhere, nothing of the code is shown, and our own look."""

from __future__ import annotations

from typing import Any

from eyeline.hosts.app.serve.theme import THEME
from eyeline.hosts.app.settings import Limits


def streamlit_options(host: str, port: int) -> dict[str, Any]:
    """By the dotted names that Streamlit gives them."""
    server = {
        "address": host,
        "port": port,
        # headless: no offers to install anything. We open the browser ourselves.
        "headless": True,
        "showEmailPrompt": False,
        "fileWatcherType": "none",
        "runOnSave": False,
        "enableStaticServing": False,
        "enableAgentApi": False,
        "maxUploadSize": -(-Limits().upload // (1024 * 1024)),
        "maxWidgetStateSize": 8,
        "disconnectedSessionTTL": 60,
    }
    others = {
        "browser.gatherUsageStats": False,
        "logger.hideWelcomeMessage": True,  # the welcome message requests this machine's address from an outside server
        "client.toolbarMode": "minimal",
        "client.showErrorDetails": "none",
        "client.showErrorLinks": False,
        "global.developmentMode": False,
        "runner.magicEnabled": False,
        # else a garbage collection follows every run of a script, twice a second while a bar moves: analyses took several times as long
        "runner.postScriptGC": False,
    }
    return {f"server.{name}": value for name, value in server.items()} | others | {f"theme.{name}": value for name, value in THEME.items()}
