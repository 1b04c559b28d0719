"""Error messages as the command line gives them: advice that names a Python call names the command's option instead."""

from __future__ import annotations

import re

#: What an error advises in Python → what the same is on the command line.
OPTIONS = (
    (re.compile(r"trace\.encoder, trace\.decoder(?:,| or| and) trace\.cross"), "--stack encoder, --stack decoder or --stack cross"),
    (re.compile(r"trace\.(encoder|decoder|cross)\b"), r"--stack \1"),
    (re.compile(r"stack=[\"'](\w+)[\"']"), r"--stack \1"),
    (re.compile(r"\b\w+=\w+ \((--\w[\w-]*)\)"), r"\1"),
    (re.compile(r"\btruncate=True\b"), "--truncate"),
    (re.compile(r"--(\w[\w-]*) \(\w+=\w+\)"), r"--\1"),
    (re.compile(r"\b(?:the second text: )?model\.trace\(source, target\)"), "--pair TEXT"),
    (re.compile(r", or wrap such a model: el\.wrap\(hf, tokenizer\)"), ""),
    (re.compile(r"\bwindow=True\b"), "--window"),
    (re.compile(r"\boverwrite=True\b"), "--overwrite"),
)


def for_the_command_line(message: str) -> str:
    """The message, with options of commands where it has arguments of Python calls.

    >>> for_the_command_line("This model has two kinds of attention. Take trace.encoder.")
    'This model has two kinds of attention. Take --stack encoder.'
    >>> for_the_command_line("Use a checkpoint saved as …ForCausalLM, or wrap such a model: el.wrap(hf, tokenizer).")
    'Use a checkpoint saved as …ForCausalLM.'
    >>> for_the_command_line("Go on with it: --resume (resume=True).")
    'Go on with it: --resume.'
    """
    for pattern, option in OPTIONS:
        message = pattern.sub(option, message)
    return message
