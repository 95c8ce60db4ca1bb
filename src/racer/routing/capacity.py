"""Capacity: at most so many cases for each expert.

Symbols  x_{j,i} ∈ {0, 1} case i goes to expert j · n_j limit · G_{j,i} gain · τ floor · Q number to hand over

    max Σ_{j,i} x_{j,i} (G_{j,i} − τ)   subject to   Σ_j x_{j,i} ≤ 1,   Σ_i x_{j,i} ≤ n_j,   and with a budget Σ x = Q

The optimum is found exactly, by `racer.routing.assignment`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
import torch

from racer.errors import SettingError
from racer.routing.plan import Plan
from racer.routing.policy import AbstractPolicy, Threshold, require_policy

__all__ = ["Capacity"]


@final
@dataclass(frozen=True)
class Capacity(AbstractPolicy):
    """A policy under limits: {expert: most cases}, or one number for everybody. No other assignment gains more.

    >>> import torch
    >>> from racer.routing import Plan, solve
    >>> plan = Plan(("ada", "bo"), torch.tensor([[0.5, 0.4], [0.4, 0.1]]), confidence=torch.tensor([0.5, 0.5]))
    >>> solve(Capacity({"ada": 1}).refine(plan))                    # ada is best at both, and goes where bo is no help
    tensor([1, 0])
    """

    limit: Mapping[str, int] | int
    policy: AbstractPolicy = field(default_factory=Threshold)

    def __post_init__(self) -> None:
        require_policy(self.policy, "Capacity")
        if not isinstance(self.limit, Mapping | int | np.integer):
            raise SettingError(
                "A capacity is a number, or numbers by expert.",
                f"Got a {type(self.limit).__name__}.",
                "Give Capacity(40) or Capacity({'ada': 40}, Budget(0.2)): the policy comes last.",
            )
        limits = self.limit if isinstance(self.limit, Mapping) else {"everybody": self.limit}
        for expert, n in limits.items():
            if isinstance(n, bool) or int(n) != n or n < 0:
                raise SettingError(
                    "A capacity counts cases.", f"Got {n!r} for {expert!r}.", "Give an integer of at least 0."
                )

    @property
    def named(self) -> frozenset[str]:
        """Who is limited, and whom the wrapped policy names."""
        return self.policy.named | (frozenset(self.limit) if isinstance(self.limit, Mapping) else frozenset())

    def refine(self, plan: Plan) -> Plan:
        """The wrapped policy's plan, with limits."""
        limits = self.limit if isinstance(self.limit, Mapping) else dict.fromkeys(plan.experts, self.limit)
        most = [min(int(limits.get(expert, plan.n_items)), plan.n_items) for expert in plan.experts]
        n = torch.tensor(most, dtype=torch.int64)
        return self.policy.refine(replace(plan, limit=n if plan.limit is None else torch.minimum(n, plan.limit)))
