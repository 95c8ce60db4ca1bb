"""Accuracy on the cases handed over, against the budget, and its area: AURDAC.

The paper names AURDAC without defining it; this definition is ours.

    dacc(j/n) = (1/j) Σ_{i among the first j} e_i,   j = 1 … n,   dacc(0) = dacc(1/n)              (1)
    AURDAC    = ∫₀¹ dacc(b) db by trapezoids                                                       (2)

e_i = 1 when the expert is right. Nothing is handed over at budget 0, so the curve starts at its first value. Tied
scores are one block: the sum in (1) is its mean over all orders of the tie.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float
from torch import Tensor

from racer.metrics.inputs import (
    Values,
    flag_array,
    require_dimensions,
    require_items,
    require_same_shape,
    score_array,
    to_tensor,
)
from racer.metrics.ranking import Ranking

__all__ = ["DeferralCurve", "aurdac", "deferral_curve"]


@final
@dataclass(frozen=True, eq=False)
class DeferralCurve:
    """The expert's accuracy on what was handed over, at the budgets 0, 1/n, …, 1, and its area."""

    budget: Float[Tensor, " point"]
    accuracy: Float[Tensor, " point"]
    area: float


def deferral_curve(score: Values, expert_correct: Values) -> DeferralCurve:
    """How often the expert is right on the cases handed over so far, Eq. (1). Both are (item,).

    >>> deferral_curve([0.9, 0.5, 0.1], expert_correct=[1, 0, 0]).accuracy
    tensor([1.0000, 1.0000, 0.5000, 0.3333], dtype=torch.float64)
    """
    rank_by, expert = score_array(score), flag_array(expert_correct, "expert_correct")
    require_dimensions("score", rank_by.shape, "item")
    require_same_shape({"score": rank_by.shape, "expert_correct": expert.shape})
    require_items(len(rank_by), "AURDAC")
    n = len(rank_by)
    ranking = Ranking.of(rank_by)
    right = ranking.expected_total(ranking.sort(expert.astype(np.float64)))
    accuracy = np.empty(n + 1)
    accuracy[1:] = right[1:] / np.arange(1, n + 1)
    accuracy[0] = accuracy[1]
    return DeferralCurve(
        budget=to_tensor(np.arange(n + 1) / n),
        accuracy=to_tensor(accuracy),
        area=float((accuracy[1:] + accuracy[:-1]).sum() / (2 * n)),
    )


def aurdac(score: Values, expert_correct: Values) -> float:
    """Area under the deferral accuracy curve, Eq. (2): does the score hand over what the expert gets right?

    >>> aurdac([0.9, 0.1], expert_correct=[1, 0])
    0.875
    """
    return deferral_curve(score, expert_correct).area
