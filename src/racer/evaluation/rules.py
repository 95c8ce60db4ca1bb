"""Rules of who is asked when, to compare a method with.

Each rule ranks the cases and names one expert for each, among those who were asked about it in the trial.

    method            the largest deferral score; the expert who has it
    best expert       the least confident case first; the expert most often right in context
    confidence only   the least confident case first; any expert
    random            any case, any expert
    always the model  nobody is asked, whatever the budget
    oracle            first the cases that somebody gets right and the model wrong; that expert

"Any" is the mean over `N_DRAWS` seeded draws.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from racer.evaluation.estimates import Estimates
from racer.evaluation.trial import Trial
from racer.routing.solve import best_expert

__all__ = ["Rule", "rules"]

N_DRAWS = 16


@final
@dataclass(frozen=True, eq=False)
class Rule:
    """The order of cases and the outcome of asking; draws of a rule that leaves something to chance are rows."""

    name: str
    score: Float[Tensor, "draw item"]
    right: Bool[Tensor, "draw item"]


def rules(
    method: str, trial: Trial, estimates: Estimates, rows: Int[Tensor, " chosen"], rng: np.random.Generator
) -> tuple[list[Rule], Int[Tensor, " item"]]:
    """Every rule with only some of the experts to ask, and the cases on which any of them was; the method first."""
    item = trial.asked[rows].any(0).nonzero()[:, 0]
    asked, right = trial.asked[rows][:, item], trial.right[rows][:, item]
    model_right = trial.model_right[item]
    unsure = -trial.queries.confidence[item].double()
    score = torch.where(asked, estimates.score[rows][:, item].double(), -torch.inf)
    # an expert who may be asked must win over one who may not, also where all scores are −∞
    score = torch.where(asked & (score == -torch.inf), torch.finfo(score.dtype).min, score)
    chosen = best_expert(score)
    accuracy = trial.context_accuracy[rows].double()[:, None].expand(asked.shape)
    best = best_expert(torch.where(asked, accuracy, -torch.inf))
    anybody = _at(right, _any_expert(asked, rng))
    somebody_right = (asked & right).any(0)
    gain = somebody_right.double() - model_right.double()
    return [
        _rule(method, score.amax(0), _at(right, chosen[None])),
        _rule("best expert", unsure, _at(right, best[None])),
        _rule("confidence only", unsure, anybody),
        _rule("random", torch.zeros_like(unsure), anybody),
        _rule("always the model", torch.zeros_like(unsure), model_right[None]),
        _rule("oracle", gain, somebody_right[None]),
    ], item


def _rule(name: str, score: Float[Tensor, " item"], right: Bool[Tensor, "draw item"]) -> Rule:
    return Rule(name, score.expand(right.shape), right)


def _at(right: Bool[Tensor, "expert item"], who: Int[Tensor, "draw item"]) -> Bool[Tensor, "draw item"]:
    return right.gather(0, who)


def _any_expert(asked: Bool[Tensor, "expert item"], rng: np.random.Generator) -> Int[Tensor, "draw item"]:
    """One of those asked about each case, drawn anew in each draw."""
    n = asked.sum(0)
    place = (torch.from_numpy(rng.random((N_DRAWS, asked.shape[1]))) * n).long().clamp(max=n - 1)
    order = asked.int().argsort(dim=0, descending=True, stable=True)
    return order.gather(0, place)
