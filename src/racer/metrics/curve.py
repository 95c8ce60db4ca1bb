"""System accuracy against the budget, and the area under it: AURSAC.

Source   the paper, "Evaluation": the deferral threshold is swept from the model alone to the expert alone.
Symbols  m_i model right · e_i expert right · g_i = e_i − m_i gain · b budget

    acc(j/n) = (Σ_i m_i + Σ_{i among the first j} g_i) / n,   j = 0 … n                           (1)
    AURSAC   = ∫₀¹ acc(b) db by trapezoids = Σ_i (m_i + g_i · exposure_i) / n                      (2)

Tied scores are one block: acc is linear across it, the mean over all orders of the tie.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float
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

__all__ = ["SystemCurve", "aursac", "sweep_curve", "system_curve"]


@final
@dataclass(frozen=True, eq=False)
class SystemCurve:
    """Accuracy at the budgets 0, 1/n, …, 1, with its area and the two ends.

    `oracle_area` hands the best gains over first. `normalised_area` is 0 for a random order and 1 for the oracle's;
    it is NaN when every case has the same gain, because then no order is better than another.
    """

    budget: Float[Tensor, " point"]
    accuracy: Float[Tensor, " point"]
    area: float
    model_accuracy: float
    expert_accuracy: float
    oracle_area: float
    normalised_area: float


def system_curve(score: Values, expert_correct: Values, model_correct: Values) -> SystemCurve:
    """Accuracy of model and expert together as more cases are handed over, largest score first, Eq. (1).

    All three are (item,); ±inf is a legal score ("always first", "last resort"), NaN is not.

    >>> curve = system_curve([0.9, 0.5, 0.1], expert_correct=[1, 1, 0], model_correct=[0, 1, 1])
    >>> curve.accuracy
    tensor([0.6667, 1.0000, 1.0000, 0.6667], dtype=torch.float64)
    >>> round(curve.normalised_area, 6)
    1.0
    """
    rank_by, expert, model = _outcomes(score, expert_correct, model_correct)
    gain = expert.astype(np.float64) - model
    return sweep_curve(rank_by, gain, start=float(model.sum()), scale=float(len(gain)))


def aursac(score: Values, expert_correct: Values, model_correct: Values) -> float:
    """Area under the system accuracy curve: mean accuracy over all budgets, Eq. (2).

    >>> aursac([0.9, 0.1], expert_correct=[1, 0], model_correct=[0, 1])
    0.75
    >>> aursac([0.5, 0.5], expert_correct=[1, 0], model_correct=[0, 1])
    0.5
    """
    rank_by, expert, model = _outcomes(score, expert_correct, model_correct)
    ranking = Ranking.of(rank_by)
    gain = ranking.sort(expert.astype(np.float64) - model)
    return float((model.sum() + gain @ ranking.exposure()) / len(gain))


def sweep_curve(
    score: Float[np.ndarray, " item"], gain: Float[np.ndarray, " item"], start: float, scale: float = 1.0
) -> SystemCurve:
    """The curve of any accuracy that changes by `gain[i] / scale` when case i is handed over.

    >>> sweep_curve(np.array([2.0, 1.0]), np.array([1.0, -1.0]), start=1.0, scale=2.0).area
    0.75
    """
    n = len(gain)
    ranking = Ranking.of(score)
    by_score = ranking.sort(gain)
    accuracy = (start + ranking.expected_total(by_score)) / scale
    area = float((start + by_score @ ranking.exposure()) / scale)
    best_first = np.sort(gain)[::-1]
    oracle_area = float((start + best_first @ (1.0 - (np.arange(n) + 0.5) / n)) / scale)
    ends = 0.5 * float(accuracy[0] + accuracy[-1])
    order_matters = best_first[0] != best_first[-1]
    return SystemCurve(
        budget=to_tensor(np.arange(n + 1) / n),
        accuracy=to_tensor(accuracy),
        area=area,
        model_accuracy=float(accuracy[0]),
        expert_accuracy=float(accuracy[-1]),
        oracle_area=oracle_area,
        normalised_area=(area - ends) / (oracle_area - ends) if order_matters else float("nan"),
    )


def _outcomes(
    score: Values, expert_correct: Values, model_correct: Values
) -> tuple[Float[np.ndarray, " item"], Bool[np.ndarray, " item"], Bool[np.ndarray, " item"]]:
    rank_by = score_array(score)
    expert, model = flag_array(expert_correct, "expert_correct"), flag_array(model_correct, "model_correct")
    require_dimensions("score", rank_by.shape, "item")
    require_same_shape({"score": rank_by.shape, "expert_correct": expert.shape, "model_correct": model.shape})
    require_items(len(rank_by), "AURSAC")
    return rank_by, expert, model
