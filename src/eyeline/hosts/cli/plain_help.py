"""Help that shows options as people type them."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

#: The name of an option's value, by the name of its type.
VALUES = {"path": "PATH", "int": "NUMBER", "float": "NUMBER", "str": "TEXT"}


class PlainCommand(TyperCommand):
    """A command whose help has no `<bool>` after a flag, NUMBER, TEXT or PATH after an option, and arguments as TEXT, not {TEXT}."""

    def get_params(self, ctx: Any) -> Any:
        return with_plain_values(super().get_params(ctx), ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return without_braces(super().collect_usage_pieces(ctx))


class PlainGroup(TyperGroup):
    """The same for the options before the command."""

    def get_params(self, ctx: Any) -> Any:
        return with_plain_values(super().get_params(ctx), ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return without_braces(super().collect_usage_pieces(ctx))


def without_braces(pieces: list[str]) -> list[str]:
    """A needed argument of the usage line as its name alone.

    >>> without_braces(["[OPTIONS]", "{TEXT}", "{CORPUS}...", "[FOLDER]"])
    ['[OPTIONS]', 'TEXT', 'CORPUS...', '[FOLDER]']
    """
    return [piece.replace("{", "").replace("}", "") for piece in pieces]


def with_plain_values(params: Any, ctx: Any) -> Any:
    for param in params:
        if not hasattr(param, "display_type"):  # older typers have none
            continue
        if param.param_type_name != "option":  # an argument is shown by its name alone
            param.metavar, param.display_type = param.metavar or str(param.name).upper(), _no_type
        elif param.metavar is None:
            param.metavar = "" if param.is_flag else _value_name(str(param.display_type(ctx) or ""))
    return params


def _no_type(ctx: Any) -> str:
    return ""


def _value_name(kind: str) -> str:
    """
    >>> [_value_name(kind) for kind in ("<str>", "<list[str]>", "<path>", "<int>", "<head|model>", "<int range>")]
    ['TEXT', 'TEXT', 'PATH', 'NUMBER', 'head|model', 'NUMBER']
    """
    name = kind.strip("<>").removeprefix("list[").removesuffix("]").removesuffix(" range")
    return VALUES.get(name, name)
