"""Frozen dataclasses to JSON and back. The type of every field is checked when a record is read."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any

from eyeline.messages import Message

#: In the metadata of a field: its name in the file, where that is not the name of the field.
NAME = "name in the file"


def to_json(record: Any) -> Any:
    """A record as plain dicts, lists, strings and numbers; fields that are None by default and None here are left out.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Point:
    ...     x: int
    ...     names: tuple[str, ...] = ()
    >>> to_json(Point(1, ("a",)))
    {'x': 1, 'names': ['a']}
    """
    if dataclasses.is_dataclass(record):
        values = {field: getattr(record, field.name) for field in dataclasses.fields(record)}
        return {_name(field): to_json(value) for field, value in values.items() if not (value is None and field.default is None)}
    if isinstance(record, Mapping):
        return {str(key): to_json(value) for key, value in record.items()}
    if isinstance(record, tuple | list):
        return [to_json(value) for value in record]
    return record.to_json() if isinstance(record, Message) else record


def from_json(kind: Any, data: Any, where: str = "record") -> Any:
    """The value of this type that the data describes. Wrong types and missing fields are a ValueError; unknown fields are ignored.

    kind: a dataclass, Message, str, int, float, bool, Any or object (as it is), tuple[T, ...], tuple[A, B], Mapping[str, T], or T | None.
    """
    if kind in (Any, object):
        return data
    if dataclasses.is_dataclass(kind):
        return _record(kind, data, where)
    if kind is Message:
        return Message.from_json(data)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _one_of(arguments, data, where)
    if origin is tuple:
        if not isinstance(data, list | tuple):
            raise ValueError(f"{where} is {type(data).__name__}, not a list")
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(from_json(arguments[0], value, f"{where}[{i}]") for i, value in enumerate(data))
        if len(data) != len(arguments):
            raise ValueError(f"{where} has {len(data)} items, not {len(arguments)}")
        return tuple(from_json(argument, value, f"{where}[{i}]") for i, (argument, value) in enumerate(zip(arguments, data, strict=True)))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(data, Mapping):
            raise ValueError(f"{where} is {type(data).__name__}, not a mapping")
        return {str(key): from_json(arguments[1], value, f"{where}.{key}") for key, value in data.items()}
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if kind is types.NoneType and data is None:
        return None
    if not isinstance(kind, type) or not isinstance(data, kind) or (isinstance(data, bool) and kind is not bool):
        raise ValueError(f"{where} is {type(data).__name__}, not {getattr(kind, '__name__', kind)}")
    return data


def _name(field: dataclasses.Field[Any]) -> str:
    return str(field.metadata.get(NAME, field.name))


def _record(kind: Any, data: Any, where: str) -> Any:
    if not isinstance(data, Mapping):
        raise ValueError(f"{where} is {type(data).__name__}, not a mapping")
    hints = typing.get_type_hints(kind)
    values = {}
    for field in dataclasses.fields(kind):
        name = _name(field)
        if name in data:
            values[field.name] = from_json(hints[field.name], data[name], f"{where}.{name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise ValueError(f"{where} has no {name}")
    return kind(**values)


def _one_of(kinds: tuple[Any, ...], data: Any, where: str) -> Any:
    """The first of the types that the data fits."""
    problem = None
    for kind in kinds:
        try:
            return from_json(kind, data, where)
        except ValueError as error:
            problem = problem if kind is types.NoneType and problem is not None else error
    raise ValueError(str(problem))
