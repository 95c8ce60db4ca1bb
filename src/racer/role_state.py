"""What the classifier says about each candidate role.

Source   the paper, "Role-relative information" and "Two competence estimators".
Symbols  p_ω(y|x) posterior · R_ω(y;x) rank · margin_ω(y;x) margin · H entropy

    R_ω(y;x)      = 1 + Σ_k 1[p_k > p_y]                (strict, so tied roles share the better rank)
    margin_ω(y;x) = p_y − max_{k≠y} p_k
    H             = −Σ_k p_k log p_k                    (0 log 0 = 0)
"""

from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["RoleState", "role_state"]


@final
@dataclass(frozen=True, eq=False)
class RoleState:
    """Every field but `entropy` is relative to the role, so renaming the classes only moves entries along that axis."""

    posterior: Float[Tensor, "item role"]
    rank: Float[Tensor, "item role"]
    margin: Float[Tensor, "item role"]
    entropy: Float[Tensor, " item"]


def role_state(posterior: Float[Tensor, "item role"]) -> RoleState:
    """Posterior, rank, margin and entropy of every role; all but the rank are differentiable.

    >>> role_state(torch.tensor([[0.5, 0.25, 0.25]])).rank
    tensor([[1., 2., 2.]])
    """
    p = posterior
    order = _ascending(p)
    second, first = p.gather(-1, order[:, -2:]).unbind(-1)
    margin = p - torch.where(p == first[:, None], second[:, None], first[:, None])
    # 0 log 0 = 0, in the gradient too
    entropy = -(p * p.clamp(min=torch.finfo(p.dtype).tiny).log()).sum(-1)
    return RoleState(posterior=p, rank=_rank(p, order), margin=margin, entropy=entropy)


def _ascending(p: Tensor) -> Int[Tensor, "item role"]:
    # NumPy sorts rows of a hundred four times as fast as torch on one thread
    return torch.from_numpy(np.argsort(p.numpy(force=True), axis=-1)).to(p.device)


def _rank(p: Tensor, order: Tensor) -> Float[Tensor, "item role"]:
    """K less the place of the last equal value in ascending order."""
    n = p.shape[-1]
    ascending = np.take_along_axis(p.numpy(force=True), order.numpy(force=True), -1)
    last = np.full(ascending.shape, n - 1)
    last[:, :-1] = np.where(ascending[:, 1:] != ascending[:, :-1], np.arange(n - 1), n - 1)
    last = np.minimum.accumulate(last[:, ::-1], axis=-1)[:, ::-1]
    rank = np.empty_like(ascending)
    np.put_along_axis(rank, order.numpy(force=True), (n - last).astype(rank.dtype), -1)
    return torch.from_numpy(rank).to(p.device)
