"""Every expert's cases, ranked once, ready for any number of resamples.

Symbols  w_i copies of case i · W_e = Σ_i w_i over the cases expert e answered · m, e, g as in `racer.metrics.curve`
         c⁻, c⁺ copies before and after a block of ties

Copies of one case are a tie with each other, so the curve is linear across them, exactly as for the enlarged sample:

    AURSAC_e(w) = (1/W_e) Σ_i w_i m_i + (1/2W_e²) Σ_i w_i g_i (2W_e − c⁻_i − c⁺_i)                 (1)

Both sums are whole numbers, so (1) equals the area of the enlarged sample to the last bit.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from racer.errors import UndefinedMetricError
from racer.metrics.inputs import (
    Values,
    flag_array,
    mask_array,
    number_array,
    require_dimensions,
    require_items,
    require_same_shape,
    score_array,
)
from racer.metrics.ranking import Ranking, running_total

__all__ = ["Sweep"]


@final
@dataclass(frozen=True, eq=False)
class Sweep:
    """Outcomes of several experts; `gain` and `is_answered` lie in the order of handing over, the others do not.

    >>> sweep = Sweep.of([[0.9, 0.1]], expert_correct=[[1, 0]], model_correct=[0, 1])
    >>> sweep.area(np.array([[1, 1], [2, 0]]), slice(None))
    array([[0.75],
           [0.5 ]])
    """

    ranking: Ranking
    gain: Int[np.ndarray, "expert item"]
    is_answered: Bool[np.ndarray, "expert item"]
    case_is_answered: Float[np.ndarray, "expert item"]
    model_right: Float[np.ndarray, "expert item"]

    @classmethod
    def of(
        cls,
        score: Values,
        expert_correct: Values,
        model_correct: Values,
        mask: Values | None = None,
        name: str = "score",
    ) -> "Sweep":
        """Check and rank. (expert, item) arrays; one expert may drop that axis, `model_correct` may always.

        >>> Sweep.of([0.9, 0.1], [1, 0], [0, 1]).n_experts
        1
        """
        shapes = {"score": number_array(score, "score").shape}
        shapes["expert_correct"] = number_array(expert_correct, "expert_correct").shape
        if len(shapes["score"]) != 1:
            require_dimensions("score", shapes["score"], "expert item")
        require_same_shape(shapes)
        is_answered = mask_array(mask, shapes["score"])
        rank_by = np.atleast_2d(score_array(score, name, is_answered))
        expert = np.atleast_2d(flag_array(expert_correct, "expert_correct", is_answered))
        is_answered = np.atleast_2d(is_answered)
        require_items(is_answered.shape[1], "AURSAC")
        require_items(is_answered.shape[0], "A mean over experts")
        model = _spread(model_correct, is_answered)
        _require_answers(is_answered)
        ranking = Ranking.of(rank_by)
        # a cell without an answer never weighs anything, so its gain may be any number
        gain = expert.astype(np.int64) - model
        return cls(
            ranking=ranking,
            gain=ranking.sort(gain),
            is_answered=ranking.sort(is_answered),
            case_is_answered=is_answered.astype(np.float64),
            model_right=(model & is_answered).astype(np.float64),
        )

    @property
    def n_experts(self) -> int:
        """How many experts."""
        return len(self.gain)

    @property
    def n_items(self) -> int:
        """How many cases, answered or not."""
        return int(self.gain.shape[1])

    def restricted_to(self, is_chosen: Bool[np.ndarray, " item"]) -> "Sweep":
        """Only the chosen cases, as if nobody had answered the others.

        >>> sweep = Sweep.of([0.9, 0.1], [1, 0], [0, 1]).restricted_to(np.array([True, False]))
        >>> sweep.area(np.array([[1, 1]]), slice(None))
        array([[0.5]])
        """
        return Sweep(
            ranking=self.ranking,
            gain=self.gain,
            is_answered=self.is_answered & is_chosen[self.ranking.order],
            case_is_answered=self.case_is_answered * is_chosen,
            model_right=self.model_right * is_chosen,
        )

    def area(self, case_count: Int[np.ndarray, "draw item"], experts: slice) -> Float[np.ndarray, "draw expert"]:
        """AURSAC of each expert when case i appears `case_count[i]` times, Eq. (1); NaN without answered cases.

        >>> Sweep.of([0.9, 0.1], [1, 0], [0, 1]).area(np.array([[3, 1]]), slice(None))
        array([[0.6875]])
        """
        weight, handed = self._handed_over(case_count, experts)
        total, base = self._totals(case_count, experts)
        twice_kept = _at(handed, self.ranking.start[experts])
        twice_kept += _at(handed, self.ranking.stop[experts])
        np.subtract(2 * handed[..., -1:], twice_kept, out=twice_kept)
        weight *= self.gain[experts]
        change = np.einsum("dei,dei->de", weight, twice_kept)
        return _ratio(2 * total * base + change, 2 * total * total)

    def accuracy(
        self, case_count: Int[np.ndarray, "draw item"], experts: slice, budget: Float[np.ndarray, " point"]
    ) -> Float[np.ndarray, "draw expert point"]:
        """System accuracy of each expert at some budgets, linear within blocks; NaN without answered cases.

        >>> sweep = Sweep.of([0.9, 0.1], [1, 0], [0, 1])
        >>> sweep.accuracy(np.array([[1, 1]]), slice(None), np.array([0.0, 0.25, 0.5]))
        array([[[0.5 , 0.75, 1.  ]]])
        """
        weight, handed = self._handed_over(case_count, experts)
        total, base = self._totals(case_count, experts)
        gained = running_total(weight * self.gain[experts])
        wanted = total[..., None] * budget
        # the first copy that reaches the budget, then the block it lies in
        last = np.maximum(_first_at_least(handed, np.ceil(wanted).astype(np.int64)) - 1, 0)
        row = np.arange(self.n_experts)[experts, None]
        start, stop = self.ranking.start[row, last], self.ranking.stop[row, last]
        low, gained_low = _pick(handed, start), _pick(gained, start)
        inside = (wanted - low) / np.maximum(_pick(handed, stop) - low, 1)
        return _ratio(base[..., None] + gained_low + inside * (_pick(gained, stop) - gained_low), total[..., None])

    def _handed_over(
        self, case_count: Int[np.ndarray, "draw item"], experts: slice
    ) -> tuple[Int[np.ndarray, "draw expert item"], Int[np.ndarray, "draw expert step"]]:
        """Copies of each sorted case, and how many copies the first 0, 1, …, n of them are."""
        weight = case_count.astype(np.int64, copy=False).take(self.ranking.order[experts], axis=1)
        weight *= self.is_answered[experts]
        return weight, running_total(weight)

    def _totals(
        self, case_count: Int[np.ndarray, "draw item"], experts: slice
    ) -> tuple[Float[np.ndarray, "draw expert"], Float[np.ndarray, "draw expert"]]:
        """W, and how many of these copies the model gets right."""
        count = case_count.astype(np.float64)
        return count @ self.case_is_answered[experts].T, count @ self.model_right[experts].T


def _at(
    total: Int[np.ndarray, "draw expert step"], position: Int[np.ndarray, "expert item"]
) -> Int[np.ndarray, "draw expert item"]:
    n_draws, n_experts, n_steps = total.shape
    flat = position + n_steps * np.arange(n_experts)[:, None]
    return np.asarray(total.reshape(n_draws, -1).take(flat, axis=1))


def _first_at_least(
    total: Int[np.ndarray, "draw expert step"], wanted: Int[np.ndarray, "draw expert point"]
) -> Int[np.ndarray, "draw expert point"]:
    # one search through all rows: each is lifted above the one before it
    n_draws, n_experts, n_steps = total.shape
    row = np.arange(n_draws * n_experts).reshape(n_draws, n_experts, 1)
    lift = row * (int(total.max()) + 1)
    return np.asarray(np.searchsorted((total + lift).ravel(), wanted + lift) - row * n_steps)


def _pick(
    values: Int[np.ndarray, "draw expert item"], position: Int[np.ndarray, "draw expert point"]
) -> Int[np.ndarray, "draw expert point"]:
    return np.take_along_axis(values, position, axis=-1)


def _ratio(numerator: Float[np.ndarray, "..."], denominator: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    return np.asarray(np.divide(numerator, denominator, out=np.full(shape, np.nan), where=denominator > 0))


def _spread(model_correct: Values, is_answered: Bool[np.ndarray, "expert item"]) -> Bool[np.ndarray, "expert item"]:
    shape = number_array(model_correct, "model_correct").shape
    if len(shape) == 1:
        require_same_shape({"model_correct": shape, "items of score": is_answered.shape[1:]})
        return np.broadcast_to(flag_array(model_correct, "model_correct"), is_answered.shape)
    require_same_shape({"model_correct": shape, "score": is_answered.shape})
    return flag_array(model_correct, "model_correct", is_answered)


def _require_answers(is_answered: Bool[np.ndarray, "expert item"]) -> None:
    silent = np.flatnonzero(~is_answered.any(-1))
    if len(silent):
        raise UndefinedMetricError(
            "An expert without an answered case has no AURSAC.",
            f"{len(silent)} of {len(is_answered)} experts, the first at row {silent[0]}.",
            "Leave these rows out of every argument: score[mask.any(-1)] and so on.",
            silent=silent.tolist(),
        )
