"""Rules compared on the same cases: accuracy at every budget, AURSAC, and what the method adds, with intervals.

Every resample redraws the cases once for all rules, so differences are paired. The experts stay: these numbers speak
of them, not of others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from racer.evaluation.rules import Rule
from racer.metrics import CurveBand, Interval
from racer.metrics.interval import percentile_band
from racer.metrics.resampling import Resampling, observed
from racer.metrics.sweep import Sweep

__all__ = ["AT", "LEVEL", "Compared", "compare", "n_replicates"]

N_POINTS = 101
AT = (0.1, 0.2, 0.3, 0.5)
"""Budgets of the table."""
LEVEL = 0.95
REPLICATES, FEWEST, CELLS = 1000, 100, 100_000_000
"""Resamples, as long as that many outcomes are enough for all of them; never fewer than `FEWEST`."""


@final
@dataclass(frozen=True, eq=False)
class Compared:
    """One rule. `behind` is the AURSAC of the method less that of this rule; None for the method itself."""

    name: str
    aursac: Interval
    behind: Interval | None
    curve: CurveBand

    def accuracy_at(self, budget: float) -> float:
        """System accuracy at a budget."""
        return float(self.curve.accuracy[round(budget * (N_POINTS - 1))])


def n_replicates(n_outcomes: int) -> int:
    """How many resamples are affordable."""
    return int(min(REPLICATES, max(FEWEST, CELLS // max(n_outcomes, 1))))


def compare(
    among: Sequence[Rule], model_right: Bool[Tensor, " item"], rng: np.random.Generator
) -> tuple[Compared, ...]:
    """Compare rules; the first is the method."""
    sweeps = [Sweep.of(one.score, one.right, model_right) for one in among]
    budget = np.linspace(0.0, 1.0, N_POINTS)
    n_items = len(model_right)

    def statistic(case_count: Int[np.ndarray, "draw item"], experts: slice) -> Float[np.ndarray, "draw 1 point"]:
        every = slice(None)
        parts = [
            np.concatenate(
                [one.area(case_count, every).mean(1)[:, None], one.accuracy(case_count, every, budget).mean(1)], axis=-1
            )
            for one in sweeps
        ]
        return np.concatenate(parts, axis=-1)[:, None]

    estimate = observed(statistic, 1, n_items).view(len(among), -1)
    drawn = Resampling("cases", n_replicates(n_items * sum(len(one.score) for one in among)))
    replicates = drawn.mean_over_experts(statistic, 1, n_items, rng).view(-1, *estimate.shape)
    return tuple(_compared(one.name, row, estimate, replicates) for row, one in enumerate(among))


def _compared(
    name: str,
    row: int,
    estimate: Float[Tensor, "rule point"],
    replicates: Float[Tensor, "replicate rule point"],
) -> Compared:
    low, high = percentile_band(replicates[:, row, 1:], LEVEL)
    behind = None
    if row:
        difference = float(estimate[0, 0] - estimate[row, 0])
        behind = Interval.of(difference, replicates[:, 0, 0] - replicates[:, row, 0], LEVEL)
    return Compared(
        name=name,
        aursac=Interval.of(float(estimate[row, 0]), replicates[:, row, 0], LEVEL),
        behind=behind,
        curve=CurveBand(torch.linspace(0, 1, N_POINTS, dtype=torch.float64), estimate[row, 1:], low, high, LEVEL),
    )
