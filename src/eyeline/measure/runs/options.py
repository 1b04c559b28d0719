"""The options of an analysis, declared once in a frozen record: its Python signature, its command, its form in the app, the recipe that
the app shows and the facts of its runs are made from the fields of that record."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from types import NoneType
from typing import Any, ClassVar, TypeVar, get_args, get_type_hints

from eyeline.errors import Advice, EyelineError, TraceError, nearest

#: In the metadata of a field: its `Option`. A field without one is a fact that the run finds out.
OPTION = "option"


@dataclass(frozen=True)
class Option:
    """What is said of an option, and which values it takes.

    help          in the help of the command
    about         in the docstring of the Python function, where that says more than `help`
    choices       the values it takes; a function of the options: those that go with the options before it, for the form
    least, most   the smallest and the largest number
    unless_given  of an option whose default is None: the value that it gets then, from the options before it
    default_help  what the help of the command shows as its default
    refused       what the error says of a value that is none of the choices
    message       the key of its messages in the app: its label; with _help: more about it; with _CHOICE: the label of a choice
    python        its type in the Python function, where that is not the type of the field; of a field of type object, which takes
                  a file's path or what was read from it
    """

    help: str
    about: str = ""
    choices: tuple[Any, ...] | Callable[[Any], tuple[Any, ...]] = ()
    least: int | None = None
    most: int | None = None
    unless_given: Callable[[Any], Any] | None = None
    default_help: str = ""
    refused: str = ""
    message: str = ""
    python: str = ""


def option(default: Any, help: str, **more: Any) -> Any:
    """A field of a record of options."""
    return field(default=default, metadata={OPTION: Option(help, **more)})


class Options:
    """What a record of options inherits.

    run_kind   the kind of the runs whose facts hold these options
    error      what is raised where an option does not take a value
    """

    run_kind: ClassVar[str] = ""
    error: ClassVar[type[EyelineError]] = TraceError

    @property
    def text_noun(self) -> str:
        """What a text of the run is called where texts are counted."""
        return "texts"

    def check(self) -> None:
        """Refuse options that do not go together."""


Record = TypeVar("Record", bound=Options)


@dataclass(frozen=True)
class Argument:
    """An option of a record: its name, the type and default of its field, and what is said of it."""

    name: str
    type: Any
    default: Any
    option: Option

    @property
    def is_list(self) -> bool:
        """Whether it takes numbers, such as those of layers: 0,5 on the command line."""
        return any(getattr(kind, "__origin__", None) is tuple for kind in (self.type, *get_args(self.type)))

    @property
    def may_be_none(self) -> bool:
        return self.default is None or NoneType in get_args(self.type)

    @property
    def command_name(self) -> str:
        """Its name on the command line."""
        return f"--{self.name.replace('_', '-')}"

    def choices(self, options: Any) -> tuple[Any, ...]:
        """The values that go with the options before it; () where it is not a choice."""
        choices = self.option.choices
        return choices(options) if callable(choices) else choices


def arguments_of(record: type[Any]) -> dict[str, Argument]:
    """The options of a record by name, in order; without the facts that a run finds out."""
    hints = get_type_hints(record)
    return {
        field.name: Argument(field.name, hints[field.name], None if field.default is MISSING else field.default, field.metadata[OPTION])
        for field in fields(record)
        if OPTION in field.metadata
    }


def chosen(record: type[Record], given: Mapping[str, Any]) -> Record:
    """The options among these arguments of a call, defaults filled in; values of a wrong type, and values that do not go together, are
    refused."""
    arguments = arguments_of(record)
    options = record(**{name: _typed(argument, given[name]) for name, argument in arguments.items()})
    for name, argument in arguments.items():
        value, option = getattr(options, name), argument.option
        if value is None and option.unless_given is not None:
            options = replace(options, **{name: option.unless_given(options)})  # type: ignore[type-var]
            continue
        choices = () if callable(option.choices) else option.choices
        if value is not None and choices and value not in choices:
            saw = option.refused.format(value=value) if option.refused else f"{name}={value!r}."
            raise record.error(saw, nearest(str(value), map(str, choices)))
        if value is not None and (_below(value, option.least) or _above(value, option.most)):
            limits = f"{option.least} or more" if option.most is None else f"a number from {option.least} to {option.most:,}"
            how = Advice(f"Give {name}={limits}.", f"Give {argument.command_name} {limits}.") if option.most is None else f"Give {limits}."
            raise record.error(option.refused.format(value=value) if option.refused else f"{name}={value!r}.", how)
    options.check()
    return options


def _below(value: Any, least: int | None) -> bool:
    return least is not None and value < least


def _above(value: Any, most: int | None) -> bool:
    return most is not None and value > most


def _typed(argument: Argument, value: Any) -> Any:
    """The value as the field holds it: numbers of any library as int, lists of numbers as a tuple."""
    if value is None:
        if argument.may_be_none:
            return None
        raise _wrong(argument, value)
    if argument.type is object:
        return value
    kinds = [kind for kind in (get_args(argument.type) or (argument.type,)) if isinstance(kind, type)]
    try:
        if argument.is_list and not isinstance(value, str):
            return tuple(operator.index(number) for number in value)
        if isinstance(value, bool | str) and type(value) in kinds:
            return value
        if int in kinds and not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise _wrong(argument, value)


def _wrong(argument: Argument, value: Any) -> TraceError:
    needed = (
        f"Give a list of {argument.name.removesuffix('s')} numbers, such as {argument.name}=[0, 5]."
        if argument.is_list
        else f"Needed: {python_type(argument)}."
    )
    return TraceError(f"{argument.name}={value!r:.80}.", needed)


def given_options(options: Options) -> dict[str, Any]:
    """The options of a record as the keywords of its Python function."""
    return {name: getattr(options, name) for name in arguments_of(type(options))}


def changed_options(options: Options, leave_out: Iterable[str] = ()) -> dict[str, Any]:
    """The options of a record that are not the defaults."""
    defaults = {name: argument.default for name, argument in arguments_of(type(options)).items()}
    return {name: value for name, value in given_options(options).items() if value != defaults[name] and name not in leave_out}


# ---- The Python signature


def python_type(argument: Argument) -> str:
    """The type of an option in the Python function."""
    if argument.option.python:
        return argument.option.python
    name = (
        "Iterable[int]"
        if argument.is_list
        else next(kind for kind in (bool, int, str) if kind in (argument.type, *get_args(argument.type)))
    )
    name = name if isinstance(name, str) else name.__name__
    return f"{name} | None" if argument.may_be_none else name


def signature_lines(record: type[Any]) -> list[str]:
    """The options of a record as keyword arguments of its Python function."""
    return [f"{name}: {python_type(argument)} = {_literal(argument.default)}," for name, argument in arguments_of(record).items()]


def descriptions(record: type[Any]) -> dict[str, str]:
    """Option → what the docstring of the Python function says of it."""
    return {name: argument.option.about or argument.option.help for name, argument in arguments_of(record).items()}


def _literal(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


# ---- Recipes: the same call in Python and as a command


def as_python(options: Options, leave_out: Iterable[str] = ()) -> str:
    """The options that are not the defaults, as keywords of the Python function."""
    return ", ".join(f"{name}={value!r}" for name, value in changed_options(options, leave_out).items())


def as_command(options: Options, leave_out: Iterable[str] = ()) -> list[str]:
    """The same as options of the command."""
    words: list[str] = []
    arguments = arguments_of(type(options))
    for name, value in changed_options(options, leave_out).items():
        flag = arguments[name].command_name
        if isinstance(value, bool):
            words.append(flag if value else flag.replace("--", "--no-", 1))
        else:
            words += [flag, ",".join(map(str, value)) if isinstance(value, tuple) else str(value)]
    return words


# ---- Options that several analyses have


def limit_option(what: str = "documents", about: str = "", **more: Any) -> Any:
    """How many documents, sentences … are used at most."""
    return option(None, f"Use at most this many {what}, chosen at random.", about=about, **more)


def layers_option(does: str = "", about: str = "") -> Any:
    """Which layers. does: what the analysis does with them, for the help of its command."""
    return option(None, f"Layers{does}, from 0, such as 0,5. Default: all.", about=about or "only these layers, counted from 0")


def seed_option(help: str = "For everything that is drawn at random.", **more: Any) -> Any:
    """The seed of everything that is drawn at random."""
    return option(0, help, **more)
