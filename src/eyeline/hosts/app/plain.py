"""Text from visitors: shown as it is, never interpreted as markup."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import streamlit as st

from eyeline.errors import EyelineError
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.settings import current
from eyeline.text.printable import printable

#: /a/b/name or C:\\a\\b\\name, but no part of an address (https://a/b) or of words (and/or).
ABSOLUTE_PATH = re.compile(r"(?<![\w:/.~…-])(?:[A-Za-z]:[/\\]|/)(?:[^/\\\s'\"<>|]+[/\\])+([^/\\\s'\"<>|]*)")


def escaped(text: str) -> str:
    """Text that Markdown, and Streamlit's own signs (colours, icons, formulas), leave as it is.

    >>> escaped("*a* <b> :red[x] $y$")
    '\\\\*a\\\\* \\\\<b\\\\> \\\\:red\\\\[x\\\\] \\\\$y\\\\$'
    """
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", printable(text))


def refuse(say: Say, key: str, error: EyelineError | str = "", /, **values: object) -> None:
    """Show the error message of that key; below it the exact reason, with what to do about it in the app."""
    st.error(say(key, **values), icon=":material/error:")
    if error:
        reason = say.translated(error.for_app if isinstance(error, EyelineError) else error)
        st.code("\n".join(printable(line) for line in without_paths(reason).splitlines()), language=None, wrap_lines=True)


def without_paths(text: str) -> str:
    """The text without the folders of this machine: visitors read the names of files, not where they are.

    A path in the workspace begins with the workspace's name, any other absolute path keeps its last part alone.
    """
    workspace = current().workspace
    for folder in {str(workspace.resolve()), str(workspace.absolute())}:
        if len(folder) > 1:
            text = re.sub(re.escape(folder) + r"(?![\w-]|\.\w)", lambda _: workspace.name, text)
    for folder in (tempfile.gettempdir(), str(Path.home())):
        if len(folder) > 1:
            text = re.sub(re.escape(folder) + r"[/\\](?:[^/\\\s'\"]+[/\\])*", "…/", text)
    return ABSOLUTE_PATH.sub(r"…/\1", text)
