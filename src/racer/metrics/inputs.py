"""What comes in: NumPy arrays, tensors or lists, checked once and turned into NumPy arrays.

A mask says which cells count: True = answered, False = left out. What a left-out cell holds is never looked at.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from racer.errors import LabelError, NonFiniteError, PosteriorError, SettingError, ShapeError, UndefinedMetricError

__all__ = [
    "Values",
    "flag_array",
    "label_array",
    "mask_array",
    "number_array",
    "probability_tensor",
    "require_dimensions",
    "require_fraction",
    "require_items",
    "require_same_shape",
    "require_whole",
    "score_array",
    "to_tensor",
]

Values: TypeAlias = np.ndarray | Tensor | Sequence[Any]
"""Numbers as users hold them. Shapes are named in each docstring and checked here, so that the error is ours."""

ROUNDING = 1e-6
"""How far outside [0, 1] a float32 probability may land by rounding alone."""


def number_array(values: Values, name: str) -> np.ndarray:
    """A rectangular array of real numbers, from whatever holds them.

    >>> number_array(torch.tensor([1.0, 2.0], dtype=torch.bfloat16), "score")
    array([1., 2.], dtype=float32)
    """
    if isinstance(values, Tensor):
        # NumPy has no bfloat16; widening is exact
        values = (values.float() if values.dtype == torch.bfloat16 else values).detach().cpu().numpy()
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise ShapeError(
            f"'{name}' is not a rectangular array of real numbers.",
            f"It became a NumPy array of dtype {array.dtype} and shape {array.shape}.",
            "Give numbers, as many in each row.",
        )
    return array.astype(np.float32) if array.dtype == np.float16 else array


def to_tensor(array: np.ndarray) -> Tensor:
    """Out again: float64 for numbers, anything else as it is.

    >>> to_tensor(np.float32([0.5]))
    tensor([0.5000], dtype=torch.float64)
    """
    wide = array.astype(np.float64) if array.dtype.kind == "f" else array
    return torch.from_numpy(np.ascontiguousarray(wide))


def mask_array(mask: Values | None, shape: tuple[int, ...]) -> Bool[np.ndarray, "*shape"]:
    """Which cells count; all of them without a mask.

    >>> mask_array(None, (2,))
    array([ True,  True])
    """
    if mask is None:
        return np.ones(shape, dtype=bool)
    array = number_array(mask, "mask")
    require_same_shape({"mask": array.shape, "the values it masks": shape})
    return flag_array(array, "mask")


def score_array(
    values: Values, name: str = "score", mask: Bool[np.ndarray, "..."] | None = None
) -> Float[np.ndarray, "..."]:
    """Scores in float64. Only their order is used, so infinities are allowed; NaN has no place in an order.

    >>> score_array([1, float("-inf")])
    array([  1., -inf])
    """
    array = number_array(values, name).astype(np.float64)
    if mask is not None:
        require_same_shape({name: array.shape, "mask": mask.shape})
        array = np.where(mask, array, -np.inf)
    _refuse(np.isnan(array), array, name, NonFiniteError, "is NaN", "Give every counted cell a score, or mask it.")
    return array


def flag_array(values: Values, name: str, mask: Bool[np.ndarray, "..."] | None = None) -> Bool[np.ndarray, "..."]:
    """Zeros and ones as booleans; False where masked.

    >>> flag_array([0, 1.0, True], "expert_correct")
    array([False,  True,  True])
    """
    array = number_array(values, name)
    if mask is not None:
        require_same_shape({name: array.shape, "mask": mask.shape})
        array = np.where(mask, array, 0)
    fix = "Give 0/1 or booleans; say which cells have no answer with a mask."
    if array.dtype.kind == "f":
        _refuse(~np.isfinite(array), array, name, NonFiniteError, "is not finite", fix)
    if array.dtype != bool:
        _refuse((array != 0) & (array != 1), array, name, LabelError, "is neither 0 nor 1", fix)
    return array.astype(bool)


def label_array(values: Values, name: str, n_roles: int) -> Int[np.ndarray, "..."]:
    """Class numbers 0 … n_roles − 1.

    >>> label_array([2, 0], "label", n_roles=3)
    array([2, 0])
    """
    array = number_array(values, name)
    fix = f"Give whole numbers from 0 to {n_roles - 1}."
    if array.dtype.kind == "f":
        _refuse(~np.isfinite(array), array, name, NonFiniteError, "is not finite", fix)
    outside = (array < 0) | (array >= n_roles) | (array != np.floor(array))
    _refuse(outside, array, name, LabelError, f"is not one of {n_roles} classes", fix)
    return array.astype(np.int64)


def probability_tensor(values: Values, name: str) -> Float[Tensor, "..."]:
    """Probabilities in the precision they came in, rounding errors clipped.

    >>> probability_tensor(np.float32([0.25, 1.0000001]), "q")
    tensor([0.2500, 1.0000])
    """
    array = number_array(values, name)
    if array.dtype.kind != "f":
        array = array.astype(np.float64)
    fix = "Give probabilities; a raw score needs a sigmoid or a softmax first."
    _refuse(~np.isfinite(array), array, name, NonFiniteError, "is not finite", fix)
    outside = (array < -ROUNDING) | (array > 1 + ROUNDING)
    _refuse(outside, array, name, PosteriorError, "is outside [0, 1]", fix)
    return torch.from_numpy(np.clip(array, 0, 1))


def require_dimensions(name: str, shape: Sequence[int], axes: str) -> None:
    """Refuse an array with another number of axes than named.

    >>> require_dimensions("score", (3,), "item")
    """
    if len(shape) != len(axes.split()):
        raise ShapeError(
            f"'{name}' must have the axes ({', '.join(axes.split())}).",
            f"Got shape {tuple(shape)}.",
            "Pick or flatten the axes you mean; pooling several experts is score.reshape(-1).",
            got=tuple(shape),
        )


def require_same_shape(shapes: dict[str, tuple[int, ...]]) -> None:
    """Refuse arrays that do not line up.

    >>> require_same_shape({"score": (3,), "expert_correct": (3,)})
    """
    if len(set(shapes.values())) > 1:
        raise ShapeError(
            "These must have the same shape: " + ", ".join(shapes) + ".",
            "Got " + ", ".join(f"{name} {shape}" for name, shape in shapes.items()) + ".",
            "Give one value of each per case.",
            **{name.replace(" ", "_"): shape for name, shape in shapes.items()},
        )


def require_items(n_items: int, what: str) -> None:
    """Refuse to measure nothing.

    >>> require_items(1, "AURSAC")
    """
    if n_items == 0:
        raise UndefinedMetricError(
            f"{what} has no value without cases.",
            "0 cases are left to count.",
            "Give at least one case that is not masked.",
        )


def require_whole(name: str, value: int, least: int) -> None:
    """Refuse a count that is not whole or too small.

    >>> require_whole("bins", 15, least=1)
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise SettingError(
            f"'{name}' must be a whole number of at least {least}.",
            f"Got {value!r}.",
            f"Pass {name}={max(least, 15)}, say.",
        )


def require_fraction(name: str, value: float) -> None:
    """Refuse anything not strictly between 0 and 1.

    >>> require_fraction("level", 0.95)
    """
    if not 0 < value < 1:
        raise SettingError(f"'{name}' must lie strictly between 0 and 1.", f"Got {value!r}.", f"Pass {name}=0.95, say.")


def _refuse(
    bad: np.ndarray,
    array: np.ndarray,
    name: str,
    error: type[NonFiniteError | LabelError | PosteriorError],
    what: str,
    fix: str,
) -> None:
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise error(
            f"A value of '{name}' {what}.",
            f"{int(bad.sum())} of {bad.size}, the first at {first}: {array[first].item()}.",
            fix,
            first=first,
        )
