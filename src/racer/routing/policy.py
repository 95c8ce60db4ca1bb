"""How much to hand over: the interface, and the two plain policies."""

import abc
import math
from dataclasses import dataclass, replace
from typing import final

from numpy.typing import ArrayLike
from torch import Tensor

from racer.cases import to_float
from racer.errors import SettingError, ShapeError
from racer.routing.plan import Plan

__all__ = ["AbstractPolicy", "Budget", "Threshold", "require_policy"]


class AbstractPolicy(abc.ABC):
    """Refines a plan. Policies that change another one wrap it: `Capacity({"ada": 40}, Budget(0.2))`."""

    @property
    def named(self) -> frozenset[str]:
        """Experts the policy mentions; a router refuses those it does not know."""
        return frozenset()

    @abc.abstractmethod
    def refine(self, plan: Plan) -> Plan:
        """The same plan with this policy's gains, floor or limits."""


@final
@dataclass(frozen=True)
class Threshold(AbstractPolicy):
    """Hand over where the gain is at least `at`; each case is decided by itself. Zero is the Bayes rule.

    >>> import torch
    >>> from racer.routing import Plan, solve
    >>> plan = Plan(("ada",), gain=torch.tensor([[0.2, -0.1]]), confidence=torch.tensor([0.5, 0.9]))
    >>> solve(Threshold(0.0).refine(plan))
    tensor([ 0, -1])
    """

    at: float = 0.0

    def __post_init__(self) -> None:
        if math.isnan(self.at):
            raise SettingError("'at' must be a number.", "Got nan.", "0 hands over where the expert is likelier right.")

    def refine(self, plan: Plan) -> Plan:
        """A floor under the gain."""
        return replace(plan, floor=max(plan.floor, self.at))


@final
@dataclass(frozen=True)
class Budget(AbstractPolicy):
    """Hand over exactly this share of a batch, rounded down: the cases with the largest gains, whatever their sign.

    Among equal gains the model's least sure case goes first, then the one that came first. For cases that come one
    by one, `Budget(0.2).threshold(score)` gives the threshold that hands over this share of validation cases.

    >>> import torch
    >>> from racer.routing import Plan, solve
    >>> plan = Plan(("ada",), gain=torch.tensor([[-0.2, -0.1]]), confidence=torch.tensor([0.5, 0.9]))
    >>> solve(Budget(0.5).refine(plan))
    tensor([-1,  0])
    """

    share: float

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise SettingError(
                "'share' is a share of the cases.", f"Got {self.share}.", "Give a number from 0 to 1, such as 0.2."
            )

    def n_of(self, n_items: int) -> int:
        """How many of `n_items` cases this share is, at most."""
        return math.floor(self.share * n_items + 1e-9)

    def refine(self, plan: Plan) -> Plan:
        """So many cases, no more."""
        n = self.n_of(plan.n_items)
        return replace(plan, n_handed=n if plan.n_handed is None else min(n, plan.n_handed))

    def threshold(self, score: ArrayLike | Tensor) -> Threshold:
        """The threshold that hands over at most this share of validation cases, by the best expert's score.

        `score` is (item,), or (expert, item).

        >>> import torch
        >>> Budget(0.5).threshold(torch.tensor([0.5, -0.25, 0.25, -0.5]))
        Threshold(at=0.25)
        """
        given = to_float(score, "score").double()
        if given.ndim not in (1, 2) or not given.numel() or given.isnan().any():
            raise ShapeError(
                "'score' must be (item,) or (expert, item), without NaN.",
                f"Got shape {tuple(given.shape)} with {int(given.isnan().sum())} NaN.",
                "Give method.deferral_score(validation, panel).",
            )
        best = given if given.ndim == 1 else given.amax(0)
        n = self.n_of(len(best))
        ordered = best.sort(descending=True).values
        if n == 0:
            return Threshold(math.inf)
        # where the n-th and the next are equal, the whole tie would go over: stop above it
        if n < len(ordered) and ordered[n] == ordered[n - 1]:
            above = ordered[ordered > ordered[n - 1]]
            return Threshold(float(above[-1]) if len(above) else math.inf)
        return Threshold(float(ordered[n - 1]))


def require_policy(value: object, wrapper: str) -> None:
    """Refuse to wrap what is no policy."""
    if not isinstance(value, AbstractPolicy):
        raise SettingError(
            f"{wrapper} wraps a policy.",
            f"Got a {type(value).__name__} in its place.",
            f"The policy comes last: {wrapper}({{'ada': 1}}, Budget(0.2)).",
        )
