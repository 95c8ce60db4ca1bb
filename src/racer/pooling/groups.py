"""Sums over groups of answers: the one sparse product.

Each group is a run of answers, each answer names a row of the bank; the sum adds those rows. This is the product of a
sparse (group × bank) matrix of ones with a dense (bank × column) one.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import embedding_bag

__all__ = ["max_groups", "sum_groups"]


def sum_groups(
    rows: Float[Tensor, "bank column"], item: Int[Tensor, " answer"], offset: Int[Tensor, " edge"]
) -> Float[Tensor, "group column"]:
    """Σ of the rows each group names; an empty group gives 0.

    >>> import torch
    >>> sum_groups(torch.tensor([[1.0], [10.0]]), item=torch.tensor([0, 1, 1]), offset=torch.tensor([0, 2, 2, 3]))
    tensor([[11.],
            [ 0.],
            [10.]])
    """
    if not rows.requires_grad:
        return _add_rows(rows, item, offset)
    summed: Tensor = _SumGroups.apply(rows, item, offset)  # type: ignore[no-untyped-call]
    return summed


def max_groups(
    rows: Float[Tensor, "bank column"], item: Int[Tensor, " answer"], offset: Int[Tensor, " edge"]
) -> Float[Tensor, "group column"]:
    """Largest of the rows each group names, column by column; an empty group gives 0."""
    if len(item) == 0:
        return rows.new_zeros(len(offset) - 1, rows.shape[1])
    return embedding_bag(item, rows, offset, mode="max", include_last_offset=True)


def _add_rows(rows: Tensor, item: Tensor, offset: Tensor) -> Tensor:
    if len(item) == 0:
        return rows.new_zeros(len(offset) - 1, rows.shape[1])
    return embedding_bag(item, rows, offset, mode="sum", include_last_offset=True)


class _SumGroups(torch.autograd.Function):
    """The sum with its transpose as gradient: each row collects the gradients of the groups that name it."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, item: Tensor, offset: Tensor) -> Tensor:
        ctx.save_for_backward(item, offset)
        ctx.n_rows = len(rows)
        return _add_rows(rows, item, offset)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        item, offset = ctx.saved_tensors
        group = torch.arange(len(offset) - 1).repeat_interleave(offset.diff())
        by_row = item.argsort(stable=True)
        edge = torch.searchsorted(item[by_row], torch.arange(ctx.n_rows + 1))
        return _add_rows(gradient.contiguous(), group[by_row], edge), None, None
