"""The fields of a form from the record of an analysis' options: one widget for each, its words by the keys that the record names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import streamlit as st

from eyeline.measure.runs.options import Argument, Options, arguments_of
from eyeline.words import Words, key_of

Record = TypeVar("Record", bound=Options)


def ask(
    say: Words,
    options: Record,
    key: str,
    *,
    only: tuple[str, ...] = (),
    without: tuple[str, ...] = (),
    limits: Mapping[str, tuple[int, int]] | None = None,
    narrowed: Mapping[str, Callable[[Any], tuple[Any, ...]]] | None = None,
    explained: tuple[str, ...] = (),
) -> Record:
    """The options as the visitor chose them. Where nothing can be chosen, nothing is shown.

    options   what the form is set to when it is opened
    key       how the keys of the widgets begin
    only      the options that are asked for; unless given, all with words for the app
    without   options that are asked for elsewhere
    limits    option → the smallest and the largest number that are offered here
    narrowed  option → a function of the options before it: the choices that are offered here
    explained the options whose explanation stands below them; that of others opens beside their label
    """
    chosen = options
    for name, argument in arguments_of(type(options)).items():
        if argument.option.message and name in (only or (name,)) and name not in without:
            choices = (narrowed or {}).get(name, argument.choices)(chosen)
            offered = (limits or {}).get(name, (argument.option.least, argument.option.most))
            widget = f"{key}-{name.replace('_', '-')}"
            value = _ask(say, argument, getattr(options, name), widget, choices, offered, below=name in explained)
            chosen = replace(chosen, **{name: value})  # type: ignore[type-var]
    return chosen


def _ask(
    say: Words,
    argument: Argument,
    value: Any,
    key: str,
    choices: tuple[Any, ...],
    limits: tuple[int | None, int | None],
    *,
    below: bool,
) -> Any:
    if argument.option.choices and choices in ((), (value,)):
        return value
    about = say.messages.get(f"{argument.option.message}_help")
    chosen = _widget(say, argument, value, key, choices, limits, None if below else about)
    if below and about:
        st.caption(about)
    return chosen


def _widget(
    say: Words, argument: Argument, value: Any, key: str, choices: tuple[Any, ...], limits: tuple[int | None, int | None], about: str | None
) -> Any:
    words = argument.option.message
    label = say(words)
    if argument.option.choices:
        if st.session_state.get(key) not in (None, *choices):
            del st.session_state[key]  # chosen before with other options
        if isinstance(choices[0], int):
            return st.segmented_control(label, choices, default=value, key=key, required=True, help=about)
        first = choices.index(value) if value in choices else 0
        return st.selectbox(label, choices, first, lambda choice: say(f"{words}_{key_of(choice)}"), key=key, help=about)
    if argument.type is bool:
        return st.checkbox(label, value, key=key, help=about)
    return int(st.number_input(label, *limits, value, key=key, help=about))
