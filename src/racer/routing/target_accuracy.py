"""The smallest budget that reaches an accuracy, with a promise.

Symbols  a target · δ = 1 − confidence · t_1 > t_2 > … thresholds · c_k of m held-out cases the system gets right at t_k

The held-out cases are split. On the first half, thresholds are cut at even budgets and the most accurate one is found.
On the second half, from that one towards smaller budgets, each is tested by the exact binomial (Clopper–Pearson) bound

    P(Bin(m, a) ≥ c_k) ≤ δ                     (were the true accuracy below a, c_k or more would be this rare)

until the first that fails; the last that passed is taken. Tests in an order fixed beforehand, up to the first failure,
are together wrong with probability at most δ (fixed-sequence testing), whatever the distribution of cases and answers.
"""

from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
from scipy.stats import binom

from racer.errors import NotFittedError, SettingError, TargetNotReachedError, TooFewAnswersError
from racer.metrics.inputs import flag_array, number_array, require_same_shape, score_array
from racer.routing.plan import Plan
from racer.routing.policy import AbstractPolicy

__all__ = ["TargetAccuracy"]

N_BUDGETS = 50
LEAST_CASES = 20


@final
@dataclass(frozen=True)
class TargetAccuracy(AbstractPolicy):
    """Hand over as little as reaches the target. Fit it on cases that neither the method nor the classifier has seen.

    The promise: with probability `confidence` over the held-out cases, the system's true accuracy at the threshold
    found is at least the target.

    >>> rng = np.random.default_rng(0)
    >>> score = rng.random(1000)
    >>> model, expert = rng.random(1000) > score / 2, rng.random(1000) < 0.95
    >>> policy = TargetAccuracy(0.85).fit(score, expert, model)
    >>> bool(((score >= policy.threshold).mean() < 0.8))
    True
    """

    target: float
    confidence: float = 0.95
    threshold: float | None = None

    def __post_init__(self) -> None:
        if not (0 < self.target < 1 and 0 < self.confidence < 1):
            raise SettingError(
                "'target' and 'confidence' are shares.",
                f"Got target={self.target}, confidence={self.confidence}.",
                "Give numbers between 0 and 1, such as TargetAccuracy(0.9, confidence=0.95).",
            )

    def fit(self, score: Any, expert_correct: Any, model_correct: Any, *, seed: int = 0) -> Self:
        """The threshold, from held-out cases: the score of the best expert, and who was right. All are (item,)."""
        given = {"score": score, "expert_correct": expert_correct, "model_correct": model_correct}
        require_same_shape({name: number_array(values, name).shape for name, values in given.items()})
        rank_by = score_array(score, "score").astype(np.float64)
        expert, model = flag_array(expert_correct, "expert_correct"), flag_array(model_correct, "model_correct")
        if rank_by.ndim != 1 or len(rank_by) < LEAST_CASES:
            raise TooFewAnswersError(
                "A target is promised from held-out cases, one score each.",
                f"Got shape {rank_by.shape}; at least {LEAST_CASES} are needed.",
                "Give more cases whose best expert's answer is known.",
            )
        order = np.random.default_rng(seed).permutation(len(rank_by))
        choose, test = np.array_split(order, 2)
        thresholds = _thresholds(rank_by[choose])
        guess = [_right(at, rank_by[choose], expert[choose], model[choose]).mean() for at in thresholds]
        passed = None
        for at in thresholds[int(np.argmax(guess)) :: -1]:
            right = _right(at, rank_by[test], expert[test], model[test])
            if binom.sf(right.sum() - 1, len(right), self.target) > 1 - self.confidence:
                break
            passed = float(at)
        if passed is None:
            raise TargetNotReachedError(
                f"No budget is shown to reach an accuracy of {self.target:.3g} with confidence {self.confidence:.3g}.",
                f"On {len(choose)} held-out cases the best was {max(guess):.3f}; "
                f"{len(test)} others were left to show it.",
                "Lower the target or the confidence, or give more held-out cases.",
                target=self.target,
                best=float(max(guess)),
            )
        return replace(self, threshold=passed)

    def refine(self, plan: Plan) -> Plan:
        """A floor under the gain."""
        if self.threshold is None:
            raise NotFittedError(
                "TargetAccuracy has no threshold yet.",
                "It was not fitted.",
                "Call policy.fit(score, expert_correct, model_correct) on held-out cases.",
            )
        return replace(plan, floor=max(plan.floor, self.threshold))


def _thresholds(score: np.ndarray) -> np.ndarray:
    """From handing over nothing to handing over everything, at even budgets."""
    cut = np.quantile(score, np.linspace(1, 0, N_BUDGETS), method="inverted_cdf")
    return np.unique(np.r_[np.inf, cut[:-1], -np.inf])[::-1]


def _right(at: float, score: np.ndarray, expert: np.ndarray, model: np.ndarray) -> np.ndarray:
    return np.where(score >= at, expert, model)
