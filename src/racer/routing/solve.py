"""Carry out a plan: who answers each case.

Without limits each case is decided by itself: the expert with the largest gain, the first enrolled among equals. With
limits that bind, the assignment of `racer.routing.assignment`.
"""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from racer.routing.assignment import assign
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
    return _assigned(gain, free, plan, plan.limit)


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


def _assigned(
    gain: Float[Tensor, "expert item"], free: Int[Tensor, " item"], plan: Plan, limit: Int[Tensor, " expert"]
) -> Int[Tensor, " item"]:
    """From the best assignment without limits to the best within them; the model is one more taker."""
    model = len(plan.experts)
    # with a count every expert is as good as the gain says; without, only what lies above the floor is worth anything
    worth = gain if plan.n_handed is not None else gain - plan.floor + WORTH_A_TIE
    cost = torch.cat([-worth, torch.zeros(1, plan.n_items, dtype=gain.dtype)]).T.numpy()
    room = np.append((limit - _taken(free, plan)).numpy(), plan.n_items if plan.n_handed is None else 0)
    at = torch.where(free == MODEL, model, free).numpy()
    found = torch.from_numpy(assign(cost, at, room, last_resort=None if plan.n_handed is None else model))
    return torch.where(found == model, MODEL, found)
