"""Ranges: the numbers a simulation takes, refused when they lie outside."""

import operator
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from racer.errors import LabelError, SettingError, ShapeError, TooFewRolesError

__all__ = ["require_count", "require_probability", "require_roles", "to_index"]


def require_probability(value: float, name: str) -> None:
    """Refuse anything outside [0, 1], NaN included."""
    if not 0 <= value <= 1:
        raise SettingError(
            f"'{name}' must lie between 0 and 1.", f"Got {value!r}.", "Give a number in [0, 1].", name=name, value=value
        )


def require_count(value: int, name: str, least: int) -> None:
    """Refuse what is not a whole number of at least `least`."""
    try:
        is_enough = operator.index(value) >= least
    except TypeError:
        is_enough = False
    if not is_enough:
        raise SettingError(
            f"'{name}' must be a whole number of at least {least}.",
            f"Got {value!r}.",
            f"Give {least} or more.",
            name=name,
            value=value,
        )


def require_roles(n_roles: int) -> None:
    """Refuse fewer than two classes."""
    require_count(n_roles, "n_roles", least=0)
    if n_roles < 2:
        raise TooFewRolesError(
            "An expert needs at least two classes to choose from.",
            f"Got {n_roles}.",
            "For one yes/no finding give two classes: no and yes.",
            n_roles=n_roles,
        )


def to_index(values: Any, name: str, size: int | None = None) -> Int[Tensor, " item"]:
    """One whole number an item, from 0 and below `size` where that is known."""
    array = np.asarray(values.detach().cpu() if isinstance(values, Tensor) else values)
    # an empty list reads as floating
    if array.ndim != 1 or (array.dtype.kind not in "iub" and array.size > 0):
        raise ShapeError(
            f"'{name}' must hold one integer per item.",
            f"Got shape {array.shape} of {array.dtype}.",
            "Give a one-dimensional integer array.",
            name=name,
            shape=array.shape,
        )
    index = torch.from_numpy(array.astype(np.int64))
    is_outside = index < 0 if size is None else (index < 0) | (index >= size)
    if is_outside.any():
        rows = is_outside.nonzero()[:, 0].tolist()
        upper = "" if size is None else f" and below {size}"
        raise LabelError(
            f"'{name}' must be at least 0{upper}.",
            f"Row {rows[0]} is {int(index[rows[0]])}; {len(rows)} of {len(index)} rows.",
            "Number the values from 0, or raise the size they are checked against.",
            name=name,
            rows=rows,
        )
    return index
