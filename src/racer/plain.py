"""Settings as JSON has them, and back as a method declares them."""

import dataclasses
import types
import typing
from typing import Any

import numpy as np

__all__ = ["is_same", "to_plain", "to_setting"]


def to_plain(value: Any) -> Any:
    """A setting as JSON has it."""
    if dataclasses.is_dataclass(value):
        return {one.name: to_plain(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [to_plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value


def to_setting(value: Any, hint: Any, name: str) -> Any:
    """A setting as the method declares it; JSON alone would take 2.5 for a number of neighbours."""
    options = typing.get_args(hint)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        for one in options:
            try:
                return to_setting(value, one, name)
            except TypeError:
                continue
    elif dataclasses.is_dataclass(hint) and isinstance(value, dict):
        hints, build = typing.get_type_hints(hint), typing.cast(Any, hint)
        unknown = value.keys() - {one.name for one in dataclasses.fields(hint)}
        if unknown:
            raise TypeError(f"it has no setting '{name}.{min(unknown)}'")
        return build(**{key: to_setting(one, hints[key], f"{name}.{key}") for key, one in value.items()})
    elif typing.get_origin(hint) is tuple and isinstance(value, list):
        each = options[:1] * len(value) if options[1:] == (...,) else options
        return tuple(to_setting(one, kind, name) for one, kind in zip(value, each, strict=True))
    elif typing.get_origin(hint) is typing.Literal:
        if value in options:
            return value
    elif hint is float:
        if type(value) in (int, float):
            return value
    elif hint is typing.Any or type(value) in (hint, typing.get_origin(hint)):
        return value
    raise TypeError(f"setting '{name}' is {value!r}")


def is_same(one: Any, other: Any) -> bool:
    """Equal, with NaN equal to itself and a tuple no list."""
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one)]
        return type(one) is type(other) and all(is_same(getattr(one, n), getattr(other, n)) for n in names)
    if isinstance(one, (list, tuple)) and type(one) is type(other):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(value, other[key]) for key, value in one.items())
    return bool(one == other or (one != one and other != other))
