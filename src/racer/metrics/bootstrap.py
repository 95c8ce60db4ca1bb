"""Bands for AURSAC: over cases, over experts, or over both.

The statistic is the mean over experts of each expert's own AURSAC on the cases that expert answered. Cases are drawn
jointly for all experts, because they share them. Intervals are percentile intervals; those over experts are too narrow
when experts are few (below ten, say), as any bootstrap of a few numbers is.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from racer.metrics.inputs import Values, number_array, require_fraction, require_same_shape, require_whole, to_tensor
from racer.metrics.interval import Interval, percentile_band
from racer.metrics.resampling import Resample, Resampling, Seed, Statistic, observed
from racer.metrics.sweep import Sweep

__all__ = ["CurveBand", "bootstrap_aursac", "bootstrap_curve", "bootstrap_gain"]


@final
@dataclass(frozen=True, eq=False)
class CurveBand:
    """Mean system accuracy over experts at each budget, with a pointwise interval."""

    budget: Float[Tensor, " point"]
    accuracy: Float[Tensor, " point"]
    low: Float[Tensor, " point"]
    high: Float[Tensor, " point"]
    level: float


def bootstrap_aursac(
    score: Values,
    expert_correct: Values,
    model_correct: Values,
    mask: Values | None = None,
    *,
    seed: Seed,
    resample: Resample | str = Resample.CASES,
    n_replicates: int = 1000,
    level: float = 0.95,
) -> Interval:
    """Mean AURSAC over experts with its interval: (1/E) Σ_e AURSAC_e.

    `score`, `expert_correct` and `mask` are (expert, item), or (item,) for one expert; `model_correct` is (item,) or
    (expert, item); `mask` is True where the expert answered.

    >>> interval = bootstrap_aursac([[0.9, 0.5, 0.1]], [[1, 1, 0]], [0, 1, 1], seed=0)
    >>> round(interval.estimate, 4), interval.low <= interval.estimate <= interval.high
    (0.8889, True)
    """
    sweep = Sweep.of(score, expert_correct, model_correct, mask)

    def area(case_count: Int[np.ndarray, "draw item"], experts: slice) -> Float[np.ndarray, "draw expert 1"]:
        return sweep.area(case_count, experts)[..., None]

    return _interval(area, sweep, Resampling(resample, n_replicates), level, seed)


def bootstrap_gain(
    score: Values,
    baseline_score: Values,
    expert_correct: Values,
    model_correct: Values,
    mask: Values | None = None,
    *,
    seed: Seed,
    baseline_model_correct: Values | None = None,
    resample: Resample | str = Resample.CASES,
    n_replicates: int = 1000,
    level: float = 0.95,
) -> Interval:
    """Mean AURSAC of one score minus that of another, both on the same resamples.

    `baseline_model_correct` is for a baseline whose model differs too; a baseline of (item,) serves every expert.

    >>> gain = bootstrap_gain([[0.9, 0.5, 0.1]], [0.1, 0.5, 0.9], [[1, 1, 0]], [0, 1, 1], seed=0)
    >>> round(gain.estimate, 4)
    0.4444
    """
    ours = Sweep.of(score, expert_correct, model_correct, mask)
    their_model = model_correct if baseline_model_correct is None else baseline_model_correct
    theirs = Sweep.of(for_every_expert(baseline_score, score, "baseline_score"), expert_correct, their_model, mask)

    def gain(case_count: Int[np.ndarray, "draw item"], experts: slice) -> Float[np.ndarray, "draw expert 1"]:
        return np.asarray(ours.area(case_count, experts) - theirs.area(case_count, experts))[..., None]

    return _interval(gain, ours, Resampling(resample, n_replicates), level, seed)


def bootstrap_curve(
    score: Values,
    expert_correct: Values,
    model_correct: Values,
    mask: Values | None = None,
    *,
    seed: Seed,
    resample: Resample | str = Resample.CASES,
    n_replicates: int = 1000,
    level: float = 0.95,
    n_points: int = 101,
) -> CurveBand:
    """Mean system accuracy over experts at evenly spaced budgets, each with its own interval.

    Arguments as in `bootstrap_aursac`.

    >>> band = bootstrap_curve([[0.9, 0.5, 0.1]], [[1, 1, 0]], [0, 1, 1], seed=0, n_points=4)
    >>> band.accuracy
    tensor([0.6667, 1.0000, 1.0000, 0.6667], dtype=torch.float64)
    """
    require_whole("n_points", n_points, least=2)
    sweep = Sweep.of(score, expert_correct, model_correct, mask)
    budget = np.linspace(0.0, 1.0, n_points)

    def curve(case_count: Int[np.ndarray, "draw item"], experts: slice) -> Float[np.ndarray, "draw expert point"]:
        return sweep.accuracy(case_count, experts, budget)

    require_fraction("level", level)
    replicates = Resampling(resample, n_replicates).mean_over_experts(curve, sweep.n_experts, sweep.n_items, seed)
    low, high = percentile_band(replicates, level)
    accuracy = observed(curve, sweep.n_experts, sweep.n_items)
    return CurveBand(budget=to_tensor(budget), accuracy=accuracy, low=low, high=high, level=level)


def for_every_expert(values: Values, like: Values, name: str) -> Values:
    """One value a case, repeated for every expert.

    >>> for_every_expert([0.1, 0.2], np.zeros((2, 2)), "baseline_score")
    array([[0.1, 0.2],
           [0.1, 0.2]])
    """
    array, shape = number_array(values, name), number_array(like, "score").shape
    if array.ndim == 1 and len(shape) == 2:
        require_same_shape({name: array.shape, "items of score": shape[1:]})
        return np.broadcast_to(array, shape)
    require_same_shape({name: array.shape, "score": shape})
    return array


def _interval(statistic: Statistic, sweep: Sweep, resampling: Resampling, level: float, seed: Seed) -> Interval:
    require_fraction("level", level)
    replicates = resampling.mean_over_experts(statistic, sweep.n_experts, sweep.n_items, seed)
    estimate = observed(statistic, sweep.n_experts, sweep.n_items)
    return Interval.of(float(estimate[0]), torch.flatten(replicates), level)
