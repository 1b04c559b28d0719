"""The common look, as Streamlit takes it: white or near-black, one accent, system type in three sizes."""

from __future__ import annotations

from eyeline.plots.style import ACCENT, GROUND, HAIRLINE, INK, SANS

MONO = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Noto Sans Mono CJK JP', monospace"
WORDS = (
    SANS.removesuffix(", sans-serif")
    + ", 'Noto Sans CJK JP', 'Hiragino Sans', 'Yu Gothic', 'Apple SD Gothic Neo', 'Malgun Gothic', sans-serif"
)
SHARED: dict[str, object] = {
    "font": WORDS,
    "headingFont": WORDS,
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
    "primaryColor": "#4f86ff", "backgroundColor": "#0f1115", "secondaryBackgroundColor": "#191d24", "textColor": "#e6e8ec",
    "borderColor": "#2a2f37", "linkColor": "#6b9bff", "codeBackgroundColor": "#191d24", "codeTextColor": "#e6e8ec",
}  # fmt: skip
THEME: dict[str, object] = {
    "baseFontSize": 14,
    **{f"light.{name}": value for name, value in {**SHARED, **LIGHT}.items()},
    **{f"dark.{name}": value for name, value in {**SHARED, **DARK}.items()},
}
