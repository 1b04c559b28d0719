"""Every error that eyeline raises on purpose. The command line prints the message alone and exits 2."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from eyeline.messages import Message

#: Marks that turn the direction of the text after them.
DIRECTIONS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def escape_controls(text: str) -> str:
    """The text with control characters and marks of writing direction as escapes: a name from a file cannot steer a terminal.

    >>> escape_controls("a\\x1b[31mb\\nc")
    'a\\\\x1b[31mb\\nc'
    """
    return "".join(char if char == "\n" or not _steers(char) else char.encode("unicode_escape").decode("ascii") for char in text)


def _steers(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or char in DIRECTIONS


@dataclass(frozen=True)
class Advice:
    """What to do, in the words of a Python call, in those of the command line, and in those of the app.

    app   empty: there is nothing to do in the app, and the line is left out
    """

    python: str
    command: str
    app: str = ""


class EyelineError(Exception):
    """What we saw, what we needed, what to do: one line each. A line that is a `Message` is shown in the language of its reader.

    message            all lines
    for_command_line   the text, with options of commands where it advises arguments of Python calls
    for_app            all lines, with what to do on the page

    >>> error = EyelineError("The text is too long.", Advice("Pass truncate=True.", "Add --truncate.", "Shorten the text."))
    >>> print(error, error.for_command_line, error.for_app, sep="\\n")
    The text is too long.
      Pass truncate=True.
    The text is too long.
      Add --truncate.
    The text is too long.
      Shorten the text.
    """

    def __init__(self, saw: str, *details: str | Advice) -> None:
        self.message = Message.lines(saw, *(line.python if isinstance(line, Advice) else line for line in details))
        super().__init__(escape_controls(self.message))
        self.for_command_line = escape_controls(
            Message.lines(saw, *(line.command if isinstance(line, Advice) else line for line in details))
        )
        for_app = [line.app if isinstance(line, Advice) else line for line in details]
        self.for_app = Message.lines(saw, *(line for line in for_app if line))


class TextError(EyelineError, ValueError):
    """A text, pair or word list that cannot be tokenised or is too long for the model."""


class ModelError(EyelineError, ValueError):
    """A model that cannot be found, opened or recorded."""


class TraceError(EyelineError, ValueError):
    """A question that this trace cannot answer, or arrays that do not belong together."""


class StorageError(EyelineError, OSError):
    """A file that cannot be written, or is not what it claims to be."""

    def __init__(self, saw: str, *details: str | Advice) -> None:
        EyelineError.__init__(self, saw, *details)

    def __str__(self) -> str:
        return str(self.args[0])


def install_hint(*extras: str) -> str:
    """How to install these optional parts. eyeline is not on PyPI yet, so the hint is for a clone.

    >>> install_hint("app", "plots")
    'From a clone of eyeline: pip install ".[app,plots]"'
    """
    return f'From a clone of eyeline: pip install ".[{",".join(extras)}]"'


def nearest(name: str, choices: Iterable[str]) -> str:
    """A sentence offering the closest of the choices, or all of them when none is close.

    >>> nearest("minilmm", ["minilm", "smollm2"])
    'Did you mean minilm?'
    >>> nearest("x", ["minilm", "smollm2"])
    'Choices: minilm, smollm2.'
    """
    choices = list(choices)
    close = difflib.get_close_matches(name, choices, n=1)
    return f"Did you mean {close[0]}?" if close else f"Choices: {', '.join(choices)}."
