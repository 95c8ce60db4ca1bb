"""Labels and answers as class indices: read, checked, −1 for none."""

import torch
from jaxtyping import Int
from numpy.typing import ArrayLike
from torch import Tensor

from racer.errors import LabelError, ShapeError

__all__ = ["NO_ANSWER", "refuse_unlabelled", "to_classes"]

NO_ANSWER = -1
"""Stands where an expert did not answer; never counted as wrong."""


def to_classes(
    values: ArrayLike | Tensor, n_roles: int, name: str, shape: tuple[int | None, ...]
) -> Int[Tensor, "..."]:
    """Class indices as int64 on the CPU, −1 for none; None in `shape` is any length."""
    given = torch.as_tensor(values).cpu()
    if given.ndim != len(shape) or any(want not in (None, got) for want, got in zip(shape, given.shape, strict=True)):
        raise ShapeError(
            f"'{name}' does not line up with the cases.",
            f"Got shape {tuple(given.shape)}; expected {tuple('any' if n is None else n for n in shape)}.",
            "Give one class per case (and one row per expert in a panel).",
            name=name,
            expected=shape,
            got=tuple(given.shape),
        )
    if given.numel() and (given.is_floating_point() or given.is_complex()):
        raise LabelError(
            f"'{name}' must hold integers.",
            f"Got {given.dtype}, starting {given.flatten()[:3].tolist()}.",
            "Number the classes from 0 in the order of the posterior's columns; −1 stands for no answer.",
            name=name,
        )
    given = given.to(torch.int64)
    outside = (given < NO_ANSWER) | (given >= n_roles)
    if outside.any():
        first = outside.nonzero()[0].tolist()
        where = first if len(first) > 1 else first[0]
        raise LabelError(
            f"'{name}' is outside the {n_roles} classes of the posterior.",
            f"At {where} it is {int(given[outside][0])}; {int(outside.sum())} such entries.",
            f"Classes run from 0 to {n_roles - 1}; −1 stands for no answer.",
            name=name,
            at=first,
        )
    return given


def refuse_unlabelled(label: Tensor, answer: Tensor) -> None:
    bad = (answer != NO_ANSWER) & (label == NO_ANSWER)
    if bad.any():
        at = bad.nonzero()[0].tolist()[-1]
        raise LabelError(
            "An answer without a known truth cannot show competence.",
            f"Case {at} was answered but its label is −1; {int(bad.sum())} such answers.",
            "Set those answers to −1, or give the label.",
            at=at,
        )
