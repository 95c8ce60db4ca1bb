"""Carry out a plan: who answers each case.

Without limits each case is decided by itself: the expert with the largest gain, the first enrolled among equals. With
limits that bind, the assignment of `racer.routing.capacity` by SciPy's HiGHS.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, vstack
from torch import Tensor

from racer.routing.plan import MODEL, NEVER, Plan

__all__ = ["best_expert", "solve"]

WORTH_A_TIE = 1e-12
"""A gain of just τ is handed over, with limits as without: it counts as this much."""


def solve(plan: Plan) -> Int[Tensor, " item"]:
    """Row of the expert who answers each case, −1 for the model."""
    if not plan.experts or not plan.n_items:
        return torch.full((plan.n_items,), MODEL)
    gain = torch.where(plan.gain >= plan.floor, plan.gain, NEVER).double()
    free = _one_by_one(gain, plan)
    if plan.limit is None or (_taken(free, plan) <= plan.limit).all():
        return free
    return _assigned(gain, plan, plan.limit)


def best_expert(gain: Float[Tensor, "expert item"]) -> Int[Tensor, " item"]:
    """j*: the expert of the largest gain, the first enrolled among equals; −1 where nobody may be asked.

    >>> best_expert(torch.tensor([[0.1, NEVER], [0.1, NEVER]]))
    tensor([ 0, -1])
    """
    if len(gain) == 0:
        return torch.full((gain.shape[1],), MODEL)
    best = gain.amax(0)
    # max(0) does not promise the first of equals
    return torch.where(best == NEVER, MODEL, (gain == best).int().argmax(0))


def _one_by_one(gain: Float[Tensor, "expert item"], plan: Plan) -> Int[Tensor, " item"]:
    who, best = best_expert(gain), gain.amax(0)
    if plan.n_handed is None:
        return who
    order = np.lexsort((np.arange(plan.n_items), plan.confidence.numpy(force=True), -best.numpy(force=True)))
    who[torch.from_numpy(order[plan.n_handed :].copy())] = MODEL
    return who


def _taken(who: Int[Tensor, " item"], plan: Plan) -> Int[Tensor, " expert"]:
    return torch.bincount(who[who != MODEL], minlength=len(plan.experts))


def _assigned(gain: Float[Tensor, "expert item"], plan: Plan, limit: Int[Tensor, " expert"]) -> Int[Tensor, " item"]:
    asked = gain != NEVER
    pairs = _Pairs.of(asked, limit)
    worth = gain.numpy()[pairs.expert, pairs.item]
    if plan.n_handed is None:
        taken = pairs.best(worth - plan.floor + WORTH_A_TIE)
    else:
        places = int(torch.minimum(limit, asked.sum(1)).sum())
        taken = pairs.best(worth, n_handed=min(plan.n_handed, places, int(asked.any(0).sum())))
        if taken is None:  # places and cases enough, but not for each other
            most = pairs.best(np.ones_like(worth))
            assert most is not None
            taken = pairs.best(worth, n_handed=int(most.sum()))
    if taken is None:
        raise RuntimeError(f"The solver found no assignment for {plan.n_items} cases and {len(plan.experts)} experts.")
    who = torch.full((plan.n_items,), MODEL)
    who[torch.from_numpy(pairs.item[taken])] = torch.from_numpy(pairs.expert[taken])
    return who


@final
@dataclass(frozen=True, eq=False)
class _Pairs:
    """Who may be asked what, as a flow from cases to experts, and what is left over to the model."""

    expert: Int[np.ndarray, " pair"]
    item: Int[np.ndarray, " pair"]
    n_items: int
    limit: Int[np.ndarray, " expert"]

    @classmethod
    def of(cls, asked: Bool[Tensor, "expert item"], limit: Int[Tensor, " expert"]) -> "_Pairs":
        expert, item = (one.numpy() for one in asked.nonzero(as_tuple=True))
        return cls(expert=expert, item=item, n_items=asked.shape[1], limit=limit.numpy())

    def best(self, worth: Float[np.ndarray, " pair"], n_handed: int | None = None) -> Bool[np.ndarray, " pair"] | None:
        """The pairs of the largest total worth, or of so many pairs; None where there are not so many.

        The model is one more taker, of as many cases as are not handed over: a budget row over all pairs would make
        the programme dense.
        """
        n = len(worth)
        pair, every_item = np.arange(n), np.arange(self.n_items)
        of_item = _ones(np.r_[self.item, every_item], np.arange(n + self.n_items), (self.n_items, n + self.n_items))
        of_expert = _ones(self.expert, pair, (len(self.limit), n + self.n_items))
        equal, total = of_item, np.ones(self.n_items)
        if n_handed is not None:
            of_model = _ones(np.zeros_like(every_item), n + every_item, (1, n + self.n_items))
            equal, total = vstack([of_item, of_model]), np.r_[total, self.n_items - n_handed]
        found = linprog(
            np.r_[-worth, np.zeros(self.n_items)],
            A_ub=of_expert,
            b_ub=self.limit,
            A_eq=equal,
            b_eq=total,
            bounds=(0, 1),
            method="highs-ds",
        )
        return None if found.x is None else np.asarray(found.x[:n] > 0.5)


def _ones(row: np.ndarray, column: np.ndarray, shape: tuple[int, int]) -> csr_matrix:
    return csr_matrix((np.ones(len(row)), (row, column)), shape)
