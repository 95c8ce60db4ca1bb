"""Cost: what asking takes, in accuracy.

Source   the paper, "Multi-expert routing": q̂_j(x) − λ_j(x).
Symbols  λ cost
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, final

import torch
from torch import Tensor

from racer.cases import to_float
from racer.errors import SettingError, ShapeError
from racer.routing.plan import Plan
from racer.routing.policy import AbstractPolicy, Threshold, require_policy

__all__ = ["Cost"]


@final
@dataclass(frozen=True)
class Cost(AbstractPolicy):
    """A policy whose gains are less λ: a number for all, {expert: number or one a case}, or an (expert, item) array.

    A cost of 0.05 says: asking is worth it where the expert is likelier to be right by five in a hundred. Experts who
    are not named cost nothing. A price list may name experts who are off duty, but nobody the router does not know.

    >>> import torch
    >>> from racer.routing import Plan, solve
    >>> plan = Plan(("ada", "bo"), torch.tensor([[0.3, 0.3], [0.2, 0.2]]), confidence=torch.tensor([0.5, 0.5]))
    >>> solve(Cost({"ada": [0.0, 0.2]}).refine(plan))
    tensor([0, 1])
    """

    cost: Any
    policy: AbstractPolicy = field(default_factory=Threshold)

    def __post_init__(self) -> None:
        require_policy(self.policy, "Cost")

    @property
    def named(self) -> frozenset[str]:
        """Whom a price list names, and whom the wrapped policy does."""
        return self.policy.named | (frozenset(self.cost) if isinstance(self.cost, Mapping) else frozenset())

    def refine(self, plan: Plan) -> Plan:
        """Gains less λ."""
        return self.policy.refine(replace(plan, gain=plan.gain.double() - self._of(plan)))

    def _of(self, plan: Plan) -> Tensor:
        if not isinstance(self.cost, Mapping):
            return _checked(self.cost, "cost", plan)
        rows = torch.zeros_like(plan.gain, dtype=torch.float64)
        for row, expert in enumerate(plan.experts):
            if expert in self.cost:
                rows[row] = _checked(self.cost[expert], f"cost[{expert!r}]", plan)
        return rows


def _checked(values: Any, name: str, plan: Plan) -> Tensor:
    cost = to_float(values, name).to(plan.gain.device, torch.float64)
    try:
        torch.broadcast_to(cost, plan.gain.shape if name == "cost" else plan.gain.shape[1:])
    except RuntimeError as error:
        raise ShapeError(
            f"'{name}' fits neither the experts nor the cases.",
            f"Got shape {tuple(cost.shape)} for {len(plan.experts)} experts and {plan.n_items} cases.",
            "Give one number, {expert: one number or one a case}, or an array (expert, item).",
            name=name,
        ) from error
    if not (torch.isfinite(cost).all() and (cost >= 0).all()):
        raise SettingError(
            f"'{name}' must be finite and at least 0.",
            f"It runs from {float(cost.min()):.4g} to {float(cost.max()):.4g}.",
            "A cost is in units of accuracy: 0.05 is five in a hundred. To bar an expert use `available`.",
            name=name,
        )
    return cost
