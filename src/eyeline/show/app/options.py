"""Streamlit's options for the app: nothing is sent anywhere, nothing of the code is shown, and our own look."""

from __future__ import annotations

from typing import Any

from eyeline.look.palette import DARK_PAGE
from eyeline.measure.runs.figure import ACCENT, GROUND, HAIRLINE, INK, SANS
from eyeline.show.app.kit.settings import Limits

# ---- The look: white or near-black, one accent, system type in three sizes


MONO = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Noto Sans Mono CJK JP', monospace"

SANS_OF_ALL_SCRIPTS = (
    SANS.removesuffix(", sans-serif")
    + ", 'Noto Sans CJK JP', 'Hiragino Sans', 'Yu Gothic', 'Apple SD Gothic Neo', 'Malgun Gothic', sans-serif"
)

SHARED: dict[str, object] = {
    "font": SANS_OF_ALL_SCRIPTS,
    "headingFont": SANS_OF_ALL_SCRIPTS,
    "codeFont": MONO,
    "codeFontSize": "12px",
    "headingFontSizes": ["20px", "20px", "14px", "14px", "14px", "14px"],
    "headingFontWeights": [650, 600, 600, 600, 600, 600],
    "baseRadius": "6px",
    "showWidgetBorder": True,
    "linkUnderline": True,
}

LIGHT: dict[str, object] = {
    "primaryColor": ACCENT, "backgroundColor": GROUND, "secondaryBackgroundColor": "#f6f7f9", "textColor": INK, "borderColor": HAIRLINE,
    "linkColor": ACCENT, "codeBackgroundColor": "#f6f7f9", "codeTextColor": INK,
}  # fmt: skip

DARK: dict[str, object] = {
    "primaryColor": "#4f86ff", "backgroundColor": DARK_PAGE.ground, "secondaryBackgroundColor": DARK_PAGE.faint,
    "textColor": DARK_PAGE.text, "borderColor": DARK_PAGE.hairline, "linkColor": DARK_PAGE.accent, "codeBackgroundColor": DARK_PAGE.faint,
    "codeTextColor": DARK_PAGE.text,
}  # fmt: skip

THEME: dict[str, object] = {
    "baseFontSize": 14,
    **{f"light.{name}": value for name, value in {**SHARED, **LIGHT}.items()},
    **{f"dark.{name}": value for name, value in {**SHARED, **DARK}.items()},
}


# ---- The options


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
