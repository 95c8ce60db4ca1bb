"""Labels and answers as class indices: read, checked, −1 for none."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import ArrayLike
from torch import Tensor

from racer.cases import to_tensor
from racer.errors import DuplicateAnswerError, LabelError, ShapeError, UnknownExpertError, UnknownItemError

__all__ = ["NO_ANSWER", "refuse_repeated", "refuse_unlabelled", "refuse_unordered", "to_classes", "to_positions"]

NO_ANSWER = -1
"""Stands where an expert did not answer; never counted as wrong."""


def to_classes(
    values: ArrayLike | Tensor, n_roles: int, name: str, shape: tuple[int | None, ...]
) -> Int[Tensor, "..."]:
    """Class indices as int64 on the CPU, −1 for none; None in `shape` is any length.

    A copy: what is derived from labels must not change when the caller's array does.
    """
    found = _to_integers(values, name, shape)
    # an unsigned number past 2⁶³ wraps to a negative one, and must not end up as "no answer"
    lowest = NO_ANSWER if found.dtype.is_signed else 0
    given = found.to(torch.int64, copy=True)
    outside = (given < lowest) | (given >= n_roles)
    if outside.any():
        first = outside.nonzero()[0].tolist()
        where = first if len(first) > 1 else first[0]
        raise LabelError(
            f"'{name}' is outside the {n_roles} classes of the posterior.",
            f"At {where} it is {found[tuple(first)].item()}; {int(outside.sum())} such entries.",
            f"Classes run from 0 to {n_roles - 1}; −1 stands for no answer.",
            name=name,
            at=first,
        )
    return given


def to_positions(values: ArrayLike | Tensor, n: int, name: str, n_answers: int) -> Int[Tensor, " answer"]:
    """Row of the expert, or of the case, of each answer. Unlike a class, a position is never −1."""
    given = _to_integers(values, name, (n_answers,)).to(torch.int64)
    outside = (given < 0) | (given >= n)
    if outside.any():
        at = int(outside.nonzero()[0])
        error = UnknownExpertError if name == "expert" else UnknownItemError
        raise error(
            f"'{name}' points outside the {n} given.",
            f"At {at} it is {int(given[at])}; {int(outside.sum())} such entries.",
            f"Positions run from 0 to {n - 1}, also where the answer is −1; leave out what has none.",
            at=at,
        )
    return given


def refuse_unlabelled(label: Tensor, answer: Tensor, item: Tensor | None = None) -> None:
    """Refuse answers without a truth. The last axis runs over cases, or over answers to the cases in `item`."""
    bad = (answer != NO_ANSWER) & (label == NO_ANSWER)
    if bad.any():
        at = int(bad.nonzero()[0, -1])
        case = at if item is None else int(item[at])
        raise LabelError(
            "An answer without a known truth cannot show competence.",
            f"Case {case} was answered but its label is −1; {int(bad.sum())} such answers.",
            "Set those answers to −1, or give the label.",
            at=case,
        )


def refuse_repeated(expert: Tensor, item: Tensor, n_items: int, experts: Sequence[str]) -> None:
    """Refuse two answers of one expert to one case: they would count twice."""
    key = (expert * n_items + item).sort().values
    again = (key[1:] == key[:-1]).nonzero()
    if len(again):
        who, case = divmod(int(key[again[0]]), n_items)
        raise DuplicateAnswerError(
            "An expert answered a case twice.",
            f"Expert {str(experts[who])!r} on case {case}; {len(again)} such answers.",
            "Keep one answer for each; a second reading that should count needs a row of its own among the cases.",
            expert=str(experts[who]),
            item=case,
        )


def refuse_unordered(names: Any, name: str) -> None:
    """Refuse names whose place means nothing: a set, one text. They are matched to rows and columns by place."""
    if isinstance(names, (str, bytes, set, frozenset, Mapping)):
        raise ShapeError(
            f"'{name}' must be a list.",
            f"Got a {type(names).__name__}, whose order says nothing.",
            "Give a list: experts by row of 'answer', items by case, classes by column of the posterior.",
            name=name,
        )


def _to_integers(values: ArrayLike | Tensor, name: str, shape: tuple[int | None, ...]) -> Tensor:
    if not isinstance(values, Tensor) and any(isinstance(one, str) for one in np.asarray(values, dtype=object).flat):
        raise ShapeError(
            f"'{name}' is not a rectangular array of numbers.",
            f"It holds text, starting {np.asarray(values, dtype=object).flat[0]!r}.",
            "Give numbers only, in the order of the posterior's columns; Panel.from_table takes names: classes=[…].",
            name=name,
        )
    given = to_tensor(values, name).detach().cpu()
    if given.ndim != len(shape) or any(want not in (None, got) for want, got in zip(shape, given.shape, strict=True)):
        raise ShapeError(
            f"'{name}' has the wrong shape.",
            f"Got {tuple(given.shape)}; expected {tuple('any' if n is None else n for n in shape)}.",
            "Give one entry per case, in a panel one row per expert; in long form one entry per answer.",
            name=name,
            expected=shape,
            got=tuple(given.shape),
        )
    if given.numel() and (given.is_floating_point() or given.is_complex()):
        raise LabelError(
            f"'{name}' must hold integers.",
            f"Got {given.dtype}, starting {given.flatten()[:3].tolist()}.",
            "Number from 0, with −1 for no answer; for a table with gaps, frame.fillna(-1).astype(int).",
            name=name,
        )
    return given
