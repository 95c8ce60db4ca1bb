"""Which (role, query) pairs an estimator is asked about.

Usually all of them. With many roles, those that hold the last sliver of the posterior can be left out: q̂ = Σ_y p Γ
then errs by at most the mass left out, since Γ is in [0, 1].
"""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from racer.errors import SettingError
from racer.role_state import RoleState

__all__ = ["RolePairs"]


WORTH_SKIPPING = 0.7
"""Picking pairs out of a grid costs more than it saves when more than this share stays."""


@final
@dataclass(frozen=True, eq=False)
class RolePairs:
    """Pairs in role-major order. Estimators that compute whole grids hand them to `take`.

    >>> from racer.role_state import role_state
    >>> RolePairs.likely(role_state(torch.tensor([[0.7, 0.25, 0.05]])), negligible=0.1).role
    tensor([0, 1])
    """

    role: Int[Tensor, " pair"]
    item: Int[Tensor, " pair"]
    n_roles: int
    n_items: int
    skipped: Bool[Tensor, "item role"] | None = None
    """Roles whose Γ does not count, asked for or not; None for none."""

    @classmethod
    def grid(cls, n_roles: int, n_items: int) -> "RolePairs":
        """Every role of every query."""
        role = torch.arange(n_roles).repeat_interleave(n_items)
        return cls(role=role, item=torch.arange(n_items).repeat(n_roles), n_roles=n_roles, n_items=n_items)

    @classmethod
    def likely(cls, state: RoleState, negligible: float) -> "RolePairs":
        """All but the least likely roles, which together hold at most `negligible` of each posterior.

        Roles of equal posterior stay or go together, so renaming the classes changes nothing.
        """
        if not 0 <= negligible < 1:
            raise SettingError(
                "'negligible' is a share of the posterior.",
                f"Got {negligible}.",
                "Give a number from 0 (skip nothing) to below 1; 0.001 is usual with many roles.",
            )
        n_items, n_roles = state.posterior.shape
        if negligible == 0:
            return cls.grid(n_roles, n_items)
        p, rank = state.posterior, state.rank
        at_or_below = torch.from_numpy(np.sort(p.numpy(force=True), axis=-1).cumsum(-1)).gather(
            -1, n_roles - rank.long()
        )
        keep = at_or_below > negligible
        if keep.double().mean() > WORTH_SKIPPING:
            # all are asked for, and the unlikely ones not counted: no result depends on who else is in the batch
            return replace(cls.grid(n_roles, n_items), skipped=~keep)
        role, item = keep.T.nonzero(as_tuple=True)
        return cls(role=role, item=item, n_roles=n_roles, n_items=n_items, skipped=~keep)

    @property
    def is_grid(self) -> bool:
        """Whether nothing is left out."""
        return len(self.role) == self.n_roles * self.n_items

    def take(self, grid: Float[Tensor, "*lead role item"]) -> Float[Tensor, "*lead pair"]:
        """The asked-for entries of a whole grid."""
        flat = grid.flatten(-2)
        if self.is_grid:
            return flat
        # four times as fast as index_select along the last axis
        return flat.gather(-1, (self.role * self.n_items + self.item).expand(*flat.shape[:-1], -1))

    def expect(
        self,
        gamma: Float[Tensor, "expert pair"],
        posterior: Float[Tensor, "item role"],
        otherwise: Float[Tensor, " expert"],
    ) -> Float[Tensor, "expert item"]:
        """q̂ = Σ_y p(y|x) Γ(x, y), with `otherwise` in the place of Γ where it is skipped."""
        p = posterior if self.skipped is None else posterior.masked_fill(self.skipped, 0.0)
        if self.is_grid:
            q = (gamma.view(len(gamma), self.n_roles, self.n_items) * p.T).sum(1)
        else:
            q = gamma.new_zeros(len(gamma), self.n_items).index_add(1, self.item, gamma * p[self.item, self.role])
        return q if self.skipped is None else q + otherwise[:, None] * (posterior - p).sum(-1)
